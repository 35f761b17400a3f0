"""Decides which conditions of a filter the index answers, and makes look-ups of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from watchfloor.schema.errors import InternalError
from watchfloor.schema.filter import tree as f
from watchfloor.schema.source import Source

from .counts import RuleCounts
from .paths import Lookup, LookupKind

MAX_LOOKUPS = 256
"""The largest number of equalities of one filter that are counted and looked up in the index."""
MAX_MULTI_VALUE = 8
"""The same for conditions that many values may satisfy, for example ranges and patterns."""


def flatten_root(tree: f.Filter) -> f.Filter:
    """Returns ``tree`` without ands directly under a root ``and``: their children move to the root. So for ``or``."""
    if not isinstance(tree, (f.And, f.Or)):
        return tree
    return type(tree)(tuple(_list_children(tree, type(tree))))


def _list_children(tree: f.Filter, kind: type[f.And] | type[f.Or]) -> Iterator[f.Filter]:
    """Yields the children of a node of ``kind``, and for children of that kind their children; else yields ``tree``."""
    if isinstance(tree, (f.And, f.Or)) and isinstance(tree, kind):
        for child in tree.children:
            yield from _list_children(child, kind)
    else:
        yield tree


def list_conjuncts(tree: f.Filter | None) -> tuple[f.Filter, ...]:
    """Returns the filters that must all hold: the children of a root ``and``, or else the root itself; () for None."""
    if tree is None:
        return ()
    return tree.children if isinstance(tree, f.And) else (tree,)


def join_conjuncts(children: tuple[f.Filter, ...] | list[f.Filter]) -> f.Filter | None:
    """Returns the ``and`` of several filters, a single filter as it is, and None for no filters."""
    if len(children) > 1:
        return f.And(tuple(children))
    return children[0] if children else None


def find_lookup_kind(tree: f.Filter, source: Source) -> LookupKind | None:
    """Returns the kind of look-up by which the index answers a single condition; None if it cannot.

    Lists are indexed by their elements. An event with an empty list has no index entries, like an event without the
    list, so the index does not answer ``exists`` of a list.
    """
    if isinstance(tree, (f.And, f.Or, f.Not, f.In, f.ExpressionTest, f.ExpressionCompare)):
        return None
    if not (field := source.find_field(tree.field)).is_indexed:
        return None
    match tree:
        case f.Compare(_, op):
            return "value" if op == "=" else None if op == "!=" else "range"
        case f.InList() | f.InQuery():
            return "list"
        case f.Between() | f.Cidr() | f.Prefix():
            return "range"
        case f.Wildcard(_, pattern):
            start, end, between = f.find_literal_ends(pattern)
            if not start and end and field.is_reversed:
                return "suffix"
            return "range" if between == "*" and not end else "values"
        case f.Exists():
            return None if field.is_list else "values"
        case f.Matches():
            return "values"


def is_indexed_equality(tree: f.Filter, source: Source) -> TypeGuard[f.Compare]:
    """Returns True if ``tree`` is an equality on an indexed field."""
    return find_lookup_kind(tree, source) == "value"


def list_alternatives(tree: f.Filter, source: Source) -> tuple[f.Compare, ...]:
    """Returns equalities whose ``or`` is ``tree``: those of an equality, a list of values, or an ``or`` of these.

    Returns an empty tuple if ``tree`` is another filter, if the index cannot answer one of the equalities, or if there
    are more than ``MAX_LOOKUPS``.
    """
    match tree:
        case f.Compare():
            terms: tuple[f.Compare, ...] = (tree,)
        case f.In(field, values):
            terms = tuple(f.Compare(field, "=", value) for value in values)
        case f.Or(children):
            parts = [list_alternatives(child, source) for child in children]
            terms = tuple(term for part in parts for term in part) if all(parts) else ()
        case _:
            return ()
    return terms if len(terms) <= MAX_LOOKUPS and all(is_indexed_equality(t, source) for t in terms) else ()


def make_equality_lookup(tree: f.Compare, counts: RuleCounts) -> Lookup:
    """Returns the look-up of an equality on an indexed field.

    Raises ``InternalError`` if the equality was not counted: the index counts every equality.
    """
    count = counts.read_count(tree)
    if count is None:
        raise InternalError(f"{tree.field} = … was not counted, though the index counts all equalities")
    return Lookup(tree, "value", count.events, counts.counts.share_of_total(count.events), count.places, count.entries)


def make_lookup(tree: f.Condition, source: Source, counts: RuleCounts) -> Lookup | None:
    """Returns the look-up of a condition; None if it has more index entries than are worth reading.

    The index must be able to answer the condition (``find_lookup_kind``).
    """
    kind = find_lookup_kind(tree, source)
    if kind == "value":
        assert isinstance(tree, f.Compare)
        return make_equality_lookup(tree, counts)
    count = None if kind is None else counts.read_count(tree)
    if kind is None or count is None:
        return None
    return Lookup(tree, kind, count.events, counts.counts.share_of_total(count.events), count.places, count.entries)
