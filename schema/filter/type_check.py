"""An untyped filter tree + a source → a typed tree: every field exists, every value is of its field's type."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from watchfloor.schema.errors import FilterError, TimeRangeError, UnknownFieldError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.source import Source

from .json_form import from_json
from .parse import Place, check_depth, check_terms, parse
from .patterns import MAX_PATTERNS, check_regex, check_wildcard, cost_of
from .print import to_text, value_text
from .tree import (
    COMPARISONS,
    And,
    Between,
    Cidr,
    Compare,
    Condition,
    Exists,
    Filter,
    In,
    Matches,
    Not,
    Or,
    Prefix,
    Value,
    Wildcard,
)
from .values import convert, network_of, rank

MAX_VALUES = 1_048_576
"""Characters in all values of a filter together; only a filter in JSON can have so many."""


def typed_filter(where: str | Mapping[str, Any] | None, source: Source, now: int | None = None) -> Filter | None:
    """The typed tree of a request's ``where``: text, JSON form, or None for no filter. Raises ``FilterError``."""
    if where is None:
        return None
    if isinstance(where, str):
        return type_filter(parse(where).tree, source, where, now)
    return type_filter(from_json(where), source, now=now)


def type_filter(tree: Filter, source: Source, text: str = "", now: int | None = None) -> Filter:
    """``tree`` with each value converted to its field's type; a typed tree comes back equal.

    ``text`` is what the tree was parsed from, if anything: errors then show the place in it, and else the condition.
    ``now`` (µs since 1970 UTC; default: the clock) is what relative times count from. Raises ``FilterError`` (unknown
    fields: ``UnknownFieldError``) naming field, type and value.
    """
    places: tuple[Place, ...] = ()
    if text:
        parsed = parse(text)
        places = parsed.places if parsed.tree == tree else ()
    return _Typer(source, text, places, time.time_ns() // 1000 if now is None else now).walk(tree, 1)


class _Typer:
    """One walk over one tree; conditions are met in the order of the text, so the next place is always known."""

    def __init__(self, source: Source, text: str, places: tuple[Place, ...], now: int) -> None:
        self.source, self.text, self.now = source, text, now
        self.places = iter(places)
        self.terms = self.patterns = self.characters = 0

    def walk(self, tree: Filter, depth: int) -> Filter:
        check_depth(depth)
        if isinstance(tree, (And, Or)):
            return type(tree)(tuple(self.walk(child, depth + 1) for child in tree.children))
        if isinstance(tree, Not):
            return Not(self.walk(tree.child, depth + 1))
        condition = _Condition(self, tree, next(self.places, None))
        self.terms += len(tree.values) if isinstance(tree, In) else 1
        check_terms(self.terms)
        self.characters += sum(len(value) for value in _values(tree) if isinstance(value, str))
        if self.characters > MAX_VALUES:
            raise condition.error(f"with it the filter's values have more than {MAX_VALUES:,} characters")
        typed = condition.typed()
        self.patterns += cost_of(tree)
        if self.patterns > MAX_PATTERNS:
            written = f"{self.patterns:,} characters, counted repeats written out"
            raise condition.error(f"with it the filter's patterns have {written}; at most {MAX_PATTERNS:,} are allowed")
        return typed


def _values(tree: Condition) -> tuple[Value, ...]:
    match tree:
        case Compare(_, _, value):
            return (value,)
        case In(_, values):
            return values
        case Between(_, low, high):
            return low, high
        case Prefix(_, text) | Matches(_, text, _) | Wildcard(_, text):
            return (text,)
    return ()


class _Condition:
    """Types one condition; knows where to point when it does not fit."""

    def __init__(self, typer: _Typer, tree: Condition, place: Place | None) -> None:
        self.typer, self.tree, self.place = typer, tree, place
        source = typer.source
        if tree.field not in source.fields_by_name:
            position = place.field if place else 0
            text = typer.text if place else ""
            raise UnknownFieldError(tree.field, source.name, source.fields_by_name, text, position)
        self.field: Field = source.fields_by_name[tree.field]

    def typed(self) -> Filter:
        tree, field = self.tree, self.field
        match tree:
            case Compare(_, op, value):
                return Compare(field.name, self.checked_operator(op), self.converted(value, 0))
            case In():
                return self.member(tree)
            case Between(_, low, high):
                return self.between(self.converted(low, 0), self.converted(high, 1))
            case Cidr():
                self.require(FieldType.IP, "a network fits addresses only")
            case Prefix(_, prefix):
                self.require(FieldType.STRING, "startswith fits strings only")
                self.converted(prefix, 0)
            case Matches(_, pattern, ignore_case):
                self.require(FieldType.STRING, "a pattern fits strings only")
                self.converted(pattern, 0)
                self.trouble(check_regex(pattern, ignore_case))
            case Wildcard(_, pattern):
                self.require(FieldType.STRING, "wildcards, endswith and contains fit strings only")
                self.converted(pattern, 0)
                self.trouble(check_wildcard(pattern))
            case Exists():
                pass
        return tree

    def member(self, tree: In) -> Filter:
        """An in-list; networks listed among addresses become conditions of their own."""
        if self.field.scalar is not FieldType.IP:
            return In(tree.field, tuple(self.converted(value, i) for i, value in enumerate(tree.values)))
        networks: list[Filter] = []
        addresses: list[Value] = []
        for i, value in enumerate(tree.values):
            network = network_of(value)
            if network is None:
                addresses.append(self.converted(value, i))
            else:
                networks.append(Cidr(tree.field, network))
        parts = [*networks, *([In(tree.field, tuple(addresses))] if addresses else [])]
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def between(self, low: Value, high: Value) -> Filter:
        if self.field.scalar is FieldType.BOOL:
            raise self.error("a bool has no order, so a range does not fit")
        if rank(low) > rank(high):  # type: ignore[operator]
            raise self.error(f"the range is empty: {value_text(low)} is above {value_text(high)}")
        return Between(self.field.name, low, high)

    def checked_operator(self, op: str) -> str:
        if op not in COMPARISONS:
            raise self.error(f"unknown operator {op!r}; known are {' '.join(COMPARISONS)}")
        if self.field.scalar is FieldType.BOOL and op not in ("=", "!="):
            raise self.error(f"a bool has no order, so {op} does not fit")
        return op

    def converted(self, value: Value, index: int) -> Value:
        try:
            return convert(value, self.field.scalar, self.typer.now)
        except (ValueError, TimeRangeError) as error:
            raise self.error(str(error), index) from None

    def require(self, scalar: FieldType, reason: str) -> None:
        if self.field.scalar is not scalar:
            raise self.error(reason)

    def trouble(self, reason: str) -> None:
        if reason:
            raise self.error(reason)

    def error(self, reason: str, index: int = 0) -> FilterError:
        kind = self.field.type_name
        message = f"field {self.field.name} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}: {reason}"
        if self.place is None:
            return FilterError(f"{message} (in: {to_text(self.tree)[:200]})")
        return FilterError(message, self.typer.text, self.place.values[index])
