"""Cursors: text by which a client continues a query after the last row that it got. No server keeps any state.

    version (1 byte) · key of the last row (16) · start of the time range, µs (8) · its end, if the query has a sort (8)
    · digest of the query (8) · name of the last row's source, if the query is of several · CRC-32 (4)

The bytes are written in URL-safe base64 without padding. The next page may have other columns and another limit. Its
source, filter and sort must be the same, which the digest proves. A cursor has no values: those of its row are read
again, with the authorizations of who asks.

A cursor grants nothing: it is a place in a query that its holder could ask for without it, and each page is read with
the authorizations of who asks. So cursors are not signed, and work across all services of a store; every part of one is
checked instead.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass
from hashlib import blake2b

from watchfloor.schema.errors import UserError
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.times import END_OF_TIME
from watchfloor.store.encoding.keys import KEY_BYTES, is_hash_known, time_of_key

_VERSION, _SORTED_VERSION = 1, 2
_DIGEST_BYTES = 8
_CRC_BYTES = 4
_TIME_BYTES = 8
_CURSOR_BYTES = 1 + KEY_BYTES + _TIME_BYTES + _DIGEST_BYTES + _CRC_BYTES
"""Length of a cursor without a source's name, of a query without a sort."""
MAX_NAME = 100
"""The most bytes of a source's name."""
_DAMAGED = "the cursor is damaged; give it exactly as it was given to you"


@dataclass(frozen=True)
class Cursor:
    """The point at which a query was cut off.

    ``key`` is the key of the last event handed out, followed by the name of its source if the query is of several
    sources: events of different sources that have the same key come in the order of the sources' names. ``since`` is
    the start of the query's time range in µs. ``until`` is its end if the query has a sort, else None: the range then
    goes on to the key's time.
    """

    key: bytes
    since: int
    until: int | None = None

    @property
    def time(self) -> int:
        """The time of the last event in µs."""
        return time_of_key(self.key)

    @property
    def is_exact(self) -> bool:
        """True if the key identifies its event among others of the same microsecond."""
        return is_hash_known(self.key[:KEY_BYTES])

    def to_text(self, source: str, tree: Filter | None, sort: str | None = None) -> str:
        """Returns the cursor as text for a query of this source, typed filter and sort."""
        key, name = self.key[:KEY_BYTES], self.key[KEY_BYTES:]
        version = _VERSION if self.until is None else _SORTED_VERSION
        times = b"".join(time.to_bytes(_TIME_BYTES, "big") for time in (self.since, self.until) if time is not None)
        content = bytes([version]) + key + times + _digest_query(source, tree, sort) + name
        return base64.urlsafe_b64encode(content + _compute_crc(content)).rstrip(b"=").decode()


def read_cursor(text: str, source: str, tree: Filter | None, sort: str | None = None) -> Cursor:
    """Returns the cursor of a text.

    Raises ``UserError`` if it is damaged or from another source, typed filter or sort. The text need not come from us:
    whatever it says is within the bounds of what ``to_text`` writes.
    """
    try:
        whole = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (ValueError, binascii.Error):
        whole = b""
    content, crc = whole[:-_CRC_BYTES], whole[-_CRC_BYTES:]
    is_sorted = whole[:1] == bytes([_SORTED_VERSION])
    name_bytes = len(whole) - _CURSOR_BYTES - _TIME_BYTES * is_sorted
    if not 0 <= name_bytes <= MAX_NAME or crc != _compute_crc(content) or content[0] not in (_VERSION, _SORTED_VERSION):
        raise UserError(_DAMAGED)
    key, rest = content[1 : 1 + KEY_BYTES], content[1 + KEY_BYTES :]
    times = [int.from_bytes(rest[at : at + _TIME_BYTES], "big") for at in range(0, _TIME_BYTES * (1 + is_sorted), 8)]
    rest = rest[_TIME_BYTES * len(times) :]
    if rest[:_DIGEST_BYTES] != _digest_query(source, tree, sort) or is_sorted != (sort is not None):
        raise UserError("the cursor is of another query; source, filter and sort must be those that it was given for")
    cursor = Cursor(key + rest[_DIGEST_BYTES:], *times)
    until = cursor.time + 1 if cursor.until is None else cursor.until
    if not 0 <= cursor.since <= cursor.time < until <= END_OF_TIME or not cursor.is_exact:
        raise UserError(_DAMAGED)
    return cursor


def _digest_query(source: str, tree: Filter | None, sort: str | None) -> bytes:
    parts = [source, None if tree is None else to_json(tree), *([] if sort is None else [sort])]
    return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=_DIGEST_BYTES).digest()


def _compute_crc(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(_CRC_BYTES, "big")
