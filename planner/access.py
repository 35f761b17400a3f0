"""Access paths: where the events that a plan reads come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard, Union

from watchfloor.schema.filter import And, Compare, Filter, In, Or, Value
from watchfloor.schema.source import Source

from .counts import Counts
from .text import field_text, value_text

MOST_MEMBERS = 256
"""Values of lists that are looked up in the index; of more the servers filter."""


@dataclass(frozen=True)
class Equality:
    """``field = value`` on an indexed field, with its count (None: not known) and density in the time range."""

    field: str
    value: Value
    count: int | None
    density: float

    @property
    def text(self) -> str:
        return f"{field_text(self.field)} = {value_text(self.value)}"


@dataclass(frozen=True)
class Scan:
    """Every event of the time range is read, and the residual evaluated on it, on the tablet servers."""


@dataclass(frozen=True)
class IndexUnion:
    """Index scans of all terms; an event found by any of them is fetched."""

    terms: tuple[Equality, ...]


@dataclass(frozen=True)
class IndexIntersection:
    """Index scans of all terms; an event found by each of them is fetched."""

    terms: tuple[Equality, ...]


Access = Union[Scan, IndexUnion, IndexIntersection]


def flatten(tree: Filter) -> Filter:
    """``tree`` with ands directly under a root ``and`` pulled into it, and ors under a root ``or``."""
    if not isinstance(tree, (And, Or)):
        return tree
    return type(tree)(tuple(_pulled(tree, type(tree))))


def _pulled(tree: Filter, kind: type[And] | type[Or]) -> Iterator[Filter]:
    if isinstance(tree, (And, Or)) and isinstance(tree, kind):
        for child in tree.children:
            yield from _pulled(child, kind)
    else:
        yield tree


def is_indexed_equality(tree: Filter, source: Source) -> TypeGuard[Compare]:
    """Whether the index can answer ``tree`` by itself: an equality on an indexed field (lists: per element)."""
    return isinstance(tree, Compare) and tree.op == "=" and source.field(tree.field).indexed


def alternatives(tree: Filter, source: Source) -> tuple[Compare, ...]:
    """The equalities of which one must hold: those of a list of values, or of an ``or`` of lists and equalities.

    Nothing if the index cannot answer one of them, or if they are more than ``MOST_MEMBERS``.
    """
    match tree:
        case Compare():
            terms: tuple[Compare, ...] = (tree,)
        case In(field, values):
            terms = tuple(Compare(field, "=", value) for value in values)
        case Or(children):
            parts = [alternatives(child, source) for child in children]
            terms = tuple(term for part in parts for term in part) if all(parts) else ()
        case _:
            return ()
    return terms if len(terms) <= MOST_MEMBERS and all(is_indexed_equality(t, source) for t in terms) else ()


def equalities(tree: Filter | None, source: Source) -> tuple[tuple[str, Value], ...]:
    """The (field, value) pairs whose counts a plan for ``tree`` may ask for, each once: read them in one go."""
    if tree is None:
        return ()
    root = flatten(tree)
    children = root.children if isinstance(root, (And, Or)) else (root,)
    found = [child for child in children if is_indexed_equality(child, source)]
    if not found or isinstance(root, Or):
        # Lists are asked about only where no equality leads to the events by itself.
        found = [term for child in children for term in alternatives(child, source)]
    return tuple(dict.fromkeys((term.field, term.value) for term in found))


def equality(tree: Compare, counts: Counts) -> Equality:
    """``tree`` with its density. A count that nobody knows is taken as all events: the index may only lose by it."""
    count = counts.count(tree.field, tree.value)
    if count is None:
        return Equality(tree.field, tree.value, None, 1.0)
    return Equality(tree.field, tree.value, count, min(1.0, count / counts.total) if counts.total else 0.0)
