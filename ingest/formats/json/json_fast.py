"""Reads whole chunks of JSON lines as typed columns with the JVM's reader (``docs/decisions/0006``).

A line that this reader does not accept is *odd* and is left to ``json_values``, which decides. A line that both accept
has the same values from both.
"""

from __future__ import annotations

import pyarrow as pa

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.convert import Reasons, text_column, text_list_column
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Mask, Rows
from watchfloor.ingest.columns.scalars import EPOCH_UNITS
from watchfloor.ingest.parsing.parsed import ParsedChunk
from watchfloor.schema.definition import EXTRA_FIELD
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.source import Source
from watchfloor.store.bridge.json_lines import JsonLines

from .json_values import FieldNaming


class FastJsonReader:
    """Reads lines into a source's events. Not for use by several threads at once."""

    def __init__(self, source: Source, naming: FieldNaming) -> None:
        self._source = source
        self._fields = [f for f in source.fields if f.name != EXTRA_FIELD or source.unknown_fields != "extra"]
        taken = {field.name for field in self._fields}
        names: dict[str, str | None] = {name: name for name in taken}
        for key, name in naming.aliases.items():
            names.pop(key, None)
            if name in taken:
                names[key] = name
        names.update(dict.fromkeys(naming.ignored))
        columns = {field.name: _reader_type(field, source.time_format) for field in self._fields}
        self._java = JsonLines(columns, names, EPOCH_UNITS.get(source.time_format))

    def read(self, rows: Rows, parsed: ParsedChunk) -> Mask | None:
        """Adds the events of ``rows``, which must be UTF-8, except the odd lines.

        Returns a mask of the odd lines; None if there are none.
        """
        source = self._source
        batch, odd = self._java.read_lines(rows.data, rows.starts)
        if odd is not None:
            rows, batch = rows.select(~odd), batch.filter(pa.array(~odd))
        leftovers = Leftovers(source)
        columns = {}
        for field, column in zip(self._fields, batch.columns, strict=True):
            if column.null_count < len(column):
                columns[field.name] = _to_field_type(field, column, source.time_format, leftovers)
        parsed.add(source, *event_batch(source, columns, rows, leftovers))
        return odd


def _reader_type(field: Field, time_format: str) -> str:
    """Returns the type that the JVM reads a column as. Times in formats of their own are read as texts."""
    kind = "string" if _is_text(field, time_format) else field.scalar.value
    return f"list:{kind}" if field.is_list else kind


def _is_text(field: Field, time_format: str) -> bool:
    """Returns true if the JVM reads a field's values as texts: times in a ``strptime`` format."""
    return field.scalar is FieldType.TIME and "%" in time_format


def _to_field_type(field: Field, column: pa.Array, time_format: str, leftovers: Leftovers) -> pa.Array:
    """Converts a column that the JVM has read as texts; others have the field's type already."""
    if not _is_text(field, time_format):
        return column
    faults: Reasons = {}
    typed = (text_list_column if field.is_list else text_column)(field, column, time_format, faults)
    leftovers.add_misfits(field.name, faults, column)
    return typed
