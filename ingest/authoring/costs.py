"""Measures on a sample what a source's events take in a store, field by field, with the encoder that workers use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watchfloor.ingest.files.open_file import FileOrPath
from watchfloor.ingest.queue.item import FILE_ID_BYTES, ITEM_ID_BYTES
from watchfloor.schema.source import Source
from watchfloor.store.layouts.registry import find_layout
from watchfloor.store.layouts.write_sizes import WriteSize, measure_writes

from .trial import try_source

SAMPLE_LINES = 50_000
"""Lines of a sample that are measured. Of a few lines the blocks of a source are too small to tell its size."""


@dataclass(frozen=True)
class SourceCosts:
    """The size of a sample, and of what its events become.

    ``tables`` has the size in each table; ``indexed`` the size of each indexed field's index entries and counts.
    """

    lines: int
    log_bytes: int
    events: int
    tables: Mapping[str, WriteSize]
    indexed: Mapping[str, WriteSize]


def measure_source(source: Source, file: FileOrPath) -> SourceCosts:
    """Parses and encodes the first lines of a file as events of a source.

    Raises ``InputFileError`` if the file cannot be read so.
    """
    trial = try_source(source, file, SAMPLE_LINES)
    encoder = find_layout(source).make_encoder(source, bytes(FILE_ID_BYTES), bytes(ITEM_ID_BYTES))
    writes = [write for events in trial.events for write in encoder.encode(events)]
    tables: dict[str, WriteSize] = {}
    indexed = {field.name: WriteSize() for field in source.indexed_fields}
    for (table, field), size in measure_writes([*writes, *encoder.finish()]).items():
        tables[table] = tables.get(table, WriteSize()) + size
        if field in indexed:
            indexed[field] += size
    return SourceCosts(trial.lines, trial.bytes, trial.count, tables, indexed)
