"""Reads JSON lines of a source whose definition says how its fields are made from the values at paths of the lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Rows
from watchfloor.ingest.columns.scalars import Unfit
from watchfloor.ingest.mapping.field_mapper import FieldMapper, RawColumns
from watchfloor.ingest.parsing.parsed import ParsedChunk
from watchfloor.schema.source import Source

from .json_columns import RecordColumns
from .json_values import Record, decode_unique, hides_colons

_MEMBERS = frozenset({"fields", "absent", "ignore", "loose"})
"""The members of a ``parser`` by which values are converted to their fields' types."""


def is_mapped(source: Source) -> bool:
    """Returns True if values of lines are converted by rules, instead of being of their fields' types."""
    return any(source.parser.get(member) for member in _MEMBERS)


class MappedRecords:
    """Makes events of decoded lines by the rules of one source. May be used by several threads at once."""

    def __init__(self, source: Source, rename: Callable[[str], str | None] | None = None) -> None:
        """``rename`` gives the raw name of a path in a line; None for a path without meaning."""
        self.source = source
        self._rename = rename
        self._mapper = FieldMapper(source)
        self._wanted, self._ignored = self._mapper.wanted, source.parser.get("ignore", ())

    def read_rows(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of ``rows``, which must be UTF-8, and the rejected lines."""
        places: list[int] = []
        records: list[Record] = []
        is_plain = not hides_colons(rows.data)
        for row in range(len(rows)):
            try:
                records.append(decode_unique(rows.line_at(row), is_plain))
                places.append(row)
            except Unfit as error:
                parsed.rejected.append(rows.reject_line(row, str(error)))
        self.add_records(rows.select(np.array(places, np.int64)), records, parsed)

    def add_records(self, rows: Rows, records: Sequence[Record], parsed: ParsedChunk) -> None:
        """Adds the events of lines that are decoded already."""
        if not records:
            return
        gathered = RecordColumns(self._wanted, self._ignored, self._rename)
        gathered.gather(records)
        raw, unknown, faults = gathered.finish()
        leftovers = Leftovers(self.source)
        leftovers.reasons.update(faults)
        columns = self._mapper.map_columns(self.prepare_columns(raw, len(records)), len(records), leftovers)
        self._mapper.add_unknown(unknown, leftovers)
        parsed.add(self.source, *event_batch(self.source, columns, rows, leftovers))

    def prepare_columns(self, raw: RawColumns, count: int) -> RawColumns:
        """Returns the raw columns from which fields are made, those of ``count`` lines."""
        return raw
