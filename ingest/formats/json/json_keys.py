"""Tells the source of JSON lines by the keys that a definition names (``parser.keys``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from watchfloor.schema.source import Source

from .json_columns import find_values, to_text
from .json_values import Record

Key = str | Sequence[str] | Mapping[str, str | Sequence[str]]
"""A path that a line must have, several of which it must have one, or paths whose values must be among texts, in which
``*`` stands for any text."""


def find_by_keys(records: Sequence[Record], sources: Iterable[Source], is_fallback: bool = False) -> list[Source]:
    """Returns the JSON sources that have most of the records by their keys, of several those that name most keys.

    Only sources are asked whose definition's ``fallback`` is ``is_fallback``.
    """
    counts: dict[str, int] = {}
    fitting = []
    for source in sources:
        keys = source.parser.get("keys") if source.parser["format"] == "json" else None
        if source.parser.get("fallback", False) is not is_fallback:
            continue
        if keys and 2 * sum(has_keys(record, keys) for record in records) > len(records):
            counts[source.name] = sum(2 * len(key) if isinstance(key, Mapping) else 1 for key in keys)
            fitting.append(source)
    most = max(counts.values(), default=0)
    return [source for source in fitting if counts[source.name] == most]


def has_keys(record: Record, keys: Iterable[Key]) -> bool:
    """Returns True if a record has all keys, with the values that are told."""
    return all(_has_key(record, key) for key in keys)


def _has_key(record: Record, key: Key) -> bool:
    if isinstance(key, Mapping):
        return all(_is_among(record, *told) for told in key.items())
    return any(_has_value(record, path) for path in ([key] if isinstance(key, str) else key))


def _has_value(record: Record, path: str) -> bool:
    return any(True for _ in find_values(record, path))


def _is_among(record: Record, path: str, told: str | Sequence[str]) -> bool:
    patterns = [told] if isinstance(told, str) else told
    values: Iterable[Any] = find_values(record, path)
    return any(fnmatchcase(to_text(value) or "", pattern) for value in values for pattern in patterns)
