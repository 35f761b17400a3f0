"""The use of the index: which conditions it answers, how, and the look-ups that are made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from watchfloor.schema.errors import InternalError
from watchfloor.schema.filter import tree as f
from watchfloor.schema.source import Source

from .counts import RuleCounts
from .paths import Lookup, LookupKind

MAX_LOOKUPS = 256
"""The most equalities of one filter that are counted and looked up in the index; the servers filter by the others."""
MAX_MULTI_VALUE = 8
"""The most conditions of many values (ranges, patterns, …) of one filter that are counted and looked up."""


def flatten_root(tree: f.Filter) -> f.Filter:
    """Returns ``tree`` with ands directly under a root ``and`` pulled into it, and ors under a root ``or``."""
    if not isinstance(tree, (f.And, f.Or)):
        return tree
    return type(tree)(tuple(_list_children(tree, type(tree))))


def _list_children(tree: f.Filter, kind: type[f.And] | type[f.Or]) -> Iterator[f.Filter]:
    if isinstance(tree, (f.And, f.Or)) and isinstance(tree, kind):
        for child in tree.children:
            yield from _list_children(child, kind)
    else:
        yield tree


def list_conjuncts(tree: f.Filter | None) -> tuple[f.Filter, ...]:
    """Returns the filters that must all hold: the children of a root ``and``, else the root itself."""
    if tree is None:
        return ()
    return tree.children if isinstance(tree, f.And) else (tree,)


def join_conjuncts(children: tuple[f.Filter, ...] | list[f.Filter]) -> f.Filter | None:
    """Returns the ``and`` of some filters; the filter itself of one, None of none."""
    if len(children) > 1:
        return f.And(tuple(children))
    return children[0] if children else None


def find_lookup_kind(tree: f.Filter, source: Source) -> LookupKind | None:
    """Returns how the index answers a single condition; None if it cannot.

    Lists are indexed by their elements. The index does not tell an event with an empty list from one without the
    list, so it does not answer ``exists`` of a list.
    """
    if isinstance(tree, (f.And, f.Or, f.Not, f.In)) or not (field := source.find_field(tree.field)).is_indexed:
        return None
    match tree:
        case f.Compare(_, op):
            return "value" if op == "=" else None if op == "!=" else "range"
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
    """Returns True for an equality on an indexed field."""
    return find_lookup_kind(tree, source) == "value"


def list_alternatives(tree: f.Filter, source: Source) -> tuple[f.Compare, ...]:
    """Returns the equalities of which one must hold: of a list of values, or of an ``or`` of lists and equalities.

    Returns nothing if the index cannot answer one of them, or if there are more than ``MAX_LOOKUPS``.
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

    Raises ``InternalError`` if the equality has no count: the index always has one.
    """
    count = counts.read_count(tree)
    if count is None:
        raise InternalError(f"{tree.field} = … was not counted, though the index counts all equalities")
    return Lookup(tree, "value", count.events, counts.counts.share_of_total(count.events), count.places, count.entries)


def make_lookup(tree: f.Condition, source: Source, counts: RuleCounts) -> Lookup | None:
    """Returns the look-up of a condition; None if the index has more entries of it than are worth reading.

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
