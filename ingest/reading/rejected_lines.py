"""Puts the rejected lines of one reading in quarantine, and takes those out that an earlier reading has put there."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from watchfloor.ingest.files.lines import RejectedLine
from watchfloor.ingest.formats.registry import open_time_finder, sources_of_feed
from watchfloor.ingest.parsing.format import SniffResult
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records.kept_lines import KeptLines
from watchfloor.ingest.records.quarantine import CLEARED, OPEN, RETRIED, Quarantine, QuarantinedLine
from watchfloor.schema.source import Source
from watchfloor.schema.visibility.expressions import join_expressions
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.layout import GoneLines
from watchfloor.store.store import Store

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EarlierLines:
    """The item's lines that an earlier reading put in quarantine.

    ``open`` are the offsets of the lines that are still in quarantine, ``claimed`` those of the lines that a retry has
    claimed and counts. ``retried`` is the number of claimed lines that are events by now.
    """

    open: Offsets
    claimed: Offsets
    retried: int


class GoneTimes:
    """Collects the times that rejected lines hold: when they were events by an earlier definition."""

    def __init__(self, item: WorkItem, sources: Iterable[Source]) -> None:
        self._finder, _ = open_time_finder(SniffResult(item.feed, item.header, tuple(sources)))
        self._times = array("q")

    def add(self, lines: Iterable[bytes]) -> None:
        """Adds the times of lines without their line ends; most lines that are rejected have none."""
        found = (self._finder.find_time(line) for line in lines)
        self._times.extend(place.micros for place in found if place is not None)

    @property
    def times(self) -> npt.NDArray[np.int64]:
        """The times in µs since 1970 UTC."""
        return np.array(self._times, np.int64)


class RejectedLines:
    """Keeps the rejected lines of one reading of an item, within the bounds of ``KeptLines``.

    A line may hold values of any field of the feed's sources, so it has the visibility of all of them together.
    """

    def __init__(self, store: Store, sink: EntrySink, item: WorkItem, begun: bool) -> None:
        """``begun``: an earlier reading may have written events of lines that are rejected now."""
        sources = sources_of_feed(item.feed, store.catalog.read_sources())
        for source in sources:
            store = store.seeing_all_of(source)
        self._sink, self._item = sink, item
        self._quarantine = Quarantine(store)
        self._visibility = join_visibilities(sources)
        self._kept = KeptLines(item.end - item.start, item.length)
        self._rows, self._offsets = array("q"), array("q")
        self._times = GoneTimes(item, sources) if begun else None
        self.earlier = self._read_earlier()

    def put(self, rejected: Sequence[RejectedLine], cut: Sequence[RejectedLine]) -> None:
        """Puts the next rejected lines in quarantine. Of those also in ``cut`` only the beginning is there."""
        self._offsets.extend(line.offset for line in rejected)
        if self._times is not None:
            self._times.add(line.raw for line in rejected)
        kept = self._kept.choose(rejected, cut)
        self._rows.extend(line.offset for line in kept)
        self._quarantine.put_lines(self._sink, self._item, kept, cut, self._visibility)

    def finish(self) -> None:
        """Counts the lines that are not kept, and closes earlier rows whose lines are events now or are only counted.

        All is durable after the sink's ``flush``.
        """
        if self._kept.unkept is not None:
            self._rows.append(self._kept.unkept.first.offset)
            self._quarantine.put_unkept(self._sink, self._item, self._kept.unkept, self._visibility)
        closed = set(np.setdiff1d(self.earlier.open, np.array(self._rows, np.int64)).tolist())
        if closed:
            lines = (line for line in self._quarantine.lines_of_item(self._item.item_id) if line.offset in closed)
            self._quarantine.close_lines(self._sink, lines, CLEARED)

    @property
    def count(self) -> int:
        """The number of rejected lines so far."""
        return len(self._offsets)

    @property
    def gone(self) -> GoneLines:
        """All rejected lines so far; with their times if an earlier reading may have had them as events."""
        offsets = np.array(self._offsets, np.int64)
        return GoneLines(offsets) if self._times is None else GoneLines(offsets, self._times.times)

    def _read_earlier(self) -> EarlierLines:
        """Reads the item's lines in quarantine. Removes the texts of those that now have another visibility."""
        still_open, claimed, retried = array("q"), array("q"), 0
        relabelled: list[QuarantinedLine] = []
        for line in self._quarantine.lines_of_item(self._item.item_id):
            retried += line.state == RETRIED
            if line.state == RETRIED or line.claim:
                claimed.append(line.offset)
            elif line.state == OPEN:
                still_open.append(line.offset)
                if line.visibility != self._visibility:
                    relabelled.append(line)
        self._quarantine.remove_texts(self._sink, relabelled)
        return EarlierLines(np.array(still_open, np.int64), np.array(claimed, np.int64), retried)


def join_visibilities(sources: Iterable[Source]) -> str:
    """Returns the expression of those who may see every field of every one of ``sources``."""
    return join_expressions(
        expression
        for source in sources
        for expression in (source.visibility, *map(source.visibility_of, source.fields))
    )
