"""The columns in which the bridge hands over the events of blocks, and how they become those of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from watchfloor.schema.field import Field
from watchfloor.schema.source import Same, Source
from watchfloor.store.encoding.values import bridge_type, to_arrow_type
from watchfloor.store.layout import make_event_schema
from watchfloor.store.layouts.block.blocks.block_keys import FILE, OFFSET_FIELD

_FIRST_FIELD = 3
"""The place of the first field in the bridge's batches: before it come the block's row, the time and the key."""


@dataclass(frozen=True)
class EventColumns:
    """The columns of one request. ``bridge_types`` are those that the bridge is asked for, in their order.

    It makes the events' keys of the second and the third, FILE and OFFSET.

    ``schema`` is that of the request's batches (``make_event_schema``).
    """

    bridge_types: Mapping[str, str]
    schema: pa.Schema
    _places: tuple[int, ...]
    _decoded: tuple[tuple[int, Field], ...]

    def convert_events(self, events: pa.RecordBatch) -> list[pa.Array]:
        """Returns the request's columns of a batch from the bridge, without the keys."""
        given = events.columns
        columns = [given[place] for place in self._places]
        for place, field in self._decoded:
            columns[place] = to_arrow_type(field, columns[place])
        return columns


def find_columns(source: Source, names: Sequence[str]) -> EventColumns:
    """Returns the columns of a request for the fields ``names`` of a source."""
    return _make_columns(Same(source), tuple(names))


@lru_cache(maxsize=256)
def _make_columns(same: Same[Source], names: tuple[str, ...]) -> EventColumns:
    source = same.value
    time = source.time_field
    fields = [source.find_field(name) for name in names]
    stored = [f for f in fields if f.name != time]
    types = {f.name: bridge_type(f) for f in (source.find_field(time), OFFSET_FIELD, *stored)}
    place_of = {time: 1} | {f.name: _FIRST_FIELD + number for number, f in enumerate(stored)}
    return EventColumns(
        bridge_types={time: types[time], FILE: "bytes"} | types,
        schema=make_event_schema(source, names),
        _places=tuple(place_of[f.name] for f in fields),
        _decoded=tuple((place, f) for place, f in enumerate(fields) if bridge_type(f) == "bytes"),
    )
