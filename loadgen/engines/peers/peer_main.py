"""The process of one other engine: ``python -m watchfloor.loadgen.engines.peers.peer_main NAME FOLDER FEED``.

FEED is the built-in definition of the events that it holds.

It reads one JSON request per line and answers each with one line of JSON, until its input ends. ``peer_process`` is the
other side; it makes and removes the folder.
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

from watchfloor.loadgen.engines.answer import EngineAnswer, build_table, check_answer
from watchfloor.loadgen.engines.engine import PeerEngine
from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind
from watchfloor.loadgen.engines.sql.sql_engine import SqlEngine
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.source import Source


def open_engine(name: str, folder: Path, source: Source) -> PeerEngine:
    """Opens the engine of this name. Raises StackError for a server that does not start."""
    if name == "duckdb":
        from watchfloor.loadgen.engines.sql.duckdb_engine import DuckDbEngine

        return DuckDbEngine(folder, source)
    if name == "chdb":
        from watchfloor.loadgen.engines.sql.chdb_engine import ChDbEngine

        return ChDbEngine(folder, source)
    if name == "tantivy":
        from watchfloor.loadgen.engines.search.tantivy_engine import TantivyEngine

        return TantivyEngine(folder, source)
    if name == "opensearch":
        from watchfloor.loadgen.engines.search.opensearch_engine import OpenSearchEngine

        return OpenSearchEngine(folder, source)
    if name == "victorialogs":
        from watchfloor.loadgen.engines.search.victorialogs_engine import VictoriaLogsEngine

        return VictoriaLogsEngine(folder, source)
    raise ValueError(f"no engine is called {name}")


def main(name: str, folder: Path, feed: str) -> None:
    """Opens the engine and answers requests until standard input ends."""
    # Output of an engine must not mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send_answer(answer: dict[str, Any]) -> None:
        answers.write(orjson.dumps(answer) + b"\n")
        answers.flush()

    source = builtin_definitions()[feed]
    try:
        engine = open_engine(name, folder, source)
    except Exception as error:
        send_answer({"error": _describe_error(error)})
        return
    with closing(engine):
        send_answer({"opened": name})
        for line in sys.stdin.buffer:
            try:
                send_answer(answer_request(engine, source, orjson.loads(line)))
            except Exception as error:
                send_answer({"error": _describe_error(error)})


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def answer_request(engine: PeerEngine, source: Source, request: dict[str, Any]) -> dict[str, Any]:
    """Loads events or a list, asks a question or runs SQL.

    Returns the fields of a ``PeerLoad`` or an ``EngineAnswer``; of a list its file.
    """
    if "load" in request:
        # Dropping and creating the table is not timed, as in Watchfloor's own load.
        engine.recreate_table()
        started = time.perf_counter()
        engine.load_file(Path(request["load"]))
        seconds = time.perf_counter() - started
        engine.finish_merges()
        return {"seconds": seconds, "rows": engine.count_events(), "bytes": engine.measure_disk()}
    if "list" in request:
        _require_sql(engine).load_list(Path(request["list"]))
        return {"list": request["list"]}
    if "sql" in request:
        return asdict(_answer_sql(engine, request["sql"], request["keep"]))
    question = EngineQuestion(**{**request["ask"], "kind": QuestionKind(request["ask"]["kind"])})
    if question.kind is QuestionKind.COUNT:
        return asdict(_answer_count(engine, question))
    return asdict(_answer_rows(engine, question, source, request["check"]))


def _answer_count(engine: PeerEngine, question: EngineQuestion) -> EngineAnswer:
    started = time.perf_counter()
    count = engine.count_matches(question)
    return EngineAnswer(time.perf_counter() - started, 1, str(count))


def _require_sql(engine: PeerEngine) -> SqlEngine:
    if not isinstance(engine, SqlEngine):
        raise TypeError("this engine is not asked in SQL")
    return engine


def _answer_sql(engine: PeerEngine, sql: str, keep: str | None) -> EngineAnswer:
    """Runs a statement. Its rows are written to the file ``keep`` in Arrow's format for files, if there is one."""
    started = time.perf_counter()
    rows = _require_sql(engine).run_sql(sql)
    seconds = time.perf_counter() - started
    if keep is not None:
        with pa.ipc.new_file(keep, rows.schema) as file:
            file.write_table(rows)
    return EngineAnswer(seconds, len(rows))


def _answer_rows(engine: PeerEngine, question: EngineQuestion, source: Source, check: bool) -> EngineAnswer:
    """Reads all rows of an answer. Only the engine's work is timed; pages are kept only if they are to be checked."""
    seconds, rows, kept = 0.0, 0, []
    started = time.perf_counter()
    for page in engine.read_rows(question):
        seconds += time.perf_counter() - started
        rows += len(page)
        if check:
            kept.append(build_table(page, source))
        started = time.perf_counter()
    seconds += time.perf_counter() - started
    if not check:
        return EngineAnswer(seconds, rows)
    return check_answer(seconds, pa.concat_tables(kept or [build_table([], source)]), source, question)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
