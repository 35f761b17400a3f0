"""Prepares a query: turns its request into all that must be known before the first event is read.

The steps, in order and each done once: ``check_request`` finds the source, chooses the columns, types the filter, reads
the cursor and fixes the time range; ``prepare_query`` reads the counts, chooses the plan and sets up the query batches.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from watchfloor.planner.access.counts import ConditionCount, Counts
from watchfloor.planner.access.paths import Scan
from watchfloor.planner.plan import Plan
from watchfloor.planner.planner import PlanRequest, keep_plan, keep_request, make_plan
from watchfloor.query.batches.distribution import MatchDistribution
from watchfloor.query.batches.sequence import make_sequence, suggest_first_width
from watchfloor.query.batches.settings import BatchSettings
from watchfloor.schema.filter.names import describe_meanings
from watchfloor.schema.filter.tree import Condition, Filter
from watchfloor.schema.filter.type_check import read_typed_filter
from watchfloor.schema.source import Same, Source
from watchfloor.schema.stats.sort import TypedSort, type_sort
from watchfloor.schema.times import clip_range
from watchfloor.store.catalog import Catalog
from watchfloor.store.encoding.keys import HOUR
from watchfloor.store.encoding.program import has_large_sets
from watchfloor.store.layout import IndexCount, ReadRequest
from watchfloor.store.layouts.count_memory import CountedRange, HourlyEvents, Recall
from watchfloor.store.layouts.count_reader import CountReader, EventSurvey
from watchfloor.store.layouts.registry import find_layout
from watchfloor.store.reader import Reader
from watchfloor.store.snapshot import Snapshot

from .batched_query import BatchedQuery
from .cursor import Cursor, read_cursor
from .lists import ListPins, check_pins, describe_lists, open_lists, split_cursor
from .matched import MATCHED, MatchedColumn, choose_shown_columns
from .read_range import read_range
from .request import QueryRequest, check_columns, check_limits

UNBATCHED = BatchSettings(policy="none")
STREAM_SECONDS = 0.05
"""Rows of a batch count as streaming if fewer seconds are spent on the index before the first row is fetched."""


class CheckedFilter(Protocol):
    """The filter of a request that fits its source, and its time range, as ``CheckedRequest`` has them."""

    @property
    def source(self) -> Source: ...

    @property
    def tree(self) -> Filter | None: ...

    @property
    def since(self) -> int | None: ...

    @property
    def until(self) -> int | None: ...

    @property
    def meanings(self) -> Mapping[str, tuple[str, ...]]: ...


@dataclass(frozen=True)
class CheckedRequest:
    """A request that fits its source.

    ``tree`` is the typed filter and ``schema`` the Arrow schema of the result's columns. [since, until), in µs, is the
    time range, cut to the times that events can have; None leaves an end open. With a ``cursor`` the range begins where
    that of the cursor's query began, and ends with the cursor's microsecond or, with a ``sort``, where that of the
    cursor's query ended. ``meanings`` are the fields that each ECS name and each kind in the filter and the sort stands
    for. ``columns`` are the fields that are read. ``pins`` has the range and the lists of the first page. If
    ``show_matched``, the column ``_matched`` is added to what is read. If ``is_kept``, the same text has
    always the same filter.
    """

    request: QueryRequest
    source: Source
    columns: tuple[str, ...]
    schema: pa.Schema
    tree: Filter | None
    cursor: Cursor | None
    since: int | None
    until: int | None
    meanings: Mapping[str, tuple[str, ...]]
    pins: ListPins
    show_matched: bool = False
    sort: TypedSort | None = None
    is_kept: bool = False

    def prepare(self, snapshot: Snapshot, recall: Recall | None = None) -> PreparedQuery:
        """Returns the prepared query; see ``prepare_query``."""
        return prepare_query(snapshot, self, recall)

    def write_cursor(self, cursor: Cursor) -> str:
        """Returns the text by which a next query of the same source, filter and sort goes on."""
        sort = None if self.sort is None else self.sort.to_text()
        return self.pins.append_to(cursor.to_text(self.source.name, self.tree, sort), self.tree)


@dataclass(frozen=True)
class PreparedQuery(BatchedQuery):
    """A query of one source. ``source`` has only the indexes that cover all events of the time range.

    ``known`` is the time range, cut at its open ends to the hours that had events when it was planned.
    """

    source: Source
    columns: tuple[str, ...]
    plan: Plan
    matched: MatchedColumn | None
    known: tuple[int, int]

    def read_batch(self, reader: Reader, request: ReadRequest) -> Generator[pa.RecordBatch, None, None]:
        with closing(read_range(reader, self.source, self.plan, replace(request, columns=self.columns))) as batches:
            for events in batches:
                yield events if self.matched is None else self.matched.add_to(reader, events)

    def describe_plans(self) -> dict[str, Any]:
        return {"plan": self.plan.to_json()}


def check_request(catalog: Catalog, request: QueryRequest) -> CheckedRequest:
    """Returns the request, checked and resolved by its source. Raises ``UserError`` if it does not fit."""
    source = catalog.find_source(request.source)
    shown, columns = choose_shown_columns(source, request.columns)
    check_columns(request, shown)
    check_limits(request)
    typed = read_typed_filter(request.where, source, catalog=open_lists(catalog, request.where, request.cursor))
    tree, meanings = (None, {}) if typed is None else (typed.tree, typed.meanings)
    sort = None if request.sort is None else type_sort(request.sort, source)
    if sort is not None:
        meanings = {**meanings, **sort.meanings}
    cursor, since, until = resolve_range(request, source.name, tree, None if sort is None else sort.to_text())
    if MATCHED in shown:
        columns = tuple(dict.fromkeys((*columns, *MatchedColumn(source, tree).fields)))
    return CheckedRequest(
        request=request,
        source=source,
        columns=columns,
        schema=pa.schema(list(shown.items())),
        tree=tree,
        cursor=cursor,
        since=since,
        until=until,
        meanings=meanings,
        pins=read_pins(request),
        show_matched=MATCHED in shown,
        sort=sort,
        is_kept=typed is None or typed.is_kept,
    )


def read_pins(request: QueryRequest) -> ListPins:
    """Returns the range and the lists of the first page of a query. Raises ``UserError`` if its cursor is damaged."""
    pins = None if request.cursor is None else split_cursor(request.cursor)[1]
    return pins or ListPins(*clip_range(request.since, request.until))


def resolve_range(
    request: QueryRequest, source: str, tree: Filter | None, sort: str | None
) -> tuple[Cursor | None, int | None, int | None]:
    """Returns the cursor of a request, if it has one, and its time range, as ``CheckedRequest`` has them.

    ``source``, ``tree`` and ``sort`` are those that the cursor must be of.
    """
    if request.cursor is None:
        return (None, *clip_range(request.since, request.until))
    cursor = read_cursor(split_cursor(request.cursor)[0], source, tree, sort)
    return cursor, cursor.since, cursor.time + 1 if cursor.until is None else cursor.until


def prepare_query(snapshot: Snapshot, checked: CheckedRequest, recall: Recall | None = None) -> PreparedQuery:
    """Returns the prepared query: reads the counts, chooses the plan and sets up the batches.

    With a ``recall`` counts that are estimates only, for a query that reads its whole range, need not be read anew.

    Raises ``UserError`` for a scheme, planner or w that the planner does not know, and ``StoreError`` if the store is
    down or the scans of ``snapshot`` are ended meanwhile.
    """
    request = checked.request
    check_pins(checked.pins, checked.tree)
    # Other policies cut the time between the first event and the last, which they must know.
    recall = recall if request.batching.policy == "density" and request.scheme == "auto" else None
    source, survey, plan = choose_plan(
        snapshot,
        checked,
        recall,
        checked.is_kept,
        scheme=request.scheme,
        w=request.w,
        limit=request.limit,
        planner=request.planner,
    )
    if plan.batched and not has_large_sets(checked.tree):
        batches = make_sequence(request.batching, survey.busy, _expect_matches(survey, plan))
    else:
        batches = make_sequence(UNBATCHED, None, _expect_matches(survey, plan))
    return PreparedQuery(
        source=source,
        columns=checked.columns,
        matched=MatchedColumn(source, checked.tree) if checked.show_matched else None,
        known=survey.known,
        cursor=checked.cursor,
        since=survey.since,
        until=survey.until,
        limit=request.limit,
        plan=plan,
        batches=batches,
        first_width=suggest_first_width(plan.matches, survey.since, survey.until, request.batching, survey.busy),
    )


def choose_plan(
    snapshot: Snapshot, checked: CheckedFilter, recall: Recall | None = None, is_kept: bool = False, **options: Any
) -> tuple[Source, EventSurvey, Plan]:
    """Returns the source with the indexes that may be used, the survey of the range's events, and the plan of a filter.

    ``options`` are members of ``PlanRequest``. Without a ``recall`` the survey is exact. What a plan of the same counts
    was is remembered if ``is_kept``. Raises as ``prepare_query`` does.
    """
    costs = find_layout(checked.source).costs.replace_measured(snapshot.catalog.find_costs(checked.source.layout))
    if is_kept:
        request = keep_request(Same(checked.tree), Same(checked.source), costs, checked.since, **options)
    else:
        request = PlanRequest(tree=checked.tree, source=checked.source, costs=costs, since=checked.since, **options)
    survey, plan = _plan_by_counts(snapshot, checked, request, recall, is_kept)
    if notes := (*describe_meanings(checked.meanings), *describe_lists(checked.tree)):
        plan = replace(plan, notes=(*notes, *plan.notes))
    return request.usable_source, survey, plan


def _plan_by_counts(
    snapshot: Snapshot, checked: CheckedFilter, request: PlanRequest, recall: Recall | None, is_kept: bool
) -> tuple[EventSurvey, Plan]:
    """Returns the survey of the time range's events and the plan, by counts of now or, if they do, recalled ones."""
    conditions, reader = request.counted_conditions, CountReader(snapshot, request.usable_source)
    bounds = checked.since, checked.until
    survey, known = None, None if recall is None else recall.find_hours(checked.source)
    counted, began = CountedRange(checked.source.name, *bounds), time.monotonic()
    if recall is not None and known is not None:
        memory = recall.memory
        survey = reader.estimate_survey(
            known, conditions, *bounds, lambda total: memory.recall_counts(counted, conditions, total)
        )
        if survey is not None and isinstance((plan := _make_plan(request, conditions, survey, is_kept)).access, Scan):
            return survey, plan
        survey = reader.estimate_survey(known, conditions, *bounds)
    if survey is None:
        # ``index`` and ``batched-index`` insist on the index, so even conditions that take long are counted.
        survey = reader.read_survey(conditions, *bounds, thorough=request.scheme.endswith("index"))
        if recall is not None:
            if bounds == (None, None):
                recall.memory.put_hours(checked.source, HourlyEvents(survey.hours, survey.events, began))
            # Ends that are open stay so, as by recalled counts: answers do not tell who has asked before.
            since, until = reader.close_range(*bounds)
            survey = replace(survey, since=since, until=until)
    plan = _make_plan(request, conditions, survey, is_kept)
    # An index plan reads the index in any case.
    if recall is not None and survey.total and isinstance(plan.access, Scan):
        counts = dict(zip(conditions, survey.counts, strict=True))
        recall.memory.put_counts(counted, counts, survey.total, began)
    return survey, plan


def _make_plan(request: PlanRequest, conditions: tuple[Condition, ...], survey: EventSurvey, is_kept: bool) -> Plan:
    counts = tuple(_convert_count(survey, count) for count in survey.counts)
    if is_kept:
        return keep_plan(Same(request), survey.total, counts)
    return make_plan(request, Counts(survey.total, dict(zip(conditions, counts, strict=True))))


def _convert_count(survey: EventSurvey, count: IndexCount | None) -> ConditionCount | None:
    """Returns a count of the store as the planner's; None if the condition was not counted."""
    if count is None:
        return None
    newer = 0 if count.newest is None else min(survey.total, survey.estimate_newer(count.newest))
    return ConditionCount(count.events, count.places, count.entries, newer)


def _expect_matches(survey: EventSurvey, plan: Plan) -> MatchDistribution:
    """Returns the expected matches of each hour, which are the same share of the events in every hour."""
    share = plan.matches / survey.total if survey.total else 0.0
    starts, ends = np.maximum(survey.hours, survey.since), np.minimum(survey.hours + HOUR, survey.until)
    streams = plan.estimate.ahead < STREAM_SECONDS
    dense = isinstance(plan.access, Scan) and plan.estimate.certain
    return MatchDistribution.from_arrays(starts, ends, survey.events * share, streams=streams, dense=dense)
