"""Watchfloor as an engine: questions go to the query service in this process."""

from __future__ import annotations

import time
from contextlib import closing

import pyarrow as pa

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.store.store import Store

from .answer import EngineAnswer, check_answer
from .question import EngineQuestion, QuestionKind


class WatchfloorEngine:
    """One source, in its own layout."""

    def __init__(self, store: Store, source: str) -> None:
        self._service, self._source = QueryService(store), store.catalog.find_source(source)

    def ask_question(self, question: EngineQuestion, check: bool) -> EngineAnswer:
        """Returns the answer; ``check`` says whether to check and digest the rows."""
        started = time.perf_counter()
        if question.kind is QuestionKind.COUNT:
            count = self._service.count_events(self._source.name, field=question.field, value=question.value)
            return EngineAnswer(time.perf_counter() - started, 1, str(count))
        table = pa.Table.from_batches(result := self._service.run(self._make_request(question)), result.schema)
        seconds = time.perf_counter() - started
        return check_answer(seconds, table, self._source, question) if check else EngineAnswer(seconds, len(table))

    def time_first_rows(self, question: EngineQuestion) -> float:
        """Returns the seconds to the first rows of a question without a limit, which is then closed."""
        started = time.perf_counter()
        with closing(self._service.run(self._make_request(question))) as result:
            next(iter(result))
            return time.perf_counter() - started

    def _make_request(self, question: EngineQuestion) -> QueryRequest:
        scheme = "scan" if question.kind is QuestionKind.SCAN else "auto"
        return QueryRequest(self._source.name, where=question.where, limit=question.limit, scheme=scheme)
