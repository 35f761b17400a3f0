"""Answers questions from counts alone: numbers of events, most frequent values, counts over time. All are exact.

Each function raises ``UserError`` if the source or the field is unknown, if the time range is empty, or if the field's
index does not cover all events of the range.
"""

from __future__ import annotations

from typing import Any

from watchfloor.schema.errors import UserError
from watchfloor.schema.field import Field, IndexKind
from watchfloor.schema.filter.names import find_single_field
from watchfloor.schema.filter.tree import Compare, Value
from watchfloor.schema.filter.type_check import type_filter
from watchfloor.schema.source import Source
from watchfloor.schema.times import END_OF_TIME, clip_range, close_range, from_micros
from watchfloor.store.layouts.count_reader import CountReader
from watchfloor.store.snapshot import Snapshot

from .preparation.request import check_range

Span = tuple[int, int]
"""A time range [since, until) in µs."""


def count_events(
    snapshot: Snapshot,
    source_name: str,
    since: int | None,
    until: int | None,
    field: str | None = None,
    value: Any = None,
) -> int:
    """Returns the number of events in [since, until), or of those among them with ``field = value``."""
    reader, source, span = _open_counts(snapshot, source_name, since, until)
    return reader.count_events(*span, *_make_term(reader, source, field, value, since))


def rank_values(
    snapshot: Snapshot,
    source_name: str,
    field: str,
    since: int | None,
    until: int | None,
    limit: int,
    ascending: bool = False,
) -> list[tuple[Any, int]]:
    """Returns the ``limit`` values of an indexed field with the most events in [since, until), with their counts.

    If ``ascending``, those with the fewest events, of those that have any.
    """
    reader, source, span = _open_counts(snapshot, source_name, since, until)
    indexed = _find_indexed_field(reader, source, field, since)
    if limit < 1:
        raise UserError(f"n is {limit}; it must be 1 or more")
    return reader.rank_values(indexed, *span, limit, ascending)


def count_over_time(
    snapshot: Snapshot,
    source_name: str,
    since: int | None,
    until: int | None,
    bucket: str,
    field: str | None = None,
    value: Any = None,
) -> list[tuple[int, int]]:
    """Returns (start in µs, count) of each bucket that has events, oldest first.

    A bucket that the range cuts counts only its events within the range.
    """
    reader, source, span = _open_counts(snapshot, source_name, since, until)
    return reader.count_over_time(bucket, *span, *_make_term(reader, source, field, value, since))


def _open_counts(
    snapshot: Snapshot, source_name: str, since: int | None, until: int | None
) -> tuple[CountReader, Source, Span]:
    """Returns the source's counts, the source, and the time range without open ends."""
    source = snapshot.catalog.find_source(source_name)
    check_range(since, until)
    return CountReader(snapshot, source), source, close_range(*clip_range(since, until))


def _make_term(
    reader: CountReader, source: Source, name: str | None, value: Any, since: int | None
) -> tuple[Field, Value] | tuple[()]:
    """Returns the indexed field and its typed value, or an empty tuple if no field is named."""
    if name is None:
        return ()
    field = _find_indexed_field(reader, source, name, since)
    if value is None:
        raise UserError(f"which value of {name}? Give one, or use top for all of them")
    tree = type_filter(Compare(field.name, "=", value), source)
    assert isinstance(tree, Compare)
    return field, tree.value


def _find_indexed_field(reader: CountReader, source: Source, name: str, since: int | None) -> Field:
    """Returns the field of a name, which may be an ECS name or a kind if it stands for one field only.

    Raises ``UserError`` unless its index covers all events since a time; None: all that there are.
    """
    field = find_single_field(source, name)
    index = field.find_index(IndexKind.VALUES)
    if index is None:
        known = ", ".join(f.name for f in source.indexed_fields) or "none"
        raise UserError(f"only indexed fields are counted, and {name} of {source.name} is not; indexed are {known}")
    since, _ = clip_range(since, None)
    if not field.is_covered(since) and not (since is None and _is_covered_so_far(reader, field)):
        first = index.covers_from
        covered = f"events since {from_micros(first).isoformat()}" if first < END_OF_TIME else "no events yet"
        raise UserError(
            f"{name} of {source.name} was indexed later than there were events: its index knows {covered}, so the "
            f"range must begin there; a query finds the older ones too"
        )
    return field


def _is_covered_so_far(reader: CountReader, field: Field) -> bool:
    """Returns whether a field's index covers all events that there are."""
    bounds = reader.find_bounds()
    return bounds is None or field.is_covered(bounds[0])
