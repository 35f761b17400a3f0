"""Prepares a query with a sort: a plan and slices for each of its sources, and the place where it goes on.

Each tablet server keeps the first rows of the order in its part of the events. A plan chooses between a scan and the
index as for an aggregation: all events that match must be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.planner.plan import Plan
from watchfloor.query.batches.policy import Batch
from watchfloor.query.batches.slices import cut_oldest_first, cut_slices
from watchfloor.query.many.columns import CommonColumns
from watchfloor.query.many.match_bounds import find_match_bounds, list_unsighted
from watchfloor.query.many.own_columns import OwnColumns
from watchfloor.query.many.prepare import PLANNING, CheckedSources, describe_sources
from watchfloor.query.preparation.cursor import Cursor
from watchfloor.query.preparation.lists import check_pins
from watchfloor.query.preparation.matched import MatchedColumn
from watchfloor.query.preparation.prepare import CheckedRequest, choose_plan
from watchfloor.query.preparation.read_range import read_range
from watchfloor.schema.errors import UserError
from watchfloor.schema.source import Source
from watchfloor.schema.stats.sort import TypedSort
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.keys import KEY_BYTES, KEY_COLUMN
from watchfloor.store.layout import ReadRequest
from watchfloor.store.reader import Reader
from watchfloor.store.snapshot import Snapshot
from watchfloor.store.sorting.keys import compile_sort, make_sort_keys

POLICY = "slices"
"""The word for how the range is cut, in the place of a query's batching policy."""


@dataclass(frozen=True)
class SortedPart:
    """The part of a query that is of one source. [since, until), in µs, is the range that is read, in ``slices``.

    ``columns`` are the fields of the result; ``matched`` makes the column ``_matched`` if it is wanted. ``common`` are
    the columns into which they are brought, if the query is of several sources.
    """

    source: Source
    plan: Plan
    sort: TypedSort
    program: bytes
    columns: tuple[str, ...]
    matched: MatchedColumn | None
    common: CommonColumns | OwnColumns | None
    since: int
    until: int
    slices: tuple[Batch, ...]

    @property
    def suffix(self) -> bytes:
        """The bytes that follow an event's key in keys of several sources: the name of its source."""
        return b"" if self.common is None else self.source.name.encode()

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The fields to read: those of the result, and those to sort by."""
        return tuple(dict.fromkeys((*self.columns, *(order.column for order in self.sort.orders))))

    def make_keys(self, events: pa.RecordBatch) -> pa.BinaryArray:
        """Returns the sort keys of events with ``read_columns``."""
        return make_sort_keys(self.sort.orders, self.source, events, self.suffix)

    def convert_events(self, reader: Reader, events: pa.RecordBatch) -> pa.RecordBatch:
        """Returns events with the columns of the result, among others, and their keys."""
        events = events if self.matched is None else self.matched.add_to(reader, events)
        return events if self.common is None else self.common.convert_events(self.source, events)


@dataclass(frozen=True)
class SortedQuery:
    """A query with a sort. ``after`` is the sort key of the row after which it goes on; None: it begins.

    ``since`` and ``until``, in µs, are the ends of the range that is read. If it ``is_many``, ``settled`` has the
    sources of which the counts say that nothing matches, and ``left_out`` those that filter or sort do not fit, with
    the reason.
    """

    parts: tuple[SortedPart, ...]
    limit: int
    after: bytes | None
    since: int
    until: int
    is_many: bool
    settled: tuple[str, ...]
    left_out: Mapping[str, str]
    policy_name: str = POLICY

    @property
    def plan(self) -> Plan | None:
        """The plan of a query of one source."""
        return None if self.is_many else self.parts[0].plan

    @property
    def plans(self) -> Mapping[str, Plan]:
        """The plan of each source that may have matches."""
        return {part.source.name: part.plan for part in self.parts}

    def first_batch(self) -> Batch | None:
        """Returns the first slice, or None if there are no events in the range."""
        return next((one for part in self.parts for one in part.slices), None)

    def describe_plans(self) -> dict[str, Any]:
        """Returns the members of a summary that say how the query is run."""
        if not self.is_many:
            return {"plan": self.parts[0].plan.to_json()}
        return describe_sources(self.plans, self.settled, self.left_out)

    def make_cursor(self, key: bytes) -> Cursor:
        """Returns the cursor after the row with a key."""
        return Cursor(key, self.since, self.until)


def prepare_sorted(snapshot: Snapshot, checked: CheckedRequest | CheckedSources) -> SortedQuery:
    """Returns the prepared query. Raises ``UserError`` if the cursor's row is gone, and as ``prepare_query`` does."""
    settled: frozenset[str] = frozenset()
    if isinstance(checked, CheckedSources):
        common, left_out, first = checked.columns, checked.left_out, checked.parts[0]
        settled = list_unsighted(find_match_bounds(snapshot, checked.parts))
        with JavaThreadPool(PLANNING, "plan") as pool:
            left = [part for part in checked.parts if part.source.name not in settled]
            planned = list(pool.map(lambda one: _prepare_part(snapshot, one, common), left))
        settled = settled.union(part.source.name for part in planned if part.plan.matches == 0)
    else:
        planned, left_out, first = [_prepare_part(snapshot, checked, None)], {}, checked
    parts = tuple(part for part in planned if part.source.name not in settled)
    since = min((part.since for part in planned), default=first.since or 0)
    return SortedQuery(
        parts=parts,
        limit=checked.request.limit or 1,
        after=None if checked.cursor is None else _find_place(snapshot, parts, checked.cursor),
        since=since,
        until=max((part.until for part in planned), default=first.until or since),
        is_many=isinstance(checked, CheckedSources),
        settled=tuple(sorted(settled)),
        left_out=left_out,
    )


def _prepare_part(snapshot: Snapshot, checked: CheckedRequest, common: CommonColumns | OwnColumns | None) -> SortedPart:
    """Returns the part of a query that is of one source."""
    request, sort = checked.request, checked.sort
    assert sort is not None, "the query has a sort"
    check_pins(checked.pins, checked.tree)
    # A limit does not shorten the reading: the last event may be the first of the order.
    source, survey, plan = choose_plan(
        snapshot, checked, scheme=request.scheme, w=request.w, limit=None, planner=request.planner
    )
    order = f"order: top {request.limit:,} by {sort.to_text()} on the tablet servers"
    first = sort.orders[0]
    cut = cut_oldest_first if first.column == source.time_field and not first.descending else cut_slices
    slices = cut(survey.since, survey.until, survey.hours, survey.events)
    return SortedPart(
        source=source,
        plan=replace(plan, notes=(order, *plan.notes)),
        sort=sort,
        program=compile_sort(sort.orders, source),
        columns=checked.columns,
        matched=MatchedColumn(source, checked.tree) if checked.show_matched else None,
        common=common,
        since=survey.since,
        until=survey.until,
        slices=tuple(
            Batch(one.since, one.until, survey.since, number, 0.0, None, f"slice {number + 1} of {len(slices)}")
            for number, one in enumerate(slices)
        ),
    )


def _find_place(snapshot: Snapshot, parts: tuple[SortedPart, ...], cursor: Cursor) -> bytes:
    """Returns the sort key of the row at which a cursor stands. Raises ``UserError`` if there is no such row."""
    key, suffix = cursor.key[:KEY_BYTES], cursor.key[KEY_BYTES:]
    for part in parts:
        if part.suffix != suffix:
            continue
        request = ReadRequest(cursor.time, cursor.time + 1, None, part.read_columns, 1)
        with closing(read_range(snapshot, part.source, part.plan, request)) as batches:
            for events in batches:
                found = events.filter(pc.equal(events.column(KEY_COLUMN), pa.scalar(key, pa.binary())))
                if len(found):
                    place: bytes = part.make_keys(found)[0].as_py()
                    return place
    raise UserError(
        "the row after which the cursor goes on is gone, or may not be seen any more; ask without the cursor"
    )
