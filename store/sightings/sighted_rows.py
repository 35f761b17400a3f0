"""Rows of the table of sightings (``docs/keys.md``).

The table has the values of all sources. Values of all fields sort together by their bytes, and strings by their bytes
from last to first, so that those with a common ending are adjacent.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from watchfloor.schema.errors import InternalError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.tree import Cidr, Compare, Condition, Wildcard, find_literal_ends
from watchfloor.store.admin.tables import SIGHTINGS_SHARDS
from watchfloor.store.encoding.addresses import network_bounds
from watchfloor.store.encoding.index_values import CUT_BYTES, to_index_value, to_index_values, to_reversed_index_values
from watchfloor.store.encoding.keys import HASH_BYTES, shard_name, shard_names
from watchfloor.store.encoding.ranges import prefix_end
from watchfloor.store.encoding.values import encode_value

VALUE_MARK, ITEM_MARK = b"\x00", b"\x01"
"""The byte after the shard in the rows of values, and in those of the records of work items."""
ITEM_BYTES = HASH_BYTES
"""Length of a work item's ID, with which the qualifier of a sighting ends."""


@dataclass(frozen=True)
class SightedRange:
    """The values in [low, high), as they stand in rows; ``high`` None: the value ``low`` alone."""

    low: bytes
    high: bytes | None = None

    @property
    def row(self) -> bytes:
        """The row of the only value."""
        return make_value_rows([self.low])[0]

    def list_row_ranges(self) -> Iterable[tuple[bytes, bytes]]:
        """Yields the rows [start, end) of each shard that may have values of the range."""
        assert self.high is not None
        for shard in shard_names(SIGHTINGS_SHARDS):
            yield shard + VALUE_MARK + self.low, shard + VALUE_MARK + self.high


def find_sighted_range(field: Field, condition: Condition) -> SightedRange | None:
    """Returns the values of a field that satisfy an equality, a network or an ending.

    Returns None for an ending that is so long that rows may have only a part of it.
    """
    match condition:
        case Compare(_, "=", value):
            encoded = encode_value(field.scalar, value)
            return SightedRange(to_index_value(encoded[::-1] if _is_backwards(field) else encoded))
        case Cidr(_, network):
            low, high = network_bounds(network)
            return SightedRange(low, high + b"\x00")
        case Wildcard(_, pattern):
            _, end, _ = find_literal_ends(pattern)
            low = end.encode()[::-1]
            return SightedRange(low, prefix_end(low)) if len(low) <= CUT_BYTES else None
    raise InternalError(f"the table of sightings has no range of values for {condition!r}")


def to_sighted_values(field: Field, values: pa.BinaryArray) -> pa.BinaryArray:
    """Returns encoded values of a field as they stand in rows."""
    return to_reversed_index_values(values) if _is_backwards(field) else to_index_values(values)


def make_value_rows(values: list[bytes]) -> list[bytes]:
    """Returns the rows of values, given as they stand in rows."""
    names = [name + VALUE_MARK for name in shard_names(SIGHTINGS_SHARDS)]
    return [names[zlib.crc32(value) % SIGHTINGS_SHARDS] + value for value in values]


def make_item_row(item_id: bytes) -> bytes:
    """Returns the row of the records of a work item."""
    return shard_name(zlib.crc32(item_id) % SIGHTINGS_SHARDS) + ITEM_MARK + item_id


def name_field(source: str, field: str) -> bytes:
    """Returns the part of all qualifiers that tells the field of a source."""
    return source.encode() + b"\x00" + field.encode() + b"\x00"


def _is_backwards(field: Field) -> bool:
    return field.scalar is FieldType.STRING
