"""Runs a plan: time range by time range, newest first, each through the index or as a scan."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.planner.access import IndexUnion, Lookup, Scan, Term, lookups
from watchfloor.planner.plan import Plan
from watchfloor.schema.filter import Condition
from watchfloor.schema.source import Source
from watchfloor.store.layouts import layout_of
from watchfloor.store.store import Store

from .batching import Policy

FIRST_ROWS = 20
"""Events after which the first batch of results is handed over: about what a screen shows at once."""


@dataclass
class Run:
    """What has happened so far in a running query."""

    rows: int = 0
    batches: int = 0
    first_seconds: float | None = None
    limited: bool = False
    cancelled: bool = False
    """Set from outside to stop the query."""
    widths: list[tuple[int, int, int, float]] = field(default_factory=list)
    """Per query batch: since, until (µs), rows, seconds spent reading."""


def execute(
    store: Store,
    source: Source,
    plan: Plan,
    policy: Policy,
    since: int,
    until: int,
    first_width: int,
    columns: Sequence[str],
    limit: int | None,
    run: Run,
) -> Generator[pa.RecordBatch, None, None]:
    """Typed record batches of at most ``limit`` events in [since, until), newest first; ``run`` is kept up to date."""
    started = time.perf_counter()
    batch = policy.start(since, until, first_width)
    while batch is not None and not (run.limited or run.cancelled):
        rows, seconds = 0, 0.0
        clock = time.perf_counter()
        left = None if limit is None else limit - run.rows
        with closing(read_span(store, source, plan, batch.since, batch.until, columns, left)) as found:
            for events in found:
                # Only time spent reading counts towards the batch: the consumer may be slow.
                seconds += time.perf_counter() - clock
                if limit is not None:
                    events = events.slice(0, limit - run.rows)
                rows += len(events)
                run.rows += len(events)
                run.limited = limit is not None and run.rows >= limit
                if len(events):
                    if run.first_seconds is None:
                        run.first_seconds = time.perf_counter() - started
                    yield events
                clock = time.perf_counter()
                if run.limited or run.cancelled:
                    break
            seconds += time.perf_counter() - clock
        run.batches += 1
        run.widths.append((batch.since, batch.until, rows, seconds))
        batch = policy.next(batch, rows, seconds, None if limit is None else limit - run.rows)


def read_span(
    store: Store, source: Source, plan: Plan, since: int, until: int, columns: Sequence[str], limit: int | None = None
) -> Generator[pa.RecordBatch, None, None]:
    """The events of one time range, by one view of the store: that of the plan while it is young.

    With a ``limit`` all but the newest so many may be missing.
    """
    layout, store = layout_of(source), store.snapshot()
    access = plan.access
    if isinstance(access, Scan):
        yield from layout.scan(store, source, since, until, plan.residual, columns, FIRST_ROWS, limit)
        return
    conditions = list(dict.fromkeys(term.condition for term in lookups(access)))
    found = layout.hits(store, source, conditions, since, until)
    hits = _combined(access, dict(zip(conditions, found, strict=True)))
    where = plan.residual if layout.hits_exact else plan.tree
    yield from layout.fetch(store, source, hits, since, until, where, columns, FIRST_ROWS, limit)


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
