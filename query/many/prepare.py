"""Prepares a query of several sources: a plan for each, and query batches that are common to all.

Common batches keep the stream newest first without waiting for a source to be read to its end: a batch is handed out
when the slowest source has its time range.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from watchfloor.query.batches.distribution import MatchDistribution
from watchfloor.query.batches.sequence import make_sequence, suggest_first_width
from watchfloor.query.preparation.batched_query import BatchedQuery
from watchfloor.query.preparation.cursor import Cursor
from watchfloor.query.preparation.lists import QueryLists, open_lists
from watchfloor.query.preparation.matched import MATCHED, MatchedColumn
from watchfloor.query.preparation.prepare import (
    UNBATCHED,
    CheckedRequest,
    PreparedQuery,
    prepare_query,
    read_pins,
    resolve_range,
)
from watchfloor.query.preparation.request import QueryRequest, check_limits
from watchfloor.schema.errors import FilterError, ListError, UserError
from watchfloor.schema.filter.names import find_fields
from watchfloor.schema.filter.tree import Filter, list_fields
from watchfloor.schema.filter.type_check import TypedFilter, read_tree, read_typed_filter
from watchfloor.schema.source import Source
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.catalog import Catalog
from watchfloor.store.layout import ReadRequest
from watchfloor.store.reader import Reader
from watchfloor.store.snapshot import Snapshot

from .columns import CommonColumns, choose_common_columns
from .merge import merge_streams
from .own_columns import OwnColumns
from .selection import choose_sources, names_several

PLANNING = 16
"""The most sources that are planned at once."""


@dataclass(frozen=True)
class CheckedSources:
    """A request that fits at least one of its sources.

    ``parts`` are the requests of the sources that it fits, in the order of their names. ``left_out`` has the reason for
    each of the others. ``tree`` is the filter as it was written: it is typed for each source anew.
    """

    request: QueryRequest
    parts: tuple[CheckedRequest, ...]
    left_out: Mapping[str, str]
    columns: CommonColumns | OwnColumns
    tree: Filter | None
    cursor: Cursor | None

    @property
    def schema(self) -> pa.Schema:
        return self.columns.schema

    def prepare(self, snapshot: Snapshot) -> PreparedSources:
        """Returns the prepared query; see ``prepare_sources``."""
        return prepare_sources(snapshot, self)

    def write_cursor(self, cursor: Cursor) -> str:
        """Returns the text by which a next query of the same sources and filter goes on."""
        part = self.parts[0]  # The lists are the same in all of them.
        return part.pins.append_to(cursor.to_text(_name_sources(self.request), self.tree), part.tree)


@dataclass(frozen=True)
class PreparedSources(BatchedQuery):
    """A query of several sources.

    ``parts`` are those that may have matches. ``settled`` has those of which the counts say that they have none, and
    ``left_out`` those that the filter does not fit, with the reason.
    """

    columns: CommonColumns | OwnColumns
    parts: tuple[PreparedQuery, ...]
    settled: tuple[str, ...]
    left_out: Mapping[str, str]

    def read_batch(self, reader: Reader, request: ReadRequest) -> Generator[pa.RecordBatch, None, None]:
        yield from merge_streams([self._read_part(part, reader, request) for part in self.parts])

    def describe_plans(self) -> dict[str, Any]:
        return {
            "plan": None,
            "sources": {part.source.name: part.plan.to_json() for part in self.parts},
            "settled": list(self.settled),
            "left_out": dict(self.left_out),
        }

    def _read_part(
        self, part: PreparedQuery, reader: Reader, request: ReadRequest
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yields the events of one source in the columns of the result."""
        since, until = max(part.since, request.since), min(part.until, request.until)
        if since < until:
            for events in part.read_batch(reader, replace(request, since=since, until=until)):
                yield self.columns.convert_events(part.source, events)


def check_sources(catalog: Catalog, request: QueryRequest) -> CheckedSources:
    """Returns the request, checked and resolved by each of its sources. Raises ``UserError`` if it fits none."""
    check_limits(request)
    known = catalog.read_sources()
    sources = [known[name] for name in choose_sources(request.source, known)]
    tree = None if request.where is None else read_tree(request.where)
    cursor, since, until = resolve_range(request, _name_sources(request), tree)
    fitting, left_out = _type_filters(request, sources, open_lists(catalog, request.where, request.cursor))
    columns = _choose_columns(request, [source for source, _ in fitting], tree)
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
            meanings={} if typed is None else typed.meanings,
            pins=pins,
            show_matched=show_matched,
        )
        for source, typed in fitting
    )
    return CheckedSources(request, parts, left_out, columns, tree, cursor)


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
    request: QueryRequest, sources: Sequence[Source], tree: Filter | None
) -> CommonColumns | OwnColumns:
    """Returns the columns of the result. Raises ``UserError`` if the request names columns that do not fit."""
    if not request.own_columns:
        named = sorted(list_fields(tree)) if tree is not None else []
        # The name ``any`` is no column.
        known = [name for name in named if any(find_fields(source, name) for source in sources)]
        return choose_common_columns(sources, request.columns, known)
    if request.columns is not None:
        raise UserError("columns and own_columns exclude each other; give one of them")
    return OwnColumns()


def _type_filters(
    request: QueryRequest, sources: Sequence[Source], lists: QueryLists
) -> tuple[list[tuple[Source, TypedFilter | None]], dict[str, str]]:
    """Returns the sources that the filter fits, with its typed trees, and the reasons for the others.

    Raises the first source's ``FilterError`` if it fits none.
    """
    fitting: list[tuple[Source, TypedFilter | None]] = []
    errors: dict[str, FilterError] = {}
    for source in sources:
        try:
            fitting.append((source, read_typed_filter(request.where, source, catalog=lists)))
        except ListError:
            raise
        except FilterError as error:
            errors[source.name] = error
    if not fitting:
        raise next(iter(errors.values()))
    return fitting, {name: error.reason for name, error in errors.items()}


def prepare_sources(snapshot: Snapshot, checked: CheckedSources) -> PreparedSources:
    """Returns the prepared query: plans each source, and sets up the common batches. Raises as ``prepare_query``."""
    request = checked.request
    with JavaThreadPool(PLANNING, "plan") as pool:
        planned = list(pool.map(lambda part: prepare_query(snapshot, part), checked.parts))
    parts = tuple(query for query in planned if query.plan.matches > 0)
    since, until = min(query.since for query in planned), max(query.until for query in planned)
    busy = [span for query in parts for span in query.batches.busy or [(query.since, query.until)]]
    batched = any(query.plan.batched for query in parts)
    settings = request.batching if batched else UNBATCHED
    return PreparedSources(
        cursor=checked.cursor,
        since=since,
        until=until,
        limit=request.limit,
        batches=make_sequence(settings, busy, _add_distributions([query.batches.expected for query in parts])),
        first_width=suggest_first_width(sum(q.plan.matches for q in parts), since, until, request.batching, busy),
        columns=checked.columns,
        parts=parts,
        settled=tuple(query.source.name for query in planned if query.plan.matches == 0),
        left_out=checked.left_out,
    )


def _add_distributions(distributions: Sequence[MatchDistribution | None]) -> MatchDistribution | None:
    """Returns the distribution of the matches of all sources together; None if one of them is not known."""
    known = [distribution for distribution in distributions if distribution is not None]
    if len(known) < len(distributions) or not known:
        return None
    edges = np.unique(np.concatenate([ends for d in known for ends in (d.starts, d.ends)]))
    starts, ends = edges[:-1], edges[1:]
    matches = [sum(d.count_rows(int(a), int(b)) for d in known) for a, b in zip(starts, ends, strict=True)]
    streams, paged = all(d.streams for d in known), all(d.paged for d in known)
    return MatchDistribution.from_arrays(starts, ends, np.array(matches, float), streams, paged)
