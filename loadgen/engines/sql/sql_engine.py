"""The questions in SQL, for engines that are asked in SQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from watchfloor.loadgen.engines.answer import AnswerRows
from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind
from watchfloor.schema.source import Source


class SqlEngine(ABC):
    """An engine with one table, ``events``.

    ``PATTERN_FUNCTION`` is the SQL function that searches a string for a regular expression.
    """

    PATTERN_FUNCTION: ClassVar[str]

    def __init__(self, source: Source) -> None:
        self._time = source.time_field

    @abstractmethod
    def load_list(self, path: Path) -> None:
        """Loads a list of addresses, one a line, into what statements call ``listed``."""

    @abstractmethod
    def run_sql(self, sql: str) -> pa.Table:
        """Runs a statement and returns its rows."""

    def quote_literal(self, text: str) -> str:
        """Quotes a string as standard SQL does."""
        return "'" + text.replace("'", "''") + "'"

    def count_events(self) -> int:
        return self.query_number("SELECT count(*) FROM events")

    def count_matches(self, question: EngineQuestion) -> int:
        return self.query_number(f"SELECT count(*) FROM events WHERE {self._format_condition(question)}")

    def read_rows(self, question: EngineQuestion) -> Iterator[AnswerRows]:
        sql = f"SELECT * FROM events WHERE {self._format_condition(question)}"
        if question.kind is QuestionKind.NEWEST:
            sql += f" ORDER BY {self._time} DESC"
        yield self.run_sql(sql if question.limit is None else f"{sql} LIMIT {question.limit}")

    def query_number(self, sql: str) -> int:
        """Returns the only cell of an answer, a number."""
        return int(self.run_sql(sql).column(0)[0].as_py())

    def _format_condition(self, question: EngineQuestion) -> str:
        if question.condition is not None:
            return question.condition
        value = self.quote_literal(question.value)
        return (
            f"{self.PATTERN_FUNCTION}({question.field}, {value})" if question.pattern else f"{question.field} = {value}"
        )
