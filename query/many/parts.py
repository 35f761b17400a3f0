"""A source of a query of several: it is planned when it is first needed.

Of some sources the table of sightings tells where their matches can be (``match_bounds.py``). They need not be planned
before the query has come down to the newest of these times, and many a query reaches its limit before that.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from watchfloor.planner.plan import Plan
from watchfloor.query.batches.distribution import MatchDistribution
from watchfloor.query.batches.sequence import Span
from watchfloor.query.preparation.lists import check_pins
from watchfloor.query.preparation.prepare import CheckedRequest, PreparedQuery, prepare_query
from watchfloor.schema.source import Source
from watchfloor.schema.times import close_range
from watchfloor.store.encoding.keys import HOUR
from watchfloor.store.index.count_buckets import merge_hours
from watchfloor.store.layout import ReadRequest
from watchfloor.store.reader import Reader
from watchfloor.store.snapshot import Snapshot

from .match_bounds import MatchBound


@dataclass(frozen=True)
class MatchesExpected:
    """Expected matches of a source before it is read, and how they lie in time.

    All are in [since, until), in µs, and within the disjoint spans ``busy``, which ascend. ``distribution`` None: it is
    not known.
    """

    since: int
    until: int
    matches: float
    busy: tuple[Span, ...]
    distribution: MatchDistribution | None

    def find_end(self, since: int, until: int) -> int | None:
        """Returns a time before which all matches within [since, until) are; None if there are none."""
        return next((min(until, end) for start, end in reversed(self.busy) if start < until and end > since), None)


@dataclass(eq=False)
class SourcePart:
    """A source of a query. ``bound`` None: the table of sightings tells nothing of its matches."""

    snapshot: Snapshot
    checked: CheckedRequest
    bound: MatchBound | None

    @property
    def source(self) -> Source:
        return self.checked.source

    @cached_property
    def query(self) -> PreparedQuery:
        """The prepared query of the source; the first call plans it. Raises as ``prepare_query`` does."""
        return prepare_query(self.snapshot, self.checked)

    @property
    def plan(self) -> Plan | None:
        """The plan, if the source is planned already."""
        query: PreparedQuery | None = vars(self).get("query")
        return None if query is None else query.plan

    @property
    def is_batched(self) -> bool:
        """True if the plan is to read the source in batches."""
        return self.bound is not None or self.query.plan.batched

    @cached_property
    def expected(self) -> MatchesExpected:
        """The expected matches, by the sightings or else by the source's own counts."""
        if self.bound is not None:
            return _expect_within(self.checked, self.bound)
        query = self.query
        batches = query.batches
        busy = tuple(batches.busy or [(query.since, query.until)])
        return MatchesExpected(query.since, query.until, query.plan.matches, busy, batches.expected)

    def read_events(self, reader: Reader, request: ReadRequest) -> Generator[pa.RecordBatch, None, None]:
        """Yields the source's events in the time range of ``request``, newest first; plans the source before."""
        if self.query.plan.matches > 0:
            since, until = max(self.query.since, request.since), min(self.query.until, request.until)
            if since < until:
                yield from self.query.read_batch(reader, replace(request, since=since, until=until))


def make_part(snapshot: Snapshot, checked: CheckedRequest, bound: MatchBound | None) -> SourcePart:
    """Returns the part of a query that is of one source. Raises ``UserError`` if a list has changed.

    Events after the bound's end are of items that are still being written. They are left out, for newer rows may have
    been handed out when the source's turn comes.
    """
    check_pins(checked.pins, checked.tree)
    if bound is not None:
        checked = replace(checked, until=min(bound.end, close_range(None, checked.until)[1]))
    return SourcePart(snapshot, checked, bound)


def _expect_within(checked: CheckedRequest, bound: MatchBound) -> MatchesExpected:
    """Returns the expected matches of a source by its bound; ``checked`` has an end."""
    assert checked.until is not None
    low, until = checked.since or 0, checked.until
    hours, matches = np.array(sorted(bound.hours.items()), np.int64).reshape(-1, 2).T
    starts, ends = np.maximum(hours, low), np.minimum(hours + HOUR, until)
    since = min(until, int(starts.min(initial=until)))
    cut = ((max(start, low), min(end, until)) for start, end in reversed(merge_hours(hours)))
    spans = tuple((start, end) for start, end in cut if start < end)
    distribution = MatchDistribution.from_arrays(starts, ends, matches, streams=True)
    return MatchesExpected(since, until, float(matches.sum()), spans, distribution)
