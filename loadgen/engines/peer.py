"""The process of one other engine: ``python -m watchfloor.loadgen.engines.peer NAME FOLDER``.

It reads a request a line and answers with a line, both JSON, until its input ends (``peers.py`` has the other side).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import orjson
import pyarrow as pa

from watchfloor.schema.source import Source, builtin_definitions

from .answer import digest
from .question import Kind, Question

SOURCE = "proxy.events"


class Engine(Protocol):
    """An engine with one table, ``events``. ``PATTERN`` is its function that searches a string for a pattern."""

    PATTERN: str

    def load(self, path: Path) -> None:
        """Loads a file into the table, which is made anew; returns when the events are there for good."""

    def settle(self) -> None:
        """Does what the engine would do in time by itself: merges, checkpoints."""

    def bytes(self) -> int:
        """The table's size on the disk."""
        ...

    def query(self, sql: str) -> pa.Table: ...


def open_engine(name: str, folder: Path, source: Source) -> Engine:
    if name == "duckdb":
        from .duck import Duck

        return Duck(folder, source)
    if name == "chdb":
        from .chdb_engine import ChDB

        return ChDB(folder, source)
    raise ValueError(f"no engine is called {name}")


def main(name: str, folder: Path) -> None:
    # What an engine prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    folder.mkdir(parents=True, exist_ok=True)
    source = builtin_definitions()[SOURCE]
    engine = open_engine(name, folder, source)
    for line in sys.stdin.buffer:
        try:
            answer = _answer(engine, source, orjson.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(orjson.dumps(answer) + b"\n")
        answers.flush()


def _answer(engine: Engine, source: Source, request: dict[str, Any]) -> dict[str, Any]:
    started = time.perf_counter()
    if "load" in request:
        engine.load(Path(request["load"]))
        seconds = time.perf_counter() - started
        engine.settle()
        rows = engine.query("SELECT count(*) FROM events").column(0)[0].as_py()
        return {"seconds": seconds, "rows": rows, "bytes": engine.bytes()}
    question = Question(**{**request["ask"], "kind": Kind(request["ask"]["kind"])})
    sql = question.sql(source.time_field, engine.PATTERN)
    started = time.perf_counter()
    table = engine.query(sql)
    seconds = time.perf_counter() - started
    if question.kind is Kind.COUNT:
        found = str(table.column(0)[0].as_py())
    else:
        found = digest(table, [field.name for field in source.fields]) if request["check"] else ""
    return {"seconds": seconds, "rows": len(table), "digest": found}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
