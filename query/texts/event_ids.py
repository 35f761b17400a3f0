"""IDs of events: text by which a client names one event, whatever the query that found it.

An ID is the event's key in hexadecimal digits, a hyphen and the name of its source. It grants nothing: an event is
read by its ID with the authorizations of who asks.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import UnknownEventError
from watchfloor.store.encoding.byte_arrays import split_bytes, to_byte_rows
from watchfloor.store.encoding.keys import KEY_BYTES, UNKNOWN_HASH, hashes_of_keys, is_hash_known

from .columns import join_texts

ID_COLUMN = "_id"
"""The name of the column with the IDs of a result's events."""
_ID = re.compile(rf"([0-9a-f]{{{2 * KEY_BYTES}}})-([!-~]{{1,200}})", re.ASCII)
_MOST_BYTES = 1 << 16
"""More bytes than a key has. Without an end, Arrow fails to slice the values of a batch that begins after others."""
_DIGITS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint8).reshape(256, 2)


def format_ids(keys: pa.Array, source: str | None) -> pa.Array:
    """Returns the IDs of events by their keys; null for a key that does not identify its event.

    With ``source`` None the keys are those of several sources, with the sources' names at their ends.
    """
    own = to_byte_rows(pc.binary_slice(keys, 0, KEY_BYTES), KEY_BYTES)
    digits = split_bytes(_DIGITS[own].reshape(-1), 2 * KEY_BYTES).cast(pa.string())
    names = source if source is not None else pc.binary_slice(keys, KEY_BYTES, _MOST_BYTES).cast(pa.string())
    known = pa.array(hashes_of_keys(own) != UNKNOWN_HASH)
    return pc.if_else(known, join_texts(digits, "-", names), pa.scalar(None, pa.string()))


def read_id(text: str) -> tuple[bytes, str]:
    """Returns the key and the source's name of an ID. Raises ``UnknownEventError`` for a text that is none."""
    match = _ID.fullmatch(text)
    if match is None or not is_hash_known(key := bytes.fromhex(match[1])):
        raise UnknownEventError
    return key, match[2]
