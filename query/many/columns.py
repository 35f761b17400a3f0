"""Common columns of several sources' events.

A column is named by a field, an ECS name or a kind. It has the type of the fields that it stands for if that is the
same in all sources, and is text otherwise. The column ``event`` is a short rendering of a whole event: its fields as
``name=value``, without those that it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.query.preparation.matched import MATCHED
from watchfloor.query.preparation.request import choose_columns
from watchfloor.schema.errors import UserError, suggest_names
from watchfloor.schema.field import ARROW_TYPES, FieldType
from watchfloor.schema.filter.names import find_fields
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import KEY_COLUMN

TIME, SOURCE, EVENT = "time", "_source", "event"
"""The columns that every source has: the event's time, the name of its source, and a rendering of the whole event."""
_SPECIAL = {
    TIME: ARROW_TYPES[FieldType.TIME],
    **dict.fromkeys((SOURCE, EVENT, MATCHED), pa.string()),
}


@dataclass(frozen=True)
class CommonColumns:
    """The columns of a result, and how each source fills them. ``types`` has the columns in order."""

    types: Mapping[str, pa.DataType]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.types.items()))

    def list_fields(self, source: Source) -> tuple[str, ...]:
        """Returns the fields of a source that must be read for its columns."""
        if EVENT in self.types:
            return choose_columns(source, None)
        fields = [source.time_field] if TIME in self.types else []
        fields += [f.name for name in self.types if name not in _SPECIAL for f in find_fields(source, name)]
        # A layout reads at least one field.
        return tuple(dict.fromkeys(fields)) or (source.time_field,)

    def convert_events(self, source: Source, events: pa.RecordBatch) -> pa.RecordBatch:
        """Returns events of a source in the common columns, with keys to which the source's name is added."""
        columns = [self._fill_column(name, kind, source, events) for name, kind in self.types.items()]
        return pa.RecordBatch.from_arrays([*columns, extend_keys(source, events)], names=[*self.types, KEY_COLUMN])

    def _fill_column(self, name: str, kind: pa.DataType, source: Source, events: pa.RecordBatch) -> pa.Array:
        if name == TIME:
            return events.column(source.time_field)
        if name == SOURCE:
            return pa.repeat(source.name, len(events))
        if name == MATCHED:
            return events.column(MATCHED)
        if name == EVENT:
            return _render_events(source, events)
        columns = [events.column(field.name) for field in find_fields(source, name)]
        filled = [column if column.type == kind else to_texts(column) for column in columns]
        # Of several fields the first one that the event has.
        return pc.coalesce(*filled) if len(filled) > 1 else filled[0] if filled else pa.nulls(len(events), kind)


def choose_common_columns(
    sources: Sequence[Source], names: Sequence[str] | None, named: Sequence[str]
) -> CommonColumns:
    """Returns the columns ``names``; with None the time, the source, the fields ``named`` by the filter, and the event.

    Raises ``UserError`` for a name that no source has.
    """
    if names is not None and not names:
        raise UserError("columns is empty; name at least one, or leave it out")
    wanted = (TIME, SOURCE, *named, EVENT) if names is None else tuple(names)
    return CommonColumns({name: _SPECIAL.get(name) or _find_type(sources, name) for name in dict.fromkeys(wanted)})


def extend_keys(source: Source, events: pa.RecordBatch) -> pa.Array:
    """Returns the keys of a source's events with its name at their ends."""
    keys = events.column(KEY_COLUMN).cast(pa.binary())
    return pc.binary_join_element_wise(keys, pa.scalar(source.name.encode()), pa.scalar(b""))


def to_texts(column: pa.Array) -> pa.Array:
    """Returns values as text; the elements of a list are joined by commas."""
    if pa.types.is_list(column.type):
        return pc.binary_join(column.cast(pa.list_(pa.string())), ",")
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _find_type(sources: Sequence[Source], name: str) -> pa.DataType:
    """Returns the type of a column: that of the fields of this name if they agree, else text."""
    types = {field.arrow for source in sources for field in find_fields(source, name)}
    if not types:
        known = {known for source in sources for known in (*source.fields_by_name, *source.fields_by_meaning)}
        raise UserError(f"no source of these has {name!r}{suggest_names(name, known | set(_SPECIAL))}")
    return types.pop() if len(types) == 1 else pa.string()


def _render_events(source: Source, events: pa.RecordBatch) -> pa.Array:
    """Returns each event as ``name=value name=value``, without the time."""
    parts = [
        pc.binary_join_element_wise(pa.scalar(f"{field.name}="), to_texts(events.column(field.name)), "")
        for field in source.fields
        if field.name != source.time_field
    ]
    if not parts:
        return pa.repeat("", len(events))
    return pc.binary_join_element_wise(*parts, " ", null_handling="skip")
