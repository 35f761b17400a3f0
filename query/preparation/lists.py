"""The lists that one query names, each in one version, and what a cursor keeps of them.

A cursor of a query with lists, or with queries within its filter, has a second part: the time range that the query was
asked for, the versions of its lists by their names, and digests of what the queries within found, by their text. So
each page is of the same values, or is refused.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchfloor.schema.errors import UserError
from watchfloor.schema.filter.print import format_query
from watchfloor.schema.filter.tree import Filter, InList, InQuery, list_tests, list_value_lists
from watchfloor.schema.filter.type_check import read_tree
from watchfloor.schema.filter.value_list import ValueList
from watchfloor.schema.source import Source
from watchfloor.schema.text import format_number
from watchfloor.schema.times import clip_range, format_micros
from watchfloor.store.catalog import Catalog

_MARK = "."
_OPEN = (1 << 64) - 1
"""Stands for an open end of a time range."""
DAMAGED = "the cursor is damaged; give it exactly as it was given to you"


@dataclass(frozen=True)
class ListPins:
    """The time range [since, until) (µs; None: open) for which a query was asked, and the ``versions`` of its lists.

    Versions are those of named lists by their names, then those of what queries within the filter found. There are none
    before the query has run.
    """

    since: int | None
    until: int | None
    versions: tuple[int, ...] = ()

    def append_to(self, cursor: str, tree: Filter | None) -> str:
        """Returns a cursor with the lists of a typed filter; the cursor itself if it has none."""
        versions = list_versions(tree)
        if not versions:
            return cursor
        ends = [_OPEN if end is None else end for end in (self.since, self.until)]
        content = struct.pack(f">{2 + len(versions)}Q", *ends, *versions)
        content += zlib.crc32(content).to_bytes(4, "big")
        return cursor + _MARK + base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def split_cursor(text: str) -> tuple[str, ListPins | None]:
    """Returns a cursor without its second part, and what that says. Raises ``UserError`` if it is damaged."""
    cursor, mark, rest = text.partition(_MARK)
    if not mark:
        return cursor, None
    try:
        whole = base64.b64decode(rest + "=" * (-len(rest) % 4), b"-_", validate=True)
    except (ValueError, binascii.Error):
        whole = b""
    content, crc = whole[:-4], whole[-4:]
    if len(content) < 24 or len(content) % 8 or crc != zlib.crc32(content).to_bytes(4, "big"):
        raise UserError(DAMAGED)
    first, last, *versions = struct.unpack(f">{len(content) // 8}Q", content)
    since, until = (None if end == _OPEN else end for end in (first, last))
    if (since, until) != clip_range(since, until) or (since is not None and until is not None and since >= until):
        raise UserError(DAMAGED)
    return cursor, ListPins(since, until, tuple(versions))


class QueryLists:
    """Finds the lists and sources that the filter of one query names; the same version of a list every time."""

    def __init__(self, catalog: Catalog, pinned: Mapping[str, int] | None = None) -> None:
        """``pinned`` are the versions by name that a cursor keeps; otherwise a list is in the version in force."""
        self._catalog, self._pinned = catalog, pinned or {}
        self._found: dict[str, ValueList] = {}

    def find_list(self, name: str) -> ValueList:
        if name not in self._found:
            self._found[name] = self._catalog.find_list(name, self._pinned.get(name))
        return self._found[name]

    def find_source(self, name: str) -> Source:
        return self._catalog.find_source(name)


def open_lists(catalog: Catalog, where: str | Mapping[str, Any] | None, cursor: str | None) -> QueryLists:
    """Returns the lists of a filter, in the versions that a cursor keeps. Raises ``UserError`` if it is damaged."""
    pins = None if cursor is None else split_cursor(cursor)[1]
    if pins is None or where is None:
        return QueryLists(catalog)
    names = sorted({condition.name for condition in list_tests(read_tree(where)) if isinstance(condition, InList)})
    return QueryLists(catalog, dict(zip(names, pins.versions, strict=False)))


def list_versions(tree: Filter | None) -> tuple[int, ...]:
    """Returns the versions of the lists of a typed filter, in the order of ``ListPins``."""
    conditions = tuple(list_tests(tree))
    named = {c.name: c.values for c in conditions if isinstance(c, InList)}
    found = {format_query(c): c.values for c in conditions if isinstance(c, InQuery)}
    every = [*(named[name] for name in sorted(named)), *(found[text] for text in sorted(found))]
    return tuple(values.version for values in every if values is not None)


def check_pins(pins: ListPins, tree: Filter | None) -> None:
    """Raises ``UserError`` if the lists of a typed filter are not those that a cursor keeps."""
    if pins.versions and pins.versions != list_versions(tree):
        raise UserError(
            "what the query within the filter finds has changed since the first page; ask again without the cursor"
        )


def describe_lists(tree: Filter | None) -> tuple[str, ...]:
    """Returns a sentence for each list of a typed filter: its version and the number of its values."""
    queries = {c.values for c in list_tests(tree) if isinstance(c, InQuery)}
    sentences = []
    for values in list_value_lists(tree):
        count = format_number(values.count, "value")
        if values in queries:
            sentences.append(f"({values.name}) has found {count}")
        else:
            sentences.append(f"@{values.name} is the list put at {format_micros(values.version)}, with {count}")
    return tuple(sentences)
