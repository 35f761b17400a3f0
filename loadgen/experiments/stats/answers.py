"""Asks one question over REST, in the process, or in SQL, and times the answer."""

from __future__ import annotations

import http.client
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson
import pyarrow as pa

from watchfloor.loadgen.engines.peers.peer_process import PeerProcess
from watchfloor.loadgen.harness.background import RestAddress
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.errors import InternalError, StackError

from .questions import StatsQuestion

REST, IN_PROCESS = "watchfloor", "in process"
_SECONDS = 600


@dataclass(frozen=True)
class TimedAnswer:
    """An answer: the seconds from the question to its last row, and its rows, if they are to be compared.

    ``first_seconds`` count to the first answer, which covers the newest part of the range if ``is_partial`` is true.
    """

    seconds: float
    rows: Sequence[Sequence[Any]] = ()
    first_seconds: float = 0.0
    is_partial: bool = False


class Asker(Protocol):
    """An engine that answers the questions of one feed."""

    name: str

    def ask_question(self, question: StatsQuestion, check: bool) -> TimedAnswer:
        """Returns the answer; ``check`` says whether its rows are wanted."""
        ...


class RestAsker:
    """Asks the REST service on one open connection, and reads its lines to the end."""

    def __init__(self, service: RestAddress, source: str) -> None:
        self.name, self._source = REST, source
        self._connection = http.client.HTTPConnection(service.host, service.port, timeout=_SECONDS)
        self._headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}

    def ask_question(self, question: StatsQuestion, check: bool) -> TimedAnswer:
        return self._ask(question, check, partial=False)

    def time_first_part(self, question: StatsQuestion) -> TimedAnswer:
        """Asks for partial answers too."""
        return self._ask(question, check=False, partial=True)

    def close(self) -> None:
        self._connection.close()

    def _ask(self, question: StatsQuestion, check: bool, partial: bool) -> TimedAnswer:
        asked = {"source": self._source, "stats": question.stats, "partial": partial}
        body = orjson.dumps(asked if question.where is None else {**asked, "where": question.where})
        started = time.perf_counter()
        self._connection.request("POST", "/api/v1/stats", body, self._headers)
        answer = self._connection.getresponse()
        first = answer.readline()
        first_seconds = time.perf_counter() - started
        rest = answer.readlines()
        seconds = time.perf_counter() - started
        if answer.status != 200 or not rest:
            raise StackError(f"{question.name}: the REST service answered {answer.status}: {first[:300]!r}")
        *lines, last = map(orjson.loads, [first, *rest])
        _check_summary(question, last["summary"])
        rows = [list(row.values()) for line in lines for row in line["rows"]] if check else []
        return TimedAnswer(seconds, rows, first_seconds, lines[0]["share"] < 1)


class ServiceAsker:
    """Asks the query service of this process."""

    def __init__(self, service: QueryService, source: str) -> None:
        self.name, self._service, self._source = IN_PROCESS, service, source

    def ask_question(self, question: StatsQuestion, check: bool) -> TimedAnswer:
        started = time.perf_counter()
        result = self._service.run_stats(StatsQuery(self._source, question.stats, question.where))
        *_, last = result
        rows = last.rows  # which are made now
        seconds = time.perf_counter() - started
        _check_summary(question, result.summary)
        return TimedAnswer(seconds, read_rows(rows) if check else ())


class SqlAsker:
    """Asks another engine in SQL. Rows to compare come by a file in ``folder``."""

    def __init__(self, peer: PeerProcess, folder: Path) -> None:
        self.name, self._peer, self._file = peer.name, peer, folder / f"{peer.name}.arrow"

    def ask_question(self, question: StatsQuestion, check: bool) -> TimedAnswer:
        sql = question.sql[self.name]
        return TimedAnswer(self._peer.run_sql(sql).seconds) if not check else self._run_checked(sql)

    def find_bounds(self, question: StatsQuestion) -> Sequence[Sequence[Any]]:
        """Returns each group with the least and the greatest value that its quantile may have; empty without bounds."""
        return () if question.bounds is None else self._run_checked(question.bounds[self.name]).rows

    def _run_checked(self, sql: str) -> TimedAnswer:
        seconds = self._peer.run_sql(sql, self._file).seconds
        with pa.ipc.open_file(self._file) as file:
            return TimedAnswer(seconds, read_rows(file.read_all()))


def read_rows(table: pa.Table) -> list[list[Any]]:
    """Returns the rows of a table as lists of plain values."""
    return [list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _check_summary(question: StatsQuestion, summary: dict[str, Any]) -> None:
    """Raises ``InternalError`` for an answer that is not whole, or not from counts although it should be."""
    if summary["status"] != "complete" or (summary["from"] == "counts") != question.from_counts:
        raise InternalError(f"{question.name}: the answer ended with {summary}")
