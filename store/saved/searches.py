"""Saved searches: JSON objects by owner and name, a row each in the table ``watchfloor.searches``.

Row = owner, a zero byte and the name; one cell. An owner has a bounded number of searches of bounded size.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from watchfloor.schema.errors import UnknownSearchError, UserError
from watchfloor.store.admin.tables import SEARCHES_TABLE, delete_rows
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.store import Store

MAX_BYTES = 16 << 10
"""The most bytes of a search as JSON."""
MAX_SEARCHES = 200
"""The most searches of an owner."""
_QUALIFIER = b"search"


@dataclass(frozen=True)
class SavedSearch:
    """A search as it was saved at a time (µs)."""

    name: str
    search: Mapping[str, Any]
    saved: int


def read_searches(store: Store, owner: str) -> list[SavedSearch]:
    """Returns the searches of an owner, by name."""
    ranges = Ranges()
    ranges.add_prefix(_make_row(owner, ""))
    return sorted(_scan(store, owner, ranges), key=lambda saved: saved.name)


def find_search(store: Store, owner: str, name: str) -> SavedSearch:
    """Returns a search of an owner. Raises ``UnknownSearchError``."""
    ranges = Ranges()
    ranges.add_row(_make_row(owner, name))
    for saved in _scan(store, owner, ranges):
        return saved
    raise UnknownSearchError


def put_search(store: Store, owner: str, name: str, search: Mapping[str, Any]) -> SavedSearch:
    """Saves a search durably, in the place of one of the same name.

    Raises ``UserError`` if it is too large, ``NoRoomError``.
    """
    saved = SavedSearch(name, search, time.time_ns() // 1000)
    size = len(orjson.dumps(search))
    if size > MAX_BYTES:
        raise UserError(f"this search has {size:,} bytes as JSON; at most {MAX_BYTES:,} are kept")
    store.check_room()
    known = {other.name for other in read_searches(store, owner)}
    if name not in known and len(known) >= MAX_SEARCHES:
        raise UserError(f"there are {len(known)} saved searches, and no more are kept; remove one")
    content = orjson.dumps({"search": search, "saved": saved.saved})
    store.put(SEARCHES_TABLE, [(_make_row(owner, name), b"", _QUALIFIER, content)])
    return saved


def remove_search(store: Store, owner: str, name: str) -> None:
    """Removes a search of an owner. Raises ``UnknownSearchError``."""
    find_search(store, owner, name)
    delete_rows(store.connection, SEARCHES_TABLE, [_make_row(owner, name)])


def _make_row(owner: str, name: str) -> bytes:
    return f"{owner}\0{name}".encode()


def _scan(store: Store, owner: str, ranges: Ranges) -> Iterator[SavedSearch]:
    for batch in store.scan(EntryScan(SEARCHES_TABLE, ranges)):
        for row, value in zip(batch.column("row").to_pylist(), batch.column("value").to_pylist(), strict=True):
            yield SavedSearch(row.decode()[len(owner) + 1 :], **orjson.loads(value))
