"""The process of one other engine: ``python -m watchfloor.loadgen.engines.peers.peer_main NAME FOLDER``.

It reads a request a line and answers with a line, both JSON, until its input ends (``peers.py`` has the other side,
which makes the folder and removes it).
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from watchfloor.loadgen.engines.answer import Answer, as_table, checked
from watchfloor.loadgen.engines.engine import Engine
from watchfloor.loadgen.engines.question import Kind, Question
from watchfloor.schema.source import Source, builtin_definitions

SOURCE = "proxy.events"


def open_engine(name: str, folder: Path, source: Source) -> Engine:
    """Raises ``StackError`` for a server that does not start."""
    if name == "duckdb":
        from watchfloor.loadgen.engines.sql.duckdb_engine import Duck

        return Duck(folder, source)
    if name == "chdb":
        from watchfloor.loadgen.engines.sql.chdb_engine import ChDB

        return ChDB(folder, source)
    if name == "tantivy":
        from watchfloor.loadgen.engines.search.tantivy_engine import Tantivy

        return Tantivy(folder, source)
    if name == "opensearch":
        from watchfloor.loadgen.engines.search.opensearch_engine import OpenSearch

        return OpenSearch(folder, source)
    raise ValueError(f"no engine is called {name}")


def main(name: str, folder: Path) -> None:
    # What an engine prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        answers.write(orjson.dumps(answer) + b"\n")
        answers.flush()

    source = builtin_definitions()[SOURCE]
    try:
        engine = open_engine(name, folder, source)
    except Exception as error:
        say({"error": _words(error)})
        return
    with closing(engine):
        say({"opened": name})
        for line in sys.stdin.buffer:
            try:
                say(respond(engine, source, orjson.loads(line)))
            except Exception as error:
                say({"error": _words(error)})


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def respond(engine: Engine, source: Source, request: dict[str, Any]) -> dict[str, Any]:
    """The fields of a ``PeerLoad`` or an ``Answer``."""
    if "load" in request:
        # The clock of our own load does not run either while tables are dropped and made.
        engine.renew()
        started = time.perf_counter()
        engine.load(Path(request["load"]))
        seconds = time.perf_counter() - started
        engine.settle()
        return {"seconds": seconds, "rows": engine.events(), "bytes": engine.disk_bytes()}
    question = Question(**{**request["ask"], "kind": Kind(request["ask"]["kind"])})
    if question.kind is Kind.COUNT:
        return asdict(_count(engine, question))
    return asdict(_rows(engine, question, source, request["check"]))


def _count(engine: Engine, question: Question) -> Answer:
    started = time.perf_counter()
    count = engine.count(question)
    return Answer(time.perf_counter() - started, 1, str(count))


def _rows(engine: Engine, question: Question, source: Source, check: bool) -> Answer:
    """The clock runs while the engine works; pages are let go of as they are read, but for those to check."""
    seconds, rows, kept = 0.0, 0, []
    started = time.perf_counter()
    for page in engine.rows(question):
        seconds += time.perf_counter() - started
        rows += len(page)
        if check:
            kept.append(as_table(page, source))
        started = time.perf_counter()
    seconds += time.perf_counter() - started
    if not check:
        return Answer(seconds, rows)
    return checked(seconds, pa.concat_tables(kept or [as_table([], source)]), source, question)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
