"""Columns of a result in which each source's own fields are one object, which is JSON.

The object of an event is what a query of its source alone prints: the time first, nulls left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from watchfloor.query.preparation.request import choose_columns
from watchfloor.query.texts.json_objects import encode_objects
from watchfloor.schema.field import ARROW_TYPES, FieldType
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import KEY_COLUMN

from .columns import EVENT, SOURCE, TIME, extend_keys

_SCHEMA = pa.schema([(TIME, ARROW_TYPES[FieldType.TIME]), (SOURCE, pa.string()), (EVENT, pa.json_(pa.string()))])


@dataclass(frozen=True)
class OwnColumns:
    """The event's time, the name of its source, and an object with all fields of the source that the event has."""

    @property
    def schema(self) -> pa.Schema:
        return _SCHEMA

    def list_fields(self, source: Source) -> tuple[str, ...]:
        """Returns the fields of a source that must be read: all."""
        return choose_columns(source, None)

    def convert_events(self, source: Source, events: pa.RecordBatch) -> pa.RecordBatch:
        """Returns events of a source in these columns, with keys to which the source's name is added."""
        objects = encode_objects(events.select(self.list_fields(source)))
        columns = [
            events.column(source.time_field),
            pa.repeat(source.name, len(events)),
            pa.ExtensionArray.from_storage(_SCHEMA.field(EVENT).type, objects),
            extend_keys(source, events),
        ]
        return pa.RecordBatch.from_arrays(columns, names=[*_SCHEMA.names, KEY_COLUMN])
