"""Questions in SQL, for the engines that are asked so."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from watchfloor.loadgen.engines.answer import Rows
from watchfloor.loadgen.engines.question import Kind, Question
from watchfloor.schema.source import Source


class SqlEngine(ABC):
    """An engine with one table, ``events``. ``PATTERN``: its function that searches a string for a pattern."""

    PATTERN: ClassVar[str]

    def __init__(self, source: Source) -> None:
        self._time = source.time_field

    @abstractmethod
    def query(self, sql: str) -> pa.Table: ...

    def literal(self, text: str) -> str:
        """As standard SQL writes it."""
        return "'" + text.replace("'", "''") + "'"

    def events(self) -> int:
        return self.number("SELECT count(*) FROM events")

    def count(self, question: Question) -> int:
        return self.number(f"SELECT count(*) FROM events WHERE {self._condition(question)}")

    def rows(self, question: Question) -> Iterator[Rows]:
        sql = f"SELECT * FROM events WHERE {self._condition(question)}"
        if question.kind is Kind.NEWEST:
            sql += f" ORDER BY {self._time} DESC"
        yield self.query(sql if question.limit is None else f"{sql} LIMIT {question.limit}")

    def number(self, sql: str) -> int:
        """The one cell of an answer."""
        return int(self.query(sql).column(0)[0].as_py())

    def _condition(self, question: Question) -> str:
        value = self.literal(question.value)
        return f"{self.PATTERN}({question.field}, {value})" if question.pattern else f"{question.field} = {value}"
