"""The part of a layout that has tablet servers answer for its events, which is the same in all layouts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import pyarrow as pa

from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import ServerIterator, ServerOption
from watchfloor.store.encoding.program import list_sets
from watchfloor.store.sorting.answer import read_top_answers
from watchfloor.store.stats.answer import PartialGroups, read_answers

from .layout import StatsRequest, TopRequest
from .reader import Reader

_PRIORITY = 100


class AnsweringLayout(ABC):
    """Makes the iterators that answer for events, and reads their answers (Java's ``GatheringIterator``)."""

    stats_iterator: str
    """The Java class that groups events."""
    top_iterator: str
    """The Java class that finds the first events of an order."""

    def aggregate_events(
        self, reader: Reader, source: Source, request: StatsRequest, hits: pa.Array | None = None
    ) -> Iterator[PartialGroups]:
        sets = (*request.program.sets, *list_sets(request.where))
        options: dict[str, ServerOption] = {"program": request.program.data, "sets": sets}
        iterator = ServerIterator(_PRIORITY, "answers", self.stats_iterator, options)
        for batch in self.read_answers(reader, source, request, iterator, hits):
            yield from read_answers(batch, request.program)

    def find_top(
        self, reader: Reader, source: Source, request: TopRequest, hits: pa.Array | None = None
    ) -> Iterator[pa.RecordBatch]:
        options = {**request.make_options(source), "sets": list_sets(request.where)}
        iterator = ServerIterator(_PRIORITY, "answers", self.top_iterator, options)
        for batch in self.read_answers(reader, source, request, iterator, hits):
            yield from read_top_answers(batch)

    @abstractmethod
    def read_answers(
        self,
        reader: Reader,
        source: Source,
        request: StatsRequest | TopRequest,
        iterator: ServerIterator,
        hits: pa.Array | None,
    ) -> Iterator[pa.RecordBatch]:
        """Yields the entries of an iterator's answers about the requested events, or about those of ``hits``.

        The iterator gets the options beside its own that say which events of a row are wanted.
        """
