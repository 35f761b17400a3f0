"""Checks stats against a source: every name must stand for one field, and every function must fit its field's type."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from watchfloor.schema.errors import FilterError, suggest_names
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.expressions.nodes import Expression, FieldValue, walk
from watchfloor.schema.filter.names import ANY, find_single_field
from watchfloor.schema.filter.type_tree import TreeTyper
from watchfloor.schema.filter.value_list import FilterCatalog
from watchfloor.schema.source import Source
from watchfloor.schema.text import join_words, shorten, shorten_value

from . import tree as s
from .json_form import from_json
from .parse import ParsedStats, PartPlace, parse_stats_with_places
from .print import format_aggregate, format_key, format_stage

_NUMBERS = (FieldType.INT, FieldType.FLOAT, FieldType.PORT)
TAKEN_TYPES: Mapping[str, tuple[FieldType, ...]] = {
    "sum": _NUMBERS,
    "avg": _NUMBERS,
    "quantile": _NUMBERS,
    "prefix": (FieldType.IP,),
}
"""The types of the values that a function or a key takes; others take all types."""


@dataclass(frozen=True)
class TypedStats:
    """Typed stats, whose names are all names of fields; ``schema`` has the columns of their answer.

    ``meanings`` are the fields that each ECS name and each kind of the untyped stats stands for in them.
    """

    stats: s.Stats
    schema: pa.Schema
    meanings: Mapping[str, tuple[str, ...]]


def read_stats(
    stats: str | Mapping[str, Any], source: Source, now: int | None = None, catalog: FilterCatalog | None = None
) -> TypedStats:
    """Returns the typed form of stats as text or in JSON form. Raises ``FilterError``.

    ``now`` (µs since 1970 UTC; default: the clock) is the moment that relative times in filters count from. ``catalog``
    has the lists that the filters of ``count_if`` may name.
    """
    if isinstance(stats, str):
        return _StatsTyper(parse_stats_with_places(stats), source, stats, now, catalog).type_stats()
    return _StatsTyper(ParsedStats(from_json(stats)), source, "", now, catalog).type_stats()


def type_stats(tree: s.Stats, source: Source, now: int | None = None) -> TypedStats:
    """Returns the typed form of a tree; a typed tree comes back equal. Raises ``FilterError`` that shows the part."""
    return _StatsTyper(ParsedStats(tree), source, "", now).type_stats()


def list_columns(stats: s.Stats, source: Source) -> tuple[Field, ...]:
    """Returns the columns of the answer to typed stats as fields: first the keys, then the aggregates."""
    keys = (_type_key_column(key, source) for key in stats.keys)
    return (*keys, *(_type_aggregate_column(aggregate, source) for aggregate in stats.aggregates))


class _StatsTyper:
    """Types stats in the order of their text. Errors point to ``text``, or show the part if there is none."""

    def __init__(
        self,
        parsed: ParsedStats,
        source: Source,
        text: str,
        now: int | None,
        catalog: FilterCatalog | None = None,
    ) -> None:
        self.parsed, self.source, self.text, self.catalog = parsed, source, text, catalog
        self.now = time.time_ns() // 1000 if now is None else now
        self._meanings: dict[str, dict[str, None]] = {}

    def type_stats(self) -> TypedStats:
        """Returns the typed stats; raises ``FilterError`` if they do not fit the source."""
        tree, parsed = self.parsed.tree, self.parsed
        filters = self.open_typer(self.source, parsed.aggregates)
        places = parsed.aggregates or (None,) * len(tree.aggregates)
        aggregates = tuple(
            self.type_aggregate(aggregate, place, filters)
            for aggregate, place in zip(tree.aggregates, places, strict=True)
        )
        key_places = parsed.keys or (None,) * len(tree.keys)
        keys = tuple(self.type_key(key, place) for key, place in zip(tree.keys, key_places, strict=True))
        typed = s.Stats(aggregates, keys)
        columns = list_columns(typed, self.source)
        typed = replace(typed, stages=self.type_stages(columns))
        for name, fields in filters.list_meanings().items():
            self._meanings.setdefault(name, {}).update(dict.fromkeys(fields))
        meanings = {name: tuple(fields) for name, fields in self._meanings.items()}
        return TypedStats(typed, pa.schema([pa.field(column.name, column.arrow) for column in columns]), meanings)

    def open_typer(self, source: Source, places: Iterable[PartPlace]) -> TreeTyper:
        """Returns a typer of the filters at ``places``, in their order; the filters' bounds hold for all together."""
        conditions = tuple(condition for place in places for condition in place.conditions)
        return TreeTyper(source, self.text, conditions, self.now, self.catalog)

    def type_aggregate(self, aggregate: s.Aggregate, place: PartPlace | None, filters: TreeTyper) -> s.Aggregate:
        """Returns an aggregate with the names of fields; raises ``FilterError`` if its function does not fit."""
        where = None if aggregate.where is None else filters.type_node(aggregate.where, 1)
        field = aggregate.field
        if field is not None:
            field = self.find_field(field, aggregate.function, place, format_aggregate(aggregate))
        return replace(aggregate, field=field, where=where)

    def type_key(self, key: s.Key, place: PartPlace | None) -> s.Key:
        """Returns a key with the name of a field; raises ``FilterError`` if it does not fit the field."""
        if isinstance(key, s.BucketKey):
            return key
        function = "prefix" if isinstance(key, s.PrefixKey) else ""
        return replace(key, field=self.find_field(key.field, function, place, format_key(key)))

    def find_field(self, name: str, function: str, place: PartPlace | None, shown: str) -> str:
        """Returns the name of the field that ``name`` stands for in ``function``, in the part that is ``shown``.

        Raises ``FilterError`` if it stands for none or several, or if the function does not take its type.
        """
        field = find_single_field(self.source, name, self.text, place.position if place else 0)
        taken = TAKEN_TYPES.get(function)
        if taken is not None and field.scalar not in taken:
            article = "an" if field.type_name[0] in "aeiou" else "a"
            takes = join_words([scalar.value for scalar in taken])
            reason = f"field {field.name} is {article} {field.type_name}: {function} takes {takes}"
            raise self.make_error(reason, place, shown)
        if name not in self.source.fields_by_name:
            self._meanings.setdefault(name, {})[field.name] = None
        return field.name

    def type_stages(self, columns: tuple[Field, ...]) -> tuple[s.Stage, ...]:
        """Returns the stages with typed filters; raises ``FilterError`` if they do not fit the columns."""
        known = [column.name for column in columns]
        parsed = self.parsed
        rows = self.open_typer(_make_answer_source(columns), (place for stage in parsed.stages for place in stage))
        places = parsed.stages or ((),) * len(parsed.tree.stages)
        typed: list[s.Stage] = []
        for stage, parts in zip(parsed.tree.stages, places, strict=True):
            shown = format_stage(stage)
            match stage:
                case s.Sort(orders):
                    for index, order in enumerate(orders):
                        place = parts[index] if parts else None
                        self.check_column(order.column, known, place, shown)
                        if columns[known.index(order.column)].is_list:
                            raise self.make_error(f"{order.column} is a list, and lists have no order", place, shown)
                case s.Having(where):
                    conditions = parts[0].conditions if parts else ()
                    for index, names in enumerate(_list_names(where)):
                        at = conditions[index] if conditions else None
                        for node, name in names.items():
                            place = PartPlace(at.parts[node] if at.parts else at.field) if at else None
                            self.check_column(name, (*known, ANY), place, shown)
                    stage = s.Having(rows.type_node(where, 1))
            typed.append(stage)
        return tuple(typed)

    def check_column(self, name: str, known: Sequence[str], place: PartPlace | None, shown: str) -> None:
        """Raises ``FilterError`` with near names if the answer has no column of a name."""
        if name not in known:
            message = f"the answer has no column {shorten_value(name)}{suggest_names(name[:200], known)}"
            raise self.make_error(message, place, shown)

    def make_error(self, reason: str, place: PartPlace | None, shown: str) -> FilterError:
        """Returns the error for a reason, at its place in the text, or with the part that is ``shown``."""
        if place is None:
            return FilterError(f"{reason} (in: {shorten(shown, 200)})")
        return FilterError(reason, self.text, place.position)


def _type_key_column(key: s.Key, source: Source) -> Field:
    """Returns the column of a key of typed stats."""
    match key:
        case s.FieldKey(name, field):
            return Field(name, source.find_field(field).scalar)
        case s.BucketKey(name):
            return Field(name, FieldType.TIME)
        case s.PrefixKey(name):
            return Field(name, FieldType.STRING)


def _type_aggregate_column(aggregate: s.Aggregate, source: Source) -> Field:
    """Returns the column of an aggregate of typed stats."""
    name = aggregate.name
    if aggregate.field is None or aggregate.function in ("count", "distinct"):
        return Field(name, FieldType.INT)
    if aggregate.function == "avg":
        return Field(name, FieldType.FLOAT)
    scalar = source.find_field(aggregate.field).scalar
    if aggregate.function == "values":
        return Field(name, FieldType.LIST, items=scalar)
    if aggregate.function == "sum" and scalar is not FieldType.FLOAT:
        return Field(name, FieldType.INT)
    return Field(name, scalar)


def _make_answer_source(columns: tuple[Field, ...]) -> Source:
    """Returns a source that has the columns of an answer as fields; filters over columns are typed against it."""
    return Source("answer", "", columns, "", "", {}, "", "", 1, "", {})


def _list_names(tree: f.Filter) -> Iterable[Mapping[int, str]]:
    """Yields for each condition of a filter, left to right, its names by the numbers of their expressions' nodes."""
    match tree:
        case f.And(children) | f.Or(children):
            for child in children:
                yield from _list_names(child)
        case f.Not(child):
            yield from _list_names(child)
        case f.ExpressionTest(expression):
            yield _number_names(walk(expression))
        case f.ExpressionCompare(left, _, right):
            yield _number_names((*walk(left), *walk(right)))
        case _:
            yield {0: tree.field}


def _number_names(nodes: Iterable[Expression]) -> dict[int, str]:
    return {number: node.name for number, node in enumerate(nodes) if isinstance(node, FieldValue)}
