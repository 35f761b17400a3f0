"""Runs a plan: time range by time range, newest first, each through the index or as a scan."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.planner.access.paths import IndexUnion, Lookup, Scan, Term, list_lookups
from watchfloor.planner.plan import Plan
from watchfloor.query.batches.policies import Batch, Policy
from watchfloor.schema.errors import StoreError
from watchfloor.schema.filter.tree import Condition
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import KEY_COLUMN
from watchfloor.store.layout import Wanted
from watchfloor.store.layouts.registry import layout_of
from watchfloor.store.store import Store

from .cursor import Cursor
from .stop import Stop

FIRST_ROWS = 20
"""Events after which the first batch of results is handed over: about what a screen shows at once."""
LATER_ROWS = 1000
"""The same in later query batches: rows are there already."""


@dataclass(frozen=True)
class Asked:
    """What is left of a query when it has been planned: the events of [since, until) that come after ``after``.

    ``source`` has no index but those that cover the time range, as the plan has it. ``first_width`` (µs) is what the
    counts suggest for the first query batch.
    """

    source: Source
    plan: Plan
    policy: Policy
    since: int
    until: int
    first_width: int
    columns: Sequence[str]
    limit: int | None = None
    after: Cursor | None = None

    def first(self) -> Batch | None:
        """The newest query batch; after a cursor the rest of its microsecond, without the policy."""
        if self.after is None:
            return self.policy.start(self.since, self.until, self.first_width, self.limit)
        because = "the microsecond of the cursor, without what was handed out"
        return Batch(self.after.time, self.after.time + 1, self.since, 0, 0.0, None, because)

    def next(self, batch: Batch, rows: int, seconds: float, wanted: int | None) -> Batch | None:
        if self.after is not None and batch.until > self.after.time:
            return self.policy.start(self.since, batch.since, self.first_width, wanted)
        return self.policy.next(batch, rows, seconds, wanted)


@dataclass(frozen=True)
class Ran:
    """A query batch that has run, and the seconds spent reading it."""

    batch: Batch
    rows: int
    seconds: float


@dataclass
class Run:
    """What has happened so far in a running query."""

    rows: int = 0
    first_seconds: float | None = None
    limited: bool = False
    last_key: bytes | None = None
    """That of the last row that was handed out."""
    ran: list[Ran] = field(default_factory=list)


def execute(store: Store, asked: Asked, run: Run, stop: Stop) -> Generator[pa.RecordBatch, None, None]:
    """Typed record batches of the events, newest first; ``run`` is kept up to date. Ends early, without an error,
    when ``stop`` says so."""
    try:
        yield from _execute(store, asked, run, stop)
    except StoreError:
        # A scan that is ended from outside says so as an error.
        if stop.why is None:
            raise
    finally:
        stop.over()


def _execute(store: Store, asked: Asked, run: Run, stop: Stop) -> Generator[pa.RecordBatch, None, None]:
    started = time.perf_counter()
    limit = asked.limit
    batch = asked.first()
    while batch is not None and not (run.limited or stop.why):
        rows, seconds = 0, 0.0
        clock = time.perf_counter()
        again = asked.after if asked.after is not None and batch.until > asked.after.time else None
        # What comes before the cursor comes again, and no limit can say how much that is.
        left = None if limit is None or again is not None else limit - run.rows
        first = LATER_ROWS if run.rows else FIRST_ROWS
        wanted = Wanted(batch.since, batch.until, None, asked.columns, first, left)
        try:
            with closing(read_span(store, asked.source, asked.plan, wanted)) as found:
                for events in found:
                    # Only time spent reading counts towards the batch: the consumer may be slow.
                    seconds += time.perf_counter() - clock
                    if stop.why:
                        break
                    if again is not None:
                        events = _after(events, again)
                    if limit is not None:
                        events = events.slice(0, limit - run.rows)
                    rows += len(events)
                    run.rows += len(events)
                    run.limited = limit is not None and run.rows >= limit
                    if len(events):
                        if run.first_seconds is None:
                            run.first_seconds = time.perf_counter() - started
                        run.last_key = events.column(KEY_COLUMN)[-1].as_py()
                        yield events
                    clock = time.perf_counter()
                    if run.limited or stop.why:
                        break
                seconds += time.perf_counter() - clock
        finally:
            run.ran.append(Ran(batch, rows, seconds))
        batch = asked.next(batch, rows, seconds, None if limit is None else limit - run.rows)


def read_span(store: Store, source: Source, plan: Plan, wanted: Wanted) -> Generator[pa.RecordBatch, None, None]:
    """The events of one time range, by one view of the store: that of the plan while it is young.

    The filter is the plan's, whatever ``wanted`` says.
    """
    layout, store = layout_of(source), store.snapshot()
    access = plan.access
    if isinstance(access, Scan):
        yield from layout.scan(store, source, replace(wanted, where=plan.residual))
        return
    conditions = list(dict.fromkeys(term.condition for term in list_lookups(access)))
    found = layout.hits(store, source, conditions, wanted.since, wanted.until)
    hits = _combined(access, dict(zip(conditions, found, strict=True)))
    where = plan.residual if layout.hits_exact else plan.tree
    yield from layout.fetch(store, source, hits, replace(wanted, where=where))


def _after(events: pa.RecordBatch, cursor: Cursor) -> pa.RecordBatch:
    """The events whose keys come after the cursor's."""
    keys = events.column(KEY_COLUMN)
    return events.filter(pc.greater(keys, pa.scalar(cursor.key, pa.binary())))


def _combined(term: Term, found: Mapping[Condition, pa.Array]) -> pa.Array:
    """The sorted IDs that an access path leads to, of those of each condition."""
    if isinstance(term, Lookup):
        return found[term.condition]
    parts = [_combined(part, found) for part in term.terms]
    return union(parts) if isinstance(term, IndexUnion) else intersection(parts)


def union(parts: Sequence[pa.Array]) -> pa.Array:
    """Sorted IDs that are in any part."""
    if len(parts) == 1:
        return parts[0]
    together = pc.unique(pa.concat_arrays(parts))
    return together.take(pc.sort_indices(together))


def intersection(parts: Sequence[pa.Array]) -> pa.Array:
    """Sorted IDs that are in every part."""
    smallest, *others = sorted(parts, key=len)
    for other in others:
        smallest = smallest.filter(pc.is_in(smallest, value_set=other))
    return smallest
