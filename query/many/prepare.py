"""Prepares a query of several sources: its parts, and query batches that are common to all of them.

Common batches keep the stream newest first without waiting for a source to be read to its end. A source about which the
table of sightings tells nothing is planned here, and any other one when the stream comes to it (``parts.py``).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from watchfloor.planner.plan import Plan
from watchfloor.query.batches.distribution import MatchDistribution
from watchfloor.query.batches.sequence import make_sequence, suggest_first_width
from watchfloor.query.preparation.batched_query import BatchedQuery
from watchfloor.query.preparation.cursor import Cursor
from watchfloor.query.preparation.lists import QueryLists, open_lists
from watchfloor.query.preparation.matched import MATCHED, MatchedColumn
from watchfloor.query.preparation.prepare import (
    UNBATCHED,
    CheckedRequest,
    read_pins,
    resolve_range,
)
from watchfloor.query.preparation.request import QueryRequest, check_columns, check_limits
from watchfloor.schema.errors import FilterError, ListError, UserError
from watchfloor.schema.filter.names import find_fields
from watchfloor.schema.filter.tree import Filter, list_fields
from watchfloor.schema.filter.type_check import TypedFilter, read_tree, read_typed_filter
from watchfloor.schema.source import Source
from watchfloor.schema.stats.print import format_orders
from watchfloor.schema.stats.sort import TypedSort, read_orders, type_sort
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.catalog import Catalog
from watchfloor.store.encoding.program import has_large_sets
from watchfloor.store.layout import ReadRequest
from watchfloor.store.layouts.count_memory import Recall
from watchfloor.store.reader import Reader
from watchfloor.store.snapshot import Snapshot

from .columns import TIME, CommonColumns, choose_common_columns
from .match_bounds import find_match_bounds, list_unsighted
from .merge import BoundedStream, merge_streams
from .own_columns import OwnColumns
from .parts import SourcePart, make_part
from .selection import choose_sources, names_several

PLANNING = 16
"""The most sources that are planned at once."""


@dataclass(frozen=True)
class CheckedSources:
    """A request that fits at least one of its sources.

    ``parts`` are the requests of the sources that it fits, in the order of their names. ``left_out`` has the reason for
    each of the others. ``tree`` and ``sort`` are the filter and the order as they were written: they are typed for each
    source anew.
    """

    request: QueryRequest
    parts: tuple[CheckedRequest, ...]
    left_out: Mapping[str, str]
    columns: CommonColumns | OwnColumns
    tree: Filter | None
    cursor: Cursor | None
    sort: str | None = None

    @property
    def schema(self) -> pa.Schema:
        return self.columns.schema

    def prepare(self, snapshot: Snapshot, recall: Recall | None = None) -> PreparedSources:
        """Returns the prepared query; see ``prepare_sources``. Sources without matches are left out: all is counted."""
        return prepare_sources(snapshot, self)

    def write_cursor(self, cursor: Cursor) -> str:
        """Returns the text by which a next query of the same sources, filter and sort goes on."""
        part = self.parts[0]  # The lists are the same in all of them.
        return part.pins.append_to(cursor.to_text(_name_sources(self.request), self.tree, self.sort), part.tree)


@dataclass(frozen=True)
class PreparedSources(BatchedQuery):
    """A query of several sources.

    ``parts`` are those that may have matches. ``unsighted`` has those of which the table of sightings says that they
    have none, and ``left_out`` those that the filter does not fit, with the reason.
    """

    columns: CommonColumns | OwnColumns
    parts: tuple[SourcePart, ...]
    unsighted: frozenset[str]
    left_out: Mapping[str, str]

    def read_batch(self, reader: Reader, request: ReadRequest) -> Generator[pa.RecordBatch, None, None]:
        ends = [(part.expected.find_end(request.since, request.until), part) for part in self.parts]
        yield from merge_streams(
            [BoundedStream(end, self._read_part(part, reader, request)) for end, part in ends if end is not None]
        )

    @property
    def plans(self) -> Mapping[str, Plan]:
        """The plans of the sources that are planned so far and may have matches."""
        plans = {part.source.name: part.plan for part in self.parts}
        return {name: plan for name, plan in plans.items() if plan is not None and plan.matches > 0}

    @property
    def settled(self) -> tuple[str, ...]:
        """The sources of which counts or sightings say that nothing matches."""
        empty = [part.source.name for part in self.parts if part.plan is not None and part.plan.matches == 0]
        return tuple(sorted(self.unsighted.union(empty)))

    def plan_all(self) -> None:
        """Plans the sources that the query would plan when it reaches them."""
        _plan_parts(self.parts)

    def describe_plans(self) -> dict[str, Any]:
        waiting = [part.source.name for part in self.parts if part.plan is None]
        return {**describe_sources(self.plans, self.settled, self.left_out), "not_reached": waiting}

    def _read_part(
        self, part: SourcePart, reader: Reader, request: ReadRequest
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yields the events of one source in the columns of the result."""
        for events in part.read_events(reader, request):
            yield self.columns.convert_events(part.source, events)


def describe_sources(plans: Mapping[str, Plan], settled: Sequence[str], left_out: Mapping[str, str]) -> dict[str, Any]:
    """Returns the members of a summary that say how a query of several sources is run."""
    return {
        "plan": None,
        "sources": {name: plan.to_json() for name, plan in plans.items()},
        "settled": list(settled),
        "left_out": dict(left_out),
    }


def check_sources(catalog: Catalog, request: QueryRequest) -> CheckedSources:
    """Returns the request, checked and resolved by each of its sources. Raises ``UserError`` if it fits none."""
    check_limits(request)
    known = catalog.read_sources()
    sources = [known[name] for name in choose_sources(request.source, known)]
    tree = None if request.where is None else read_tree(request.where)
    sort = None if request.sort is None else read_orders(request.sort).tree
    sort_text = None if sort is None else format_orders(sort.orders)
    cursor, since, until = resolve_range(request, _name_sources(request), tree, sort_text)
    fitting, left_out = _type_parts(request, sources, open_lists(catalog, request.where, request.cursor))
    _check_types(fitting)
    named = [*sorted(list_fields(tree) if tree is not None else ()), *(o.column for o in (sort.orders if sort else ()))]
    columns = _choose_columns(request, [source for source, _, _ in fitting], named)
    check_columns(request, columns.schema.names)
    pins, show_matched = read_pins(request), MATCHED in columns.schema.names
    parts = tuple(
        CheckedRequest(
            request=request,
            source=source,
            columns=_list_read_fields(columns, source, typed if show_matched else None),
            schema=pa.schema([]),
            tree=None if typed is None else typed.tree,
            cursor=None,
            since=since,
            until=until,
            meanings={**({} if typed is None else typed.meanings), **({} if order is None else order.meanings)},
            pins=pins,
            show_matched=show_matched,
            sort=order,
        )
        for source, typed, order in fitting
    )
    return CheckedSources(request, parts, left_out, columns, tree, cursor, sort_text)


def _list_read_fields(
    columns: CommonColumns | OwnColumns, source: Source, typed: TypedFilter | None
) -> tuple[str, ...]:
    """Returns the fields of a source that are read, with those that ``_matched`` needs if ``typed`` is given."""
    fields = columns.list_fields(source)
    return fields if typed is None else tuple(dict.fromkeys((*fields, *MatchedColumn(source, typed.tree).fields)))


def _name_sources(request: QueryRequest) -> str:
    """Returns the name by which cursors know the sources. No single source has it: the keys of its cursors differ."""
    return request.source if names_several(request.source) else f"{request.source},"


def _choose_columns(
    request: QueryRequest, sources: Sequence[Source], named: Sequence[str]
) -> CommonColumns | OwnColumns:
    """Returns the columns of the result; ``named`` are the fields of filter and sort.

    Raises ``UserError`` if the request names columns that do not fit.
    """
    if not request.own_columns:
        # The names ``any`` and ``time`` are no fields.
        known = [name for name in named if any(find_fields(source, name) for source in sources)]
        return choose_common_columns(sources, request.columns, known)
    if request.columns is not None:
        raise UserError("columns and own_columns exclude each other; give one of them")
    return OwnColumns()


_TypedPart = tuple[Source, TypedFilter | None, TypedSort | None]


def _type_parts(
    request: QueryRequest, sources: Sequence[Source], lists: QueryLists
) -> tuple[list[_TypedPart], dict[str, str]]:
    """Returns the sources that filter and sort fit, with both typed, and the reasons for the others.

    Raises the first source's ``FilterError`` if they fit none.
    """
    fitting: list[_TypedPart] = []
    errors: dict[str, FilterError] = {}
    for source in sources:
        try:
            typed = read_typed_filter(request.where, source, catalog=lists)
            sort = None if request.sort is None else type_sort(request.sort, source, {TIME: source.time_field})
            fitting.append((source, typed, sort))
        except ListError:
            raise
        except FilterError as error:
            errors[source.name] = error
    if not fitting:
        raise next(iter(errors.values()))
    return fitting, {name: error.reason for name, error in errors.items()}


def _check_types(fitting: Sequence[_TypedPart]) -> None:
    """Raises ``UserError`` if the fields of an order are of different types in different sources."""
    first, _, wanted = fitting[0]
    for source, _, sort in fitting:
        if sort is None or wanted is None:
            continue
        for mine, other in zip(wanted.orders, sort.orders, strict=True):
            field, found = first.find_field(mine.column), source.find_field(other.column)
            if field.scalar is not found.scalar:
                raise UserError(
                    f"{field.name} of {first.name} is of the type {field.type_name} and {found.name} of {source.name} "
                    f"of the type {found.type_name}; values of two types have no common order: name sources in which "
                    f"the field has one type"
                )


def prepare_sources(snapshot: Snapshot, checked: CheckedSources) -> PreparedSources:
    """Returns the prepared query: the sources of which the sightings tell nothing are planned, at the same time.

    Raises as ``prepare_query`` does.
    """
    request = checked.request
    bounds = find_match_bounds(snapshot, checked.parts)
    unsighted = list_unsighted(bounds)
    # A scheme that is asked for is one of plans, so all sources are planned for it.
    known = bounds if request.scheme == "auto" else {}
    left = [part for part in checked.parts if part.source.name not in unsighted]
    parts = tuple(make_part(snapshot, part, known.get(part.source.name)) for part in left)
    _plan_parts([part for part in parts if part.bound is None])
    first, expected = checked.parts[0], [part.expected for part in parts]
    since = min((one.since for one in expected), default=first.since or 0)
    until = max((one.until for one in expected), default=first.until or since)
    matching = [one for one in expected if one.matches > 0]
    busy = [span for one in matching for span in one.busy]
    batched = any(part.is_batched for part in parts) and not any(has_large_sets(part.checked.tree) for part in parts)
    return PreparedSources(
        cursor=checked.cursor,
        since=since,
        until=until,
        limit=request.limit,
        batches=make_sequence(
            request.batching if batched else UNBATCHED, busy, _add_distributions([one.distribution for one in matching])
        ),
        first_width=suggest_first_width(sum(one.matches for one in matching), since, until, request.batching, busy),
        columns=checked.columns,
        parts=parts,
        unsighted=unsighted,
        left_out=checked.left_out,
    )


def _plan_parts(parts: Sequence[SourcePart]) -> None:
    with JavaThreadPool(PLANNING, "plan") as pool:
        list(pool.map(lambda part: part.query, parts))


def _add_distributions(distributions: Sequence[MatchDistribution | None]) -> MatchDistribution | None:
    """Returns the distribution of the matches of all sources together; None if one of them is not known."""
    known = [distribution for distribution in distributions if distribution is not None]
    if len(known) < len(distributions) or not known:
        return None
    edges = np.unique(np.concatenate([ends for d in known for ends in (d.starts, d.ends)]))
    matches = np.diff(np.sum([d.count_before(edges) for d in known], axis=0))
    return MatchDistribution.from_arrays(edges[:-1], edges[1:], matches, all(d.streams for d in known))
