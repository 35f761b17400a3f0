"""One work item from its file into the store: parse and encode in one thread, write in another."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from watchfloor.store.bridge import EntrySink
from watchfloor.store.layout import TableWrite
from watchfloor.store.settings import Settings
from watchfloor.store.store import Store
from watchfloor.store.writer import ItemWriter

from .ahead import ahead
from .catalog import Catalog
from .cells import me
from .item import WorkItem
from .ledger import End
from .lines import Rejected, read_chunks
from .parsers import Parser, open_parser
from .quarantine import CLEARED, OPEN, RETRIED, Quarantine
from .scan import WHOLE, check_unchanged

_DEPTH = 1
Progress = Callable[[int, int, int], None]
"""Called between chunks with bytes, events and quarantined lines so far; may raise to stop."""


@dataclass(frozen=True)
class _Piece:
    """What one chunk became. ``cut``: rejected lines of which only the beginning is there."""

    writes: list[TableWrite]
    events: int
    rejected: list[Rejected]
    cut: Sequence[Rejected]
    upto: int


def read_item(store: Store, sink: EntrySink, item: WorkItem, progress: Progress) -> End:
    """Reads a whole item; when it returns, its events, counts and quarantined lines are durable.

    Raises ``InputFileError`` if the file is gone or changed, ``StoreError`` if the store fails; whatever was written by
    then is written again, with the same keys, when the item is read again.
    """
    began = time.monotonic()
    check_unchanged(item)
    quarantine = Quarantine(store)
    before = list(_known(quarantine, item))
    retried = sum(state == RETRIED for _, state, _ in before)
    taken = np.array([offset for offset, state, claim in before if state == RETRIED or claim], np.int64)
    pending = len(taken) - retried
    writer = ItemWriter(sink, item.item_id, item.file_id)
    offsets = array("q")
    events = 0
    with ahead(_pieces(store.settings, item, Catalog(store), writer, taken), _DEPTH) as pieces:
        for piece in pieces:
            writer.put(piece.writes)
            quarantine.put(sink, item, piece.rejected, piece.cut)
            offsets.extend(r.offset for r in piece.rejected)
            events += piece.events
            progress(piece.upto - item.start, events, len(offsets))
    _clear(quarantine, sink, item, {offset for offset, state, claim in before if state == OPEN and not claim}, offsets)
    check_unchanged(item)
    _, entries = writer.finish()
    return End(
        item.ticket,
        "done",
        time.time(),
        me(),
        events=events,
        quarantined=len(offsets) + pending,
        retried=retried,
        entries=entries,
        seconds=round(time.monotonic() - began, 3),
    )


def _known(quarantine: Quarantine, item: WorkItem) -> Iterator[tuple[int, str, str]]:
    """Offset, state and claim of the item's lines that an earlier reading put in quarantine."""
    return ((line.offset, line.state, line.claim) for line in quarantine.of_item(item.item_id))


def _clear(quarantine: Quarantine, sink: EntrySink, item: WorkItem, before: set[int], now: Sequence[int]) -> None:
    """Lines that were in quarantine before and have become events in this reading are no longer open."""
    gone = before.difference(now)
    if gone:
        lines = (line for line in quarantine.of_item(item.item_id) if line.offset in gone)
        quarantine.mark(sink, lines, CLEARED)


def _pieces(
    settings: Settings, item: WorkItem, catalog: Catalog, writer: ItemWriter, taken: np.ndarray
) -> Iterator[_Piece]:
    parser: Parser = open_parser(item.feed, item.header, catalog)
    # What cannot be cut (gzip, a log whose header changes on the way) is read from its beginning, whatever is wanted.
    start, end = (0, None) if item.compressed or item.split == WHOLE else (item.start, item.end)
    for chunk in read_chunks(item.path, start, end, settings.chunk_bytes, settings.max_line_bytes):
        if chunk.offset >= item.end and item.end < item.length:
            return
        # A plain file may have grown in the middle of its last line since it was queued.
        data = chunk.data[: max(item.end - chunk.offset, 0)]
        parsed = parser.parse(replace(chunk, data=data))
        writes: list[TableWrite] = []
        events = 0
        for source, batch in parsed.events:
            wanted = _wanted(batch, item.start, taken)
            writes += writer.encode(source, wanted)
            events += wanted.num_rows
        rejected = [r for r in parsed.rejected if r.offset >= item.start and r.offset not in taken]
        yield _Piece(writes, events, rejected, chunk.rejected, max(chunk.offset + len(data), item.start))


def _wanted(batch: pa.RecordBatch, start: int, taken: np.ndarray) -> pa.RecordBatch:
    """The events from ``start`` on, but for those of lines that a retry has taken on, and counted, already."""
    offsets = batch.column("_offset").to_numpy()
    unwanted = offsets < start
    if len(taken):
        unwanted |= np.isin(offsets, taken)
    return batch.filter(pa.array(~unwanted)) if unwanted.any() else batch
