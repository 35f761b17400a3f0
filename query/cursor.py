"""Where a result was cut off, as text that whoever goes on hands back: nothing is kept on any server.

    version (1 byte) · key of the last row: REVTS HASH (16) · since, µs (8) · of which query (8) · CRC-32 of these (4)

In URL-safe base64 without padding. Columns and limit may be others on the next page; source and filter may not.
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
from watchfloor.store.encoding.keys import KEY_BYTES, is_hash_known, time_of_key

_VERSION = 1
_QUERY_BYTES = 8
_CRC_BYTES = 4
_BYTES = 1 + KEY_BYTES + 8 + _QUERY_BYTES + _CRC_BYTES


@dataclass(frozen=True)
class Cursor:
    """``key`` is that of the last event that was handed out, ``since`` (µs) where the query's time range begins."""

    key: bytes
    since: int

    @property
    def time(self) -> int:
        """The last event's, in µs."""
        return time_of_key(self.key)

    @property
    def exact(self) -> bool:
        """Whether the key tells its event from others of the same microsecond."""
        return is_hash_known(self.key)

    def text(self, source: str, tree: Filter | None) -> str:
        """For people to hand back, with the same source and typed filter."""
        told = bytes([_VERSION]) + self.key + self.since.to_bytes(8, "big") + _query(source, tree)
        return base64.urlsafe_b64encode(told + _crc(told)).rstrip(b"=").decode()


def read_cursor(text: str, source: str, tree: Filter | None) -> Cursor:
    """Raises ``UserError`` for one that is damaged, or that is of another source or typed filter."""
    try:
        whole = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (ValueError, binascii.Error):
        whole = b""
    told, crc = whole[:-_CRC_BYTES], whole[-_CRC_BYTES:]
    if len(whole) != _BYTES or crc != _crc(told) or told[0] != _VERSION:
        raise UserError("the cursor is damaged; give it exactly as it was given to you")
    if told[-_QUERY_BYTES:] != _query(source, tree):
        raise UserError("the cursor is of another query; source and filter must be those that it was given for")
    cursor = Cursor(told[1 : 1 + KEY_BYTES], int.from_bytes(told[1 + KEY_BYTES : -_QUERY_BYTES], "big"))
    if cursor.since > cursor.time:
        raise UserError("the cursor is damaged; give it exactly as it was given to you")
    return cursor


def _query(source: str, tree: Filter | None) -> bytes:
    form = json.dumps([source, None if tree is None else to_json(tree)], sort_keys=True)
    return blake2b(form.encode(), digest_size=_QUERY_BYTES).digest()


def _crc(told: bytes) -> bytes:
    return zlib.crc32(told).to_bytes(_CRC_BYTES, "big")
