"""Reads the events of one time range as a plan says: through the index, or as a scan."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.planner.access.paths import IndexUnion, Lookup, Scan, Term, list_lookups
from watchfloor.planner.plan import Plan
from watchfloor.schema.filter.tree import Condition, Filter
from watchfloor.schema.source import Source
from watchfloor.store.layout import Layout, ReadRequest, StatsRequest, TopRequest
from watchfloor.store.layouts.registry import find_layout
from watchfloor.store.reader import Reader
from watchfloor.store.stats.answer import PartialGroups


def read_range(
    snapshot: Reader, source: Source, plan: Plan, request: ReadRequest
) -> Generator[pa.RecordBatch, None, None]:
    """Yields the events of one time range, newest first.

    Reads from ``snapshot`` while it is fresh, otherwise from a newer one. The plan has the filter; that of ``request``
    is ignored.
    """
    layout, counted = find_layout(source), snapshot
    snapshot = counted.snapshot()
    access = plan.access
    if isinstance(access, Scan):
        yield from layout.scan_events(snapshot, source, replace(request, where=plan.residual))
        return
    if plan.finds_nothing and snapshot is counted:
        return  # The same snapshot would find the same again.
    hits = _find_hits(layout, snapshot, source, access, (request.since, request.until))
    yield from layout.fetch_events(snapshot, source, hits, replace(request, where=_find_rest(layout, plan)))


def aggregate_range(
    snapshot: Reader, source: Source, plan: Plan, request: StatsRequest
) -> Generator[PartialGroups, None, None]:
    """Yields the groups of the events of one time range as ``read_range`` reads them."""
    layout, snapshot = find_layout(source), snapshot.snapshot()
    if isinstance(plan.access, Scan):
        yield from layout.aggregate_events(snapshot, source, replace(request, where=plan.residual))
        return
    hits = _find_hits(layout, snapshot, source, plan.access, (request.since, request.until))
    if len(hits):
        yield from layout.aggregate_events(snapshot, source, replace(request, where=_find_rest(layout, plan)), hits)


def find_top_range(
    reader: Reader, source: Source, plan: Plan, request: TopRequest
) -> Generator[pa.RecordBatch, None, None]:
    """Yields the sort keys and hits of the first events of one time range as ``read_range`` reads them.

    The hits hold for ``reader``, which is used as it is.
    """
    layout = find_layout(source)
    if isinstance(plan.access, Scan):
        yield from layout.find_top(reader, source, replace(request, where=plan.residual))
        return
    hits = _find_hits(layout, reader, source, plan.access, (request.since, request.until))
    if len(hits):
        yield from layout.find_top(reader, source, replace(request, where=_find_rest(layout, plan)), hits)


def fetch_found(
    reader: Reader, source: Source, hits: pa.ChunkedArray, request: ReadRequest
) -> Generator[pa.RecordBatch, None, None]:
    """Yields the requested events of hits that ``find_top_range`` has found with the same reader."""
    distinct = pc.unique(hits)
    ordered = distinct.take(pc.sort_indices(distinct))
    yield from find_layout(source).fetch_events(reader, source, ordered, request)


def _find_hits(layout: Layout, reader: Reader, source: Source, access: Term, span: tuple[int, int]) -> pa.Array:
    """Returns the sorted IDs that an access path leads to in a time range [since, until)."""
    conditions = list(dict.fromkeys(term.condition for term in list_lookups(access)))
    ids = layout.find_hits(reader, source, conditions, *span)
    return _combine_ids(access, dict(zip(conditions, ids, strict=True)))


def _find_rest(layout: Layout, plan: Plan) -> Filter | None:
    """Returns the filter that is evaluated on the hits of the index."""
    # Hits that are not exact may lead to events that the index was not asked for: the whole filter is evaluated.
    return plan.residual if layout.hits_exact else plan.tree


def _combine_ids(term: Term, ids: Mapping[Condition, pa.Array]) -> pa.Array:
    """Returns the sorted IDs that an access path leads to; ``ids`` are the sorted IDs of each condition."""
    if isinstance(term, Lookup):
        return ids[term.condition]
    parts = [_combine_ids(part, ids) for part in term.terms]
    return unite_ids(parts) if isinstance(term, IndexUnion) else intersect_ids(parts)


def unite_ids(parts: Sequence[pa.Array]) -> pa.Array:
    """Returns the sorted IDs that are in any part; the parts are sorted."""
    if len(parts) == 1:
        return parts[0]
    distinct = pc.unique(pa.concat_arrays(parts))
    return distinct.take(pc.sort_indices(distinct))


def intersect_ids(parts: Sequence[pa.Array]) -> pa.Array:
    """Returns the sorted IDs that are in every part; the parts are sorted."""
    smallest, *others = sorted(parts, key=len)
    for other in others:
        smallest = smallest.filter(pc.is_in(smallest, value_set=other))
    return smallest
