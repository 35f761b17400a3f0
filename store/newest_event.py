"""The newest event of a source, whoever may see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import event_table, shard_names, time_of_row
from watchfloor.store.encoding.ranges import Ranges

if TYPE_CHECKING:
    from .store import Store


def newest_event(store: Store, source: Source) -> int | None:
    """Its time, µs since 1970 UTC; None if there is no event.

    Of all that is in the table by now: also what is half written, or of blocks that were merged. The newest of a shard
    is its first row, in both layouts. Raises ``StoreError``.
    """
    store = store.seeing_all_of(source)
    found = []
    for shard in shard_names(source.shards):
        ranges = Ranges()
        ranges.add_prefix(shard)
        with store.begin_scan(event_table(source), ranges, batch_rows=1) as batches:
            first = next(iter(batches), None)
        if first is not None:
            row = first.column("row")[0].as_py()
            found.append(time_of_row(row))
    return max(found, default=None)
