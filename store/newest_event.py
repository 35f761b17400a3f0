"""The newest event of a source."""

from __future__ import annotations

from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import event_table, shard_names, time_of_row
from watchfloor.store.encoding.ranges import Ranges

from .reader import Reader


def newest_event(reader: Reader, source: Source) -> int | None:
    """Returns the time of the newest event that the reader sees, µs since 1970 UTC; None if there is no event.

    All entries of the event table count, also those of half-written items and of blocks that were replaced. Raises
    ``StoreError``.
    """
    found = []
    for shard in shard_names(source.shards):
        ranges = Ranges()
        ranges.add_prefix(shard)
        # The first row of a shard holds its newest event, in both layouts.
        with reader.begin_scan(EntryScan(event_table(source), ranges, batch_rows=1, family="")) as batches:
            first = next(iter(batches), None)
        if first is not None:
            found.append(time_of_row(first.column("row")[0].as_py()))
    return max(found, default=None)
