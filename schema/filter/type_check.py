"""Checks a filter against a source: every name must stand for fields, and values get their fields' types."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from watchfloor.schema.source import Same, Source

from . import tree as f
from .json_form import from_json
from .parse import ConditionPlace, parse_with_places
from .type_tree import TreeTyper
from .value_list import FilterCatalog


@dataclass(frozen=True)
class TypedFilter:
    """A typed tree, whose names are all names of fields.

    ``meanings`` are the fields that each ECS name and each kind of the untyped tree stands for in it. If ``is_kept``,
    the same text gets the same object the next time.
    """

    tree: f.Filter
    meanings: Mapping[str, tuple[str, ...]]
    is_kept: bool = False


KEPT_LENGTH = 4096
"""The most characters of a text whose typed filter is kept."""


def read_filter(where: str | Mapping[str, Any] | None, source: Source, now: int | None = None) -> f.Filter | None:
    """Returns the typed tree of a filter as text or in JSON form; None for no filter. Raises ``FilterError``.

    ``now`` (µs since 1970 UTC; default: the clock) is the moment that relative times count from.
    """
    typed = read_typed_filter(where, source, now)
    return None if typed is None else typed.tree


def read_typed_filter(
    where: str | Mapping[str, Any] | None,
    source: Source,
    now: int | None = None,
    catalog: FilterCatalog | None = None,
) -> TypedFilter | None:
    """Returns as ``read_filter`` does, together with the fields that ECS names and kinds in the filter stand for.

    Without a ``catalog`` the filter may name no list and have no query in it.
    """
    if where is None:
        return None
    if isinstance(where, str) and len(where) <= KEPT_LENGTH and (kept := _type_once(where, Same(source))):
        return kept
    tree = read_tree(where)
    typer = _open_typer(tree, source, where if isinstance(where, str) else "", now, catalog)
    return TypedFilter(typer.type_node(tree, 1), typer.list_meanings())


@lru_cache(maxsize=256)
def _type_once(text: str, source: Same[Source]) -> TypedFilter | None:
    """Returns the typed filter of a text if it depends on nothing else: not on the time, and on no list; else None."""
    tree = read_tree(text)
    typer = _open_typer(tree, source.value, text, None)
    if not all(isinstance(one, _PLAIN) for one in f.list_conditions(tree)):
        return None
    typed = typer.type_node(tree, 1)
    for one in f.list_conditions(typed):
        if not isinstance(one, _PLAIN) or any(isinstance(value, datetime) for value in f.list_values(one)):
            return None
    return TypedFilter(typed, typer.list_meanings(), is_kept=True)


_PLAIN = (f.Compare, f.In, f.Between, f.Cidr, f.Prefix, f.Matches, f.Wildcard, f.Exists)


def read_tree(where: str | Mapping[str, Any]) -> f.Filter:
    """Returns the untyped tree of a filter as text or in JSON form. Raises ``FilterError``."""
    return parse_with_places(where).tree if isinstance(where, str) else from_json(where)


def type_filter(tree: f.Filter, source: Source, text: str = "", now: int | None = None) -> f.Filter:
    """Returns ``tree`` with each value converted to its field's type; a typed tree comes back equal.

    A condition on an ECS name or a kind becomes an ``or`` of the same condition on each field that it stands for; with
    ``!=``, which is ``not =``, an ``and``. Fields of types that the condition does not fit are left out if it fits any.
    A comparison whose value cannot be of the left side's type, but is the name of a field, compares with that field.

    ``text`` is the text that ``tree`` was parsed from. If it is given, errors show the place in it; otherwise they show
    the condition.
    ``now`` is as for ``read_filter``. Raises ``FilterError`` (unknown fields: ``UnknownFieldError``) that names field,
    type and value.
    """
    return _open_typer(tree, source, text, now).type_node(tree, 1)


def _open_typer(
    tree: f.Filter, source: Source, text: str, now: int | None, catalog: FilterCatalog | None = None
) -> TreeTyper:
    """Returns a typer for ``tree``, which finds its places in ``text`` if that is the tree's."""
    places: tuple[ConditionPlace, ...] = ()
    if text:
        parsed = parse_with_places(text)
        places = parsed.places if parsed.tree == tree else ()
    return TreeTyper(source, text, places, time.time_ns() // 1000 if now is None else now, catalog)
