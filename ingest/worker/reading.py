"""One work item from its file into the store: two threads parse, one encodes, one writes."""

from __future__ import annotations

import hashlib
import logging
import time
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchfloor.ingest.files.file_scan import WHOLE, check_unchanged
from watchfloor.ingest.files.lines import Chunk, Rejected, read_chunks
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.parsing.parsed import ParsedChunk
from watchfloor.ingest.queue.item import ITEM_ID_BYTES, WorkItem
from watchfloor.ingest.records.definitions import Catalog
from watchfloor.ingest.records.ledger import End
from watchfloor.ingest.records.quarantine import CLEARED, OPEN, RETRIED, Quarantine
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.jvm import visit
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.keys import OFFSET_COLUMN
from watchfloor.store.layout import TableWrite
from watchfloor.store.layouts.item_writer import ItemWriter, Sink
from watchfloor.store.runtime.process_identity import name_this_process
from watchfloor.store.store import Store

from .read_ahead import ahead, in_order

PART_BYTES = 72 << 20
"""Counts of a long item (a large gzip file) are written for every so many bytes of it, each part under an identity of
its own, so that memory stays bounded; an item of the usual size is one part. Never to be changed: what was counted in
other parts would count twice."""
_PARSERS, _ONE_PARSER = ThreadPoolExecutor(2, "parser"), ThreadPoolExecutor(1, "parser")
"""Parsing is half of the work, and most of it is done outside the interpreter's lock: a second thread is worth more
events a second. A third gains nothing, as the encoder is one. They stay: the JVM must be told of each new thread."""
_CHUNKS_AHEAD = 8
"""Chunks that are parsed, or being parsed, ahead of the encoder. It takes them by the slab, which is about as many."""
_PIECES_AHEAD = 1
log = logging.getLogger("watchfloor.reading")
Offsets = npt.NDArray[np.int64]
Progress = Callable[[int, int, int], None]
"""Called between chunks with bytes, events and quarantined lines so far; may raise to stop."""


@dataclass(frozen=True)
class _Lines:
    """One chunk of the file as far as ``upto``. ``cut``: rejected lines of which only the beginning is there."""

    upto: int
    cut: Sequence[Rejected]
    parsed: ParsedChunk


@dataclass
class _Piece:
    """What one chunk became. ``full``: writers of parts that have ended with this piece."""

    upto: int
    rejected: list[Rejected]
    cut: Sequence[Rejected]
    events: int = 0
    writes: list[tuple[ItemWriter, list[TableWrite]]] = field(default_factory=list)
    full: list[ItemWriter] = field(default_factory=list)

    def end(self, writers: Iterable[ItemWriter]) -> None:
        for writer in writers:
            self.writes.append((writer, writer.rest()))
            self.full.append(writer)


@dataclass(frozen=True)
class _Earlier:
    """The item's lines that an earlier reading put in quarantine: those still ``open``, and those ``taken`` on by a
    retry, which counts them; ``retried`` of these are events by now."""

    open: Offsets
    taken: Offsets
    retried: int


def read_item(
    store: Store,
    sink: EntrySink,
    item: WorkItem,
    progress: Progress,
    again: bool = False,
    ended: bool = False,
    events_to: Sink | None = None,
    was_read: Callable[[], None] = lambda: None,
) -> End:
    """Reads a whole item; when it returns, its events, counts and quarantined lines are durable.

    ``again``: it may have been read before; ``ended``: even to its end, and been compacted since. ``events_to``: where
    events and counts go, if not to ``sink`` as quarantined lines do.

    Raises ``InputFileError`` if the file is gone or changed, ``StoreError`` if the store fails; whatever was written by
    then is written again, with the same keys, when the item is read again.
    """
    began = time.monotonic()
    while True:
        end, writers = _read_once(store, sink, item, progress, ended, events_to or sink, was_read)
        now = store.catalog.read_sources()
        if not any(writer.lacks_index(now) for writer in writers):
            break
        # Whoever indexes a field counts on it: an item that is done has its values in all indexes that there were
        # when it was written. See ``schema/coverage.py``.
        log.info("%s: a field was indexed meanwhile; reading it again", item.name)
        again = True
    if again:
        for writer in writers:
            writer.sweep(store)
    return replace(end, at=time.time(), seconds=round(time.monotonic() - began, 3))


def _read_once(
    store: Store,
    sink: EntrySink,
    item: WorkItem,
    progress: Progress,
    ended: bool,
    events_to: Sink,
    was_read: Callable[[], None],
) -> tuple[End, list[ItemWriter]]:
    """Reads the item by the present definitions, durably; what became of it, and who has written it."""
    check_unchanged(item)
    quarantine = Quarantine(store)
    earlier = _earlier(quarantine, item)
    offsets = array("q")
    events = 0
    full: list[ItemWriter] = []
    reread = store if ended else None
    with (
        ahead(_parse(store.settings, item, Catalog(store)), 1) as chunks,
        ahead(_encode(chunks, events_to, item, earlier.taken, reread), _PIECES_AHEAD) as pieces,
    ):
        for piece in pieces:
            for writer, writes in piece.writes:
                writer.put(writes)
            quarantine.put(sink, item, piece.rejected, piece.cut)
            offsets.extend(r.offset for r in piece.rejected)
            full += piece.full
            events += piece.events
            progress(piece.upto - item.start, events, len(offsets))
    was_read()
    fits = set(np.setdiff1d(earlier.open, np.array(offsets, np.int64)).tolist())
    if fits:  # lines that were in quarantine and became events in this reading
        quarantine.mark(sink, (q for q in quarantine.of_item(item.item_id) if q.offset in fits), CLEARED)
    events_to.flush()
    sink.flush()
    check_unchanged(item)
    end = End(
        item.ticket,
        "done",
        time.time(),
        name_this_process(),
        events=events,
        quarantined=len(offsets) + len(earlier.taken) - earlier.retried,
        retried=earlier.retried,
        entries=sum(writer.entries for writer in full),
    )
    return end, full


def _earlier(quarantine: Quarantine, item: WorkItem) -> _Earlier:
    still_open, taken, retried = array("q"), array("q"), 0
    for line in quarantine.of_item(item.item_id):
        retried += line.state == RETRIED
        if line.state == RETRIED or line.claim:
            taken.append(line.offset)
        elif line.state == OPEN:
            still_open.append(line.offset)
    return _Earlier(np.array(still_open, np.int64), np.array(taken, np.int64), retried)


def _parse(settings: Settings, item: WorkItem, catalog: Catalog) -> Generator[_Lines, None, None]:
    parser = open_parser(item.feed, item.header, catalog)

    def parse(chunk: Chunk) -> _Lines:
        # A plain file may have grown in the middle of its last line since it was queued.
        data = chunk.data[: max(item.end - chunk.offset, 0)]
        parsed = parser.parse(replace(chunk, data=data))
        return _Lines(max(chunk.offset + len(data), item.start), chunk.rejected, parsed)

    pool = _ONE_PARSER if parser.ordered else _PARSERS
    return in_order(parse, _chunks(settings, item), pool, _CHUNKS_AHEAD)


def _chunks(settings: Settings, item: WorkItem) -> Iterator[Chunk]:
    # What cannot be cut (gzip, a log whose header changes on the way) is read from its beginning, whatever is wanted.
    start, end = (0, None) if item.compressed or item.split == WHOLE else (item.start, item.end)
    for chunk in read_chunks(item.path, start, end, settings.chunk_bytes, settings.max_line_bytes):
        if chunk.offset >= item.end and item.end < item.length:
            break
        yield chunk


def _encode(
    chunks: Iterator[_Lines], sink: Sink, item: WorkItem, taken: Offsets, reread: Store | None
) -> Generator[_Piece, None, None]:
    with visit():  # what the JVM has parsed goes back to it here
        yield from _encoded(chunks, sink, item, taken, reread)


def _encoded(
    chunks: Iterator[_Lines], sink: Sink, item: WorkItem, taken: Offsets, reread: Store | None
) -> Generator[_Piece, None, None]:
    writers: dict[int, ItemWriter] = {}
    piece = None
    for chunk in chunks:
        if piece is not None:
            yield piece
        piece = _Piece(chunk.upto, _wanted_lines(chunk.parsed, item.start, taken), chunk.cut)
        for source, batch in chunk.parsed.events:
            for part, events in _parts(batch, item.start, taken):
                if part not in writers:
                    writers[part] = ItemWriter(sink, part_id(item.item_id, part), item.file_id, reread)
                piece.writes.append((writers[part], writers[part].encode(source, events)))
                piece.events += events.num_rows
        current = (piece.upto - item.start) // PART_BYTES
        piece.end(writers.pop(part) for part in sorted(writers) if part < current)
    if piece is not None:
        piece.end(writers.values())
        yield piece


def part_id(item_id: bytes, part: int) -> bytes:
    """What the counts of an item's part are keyed by."""
    if not part:
        return item_id
    return hashlib.blake2b(b"part%d" % part + item_id, digest_size=ITEM_ID_BYTES).digest()


def _parts(batch: pa.RecordBatch, start: int, taken: Offsets) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The wanted events of a batch by the part of the item that they lie in."""
    offsets = batch.column(OFFSET_COLUMN).to_numpy()
    wanted = _is_wanted(offsets, start, taken)
    parts = (offsets - start) // PART_BYTES
    for part in np.unique(parts[wanted]).tolist():
        here = wanted & (parts == part)
        yield part, batch if here.all() else batch.filter(pa.array(here))


def _wanted_lines(parsed: ParsedChunk, start: int, taken: Offsets) -> list[Rejected]:
    offsets = np.fromiter((r.offset for r in parsed.rejected), np.int64, len(parsed.rejected))
    wanted = _is_wanted(offsets, start, taken)
    return [r for r, keep in zip(parsed.rejected, wanted.tolist(), strict=True) if keep]


def _is_wanted(offsets: Offsets, start: int, taken: Offsets) -> npt.NDArray[np.bool_]:
    """Whether lines lie in the item, and are not those that a retry has taken on, and counts, already."""
    wanted = offsets >= start
    return wanted & ~np.isin(offsets, taken) if len(taken) else wanted
