"""Reads one work item from its file into the store: two threads parse, one encodes, one writes."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from io import FileIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchfloor.ingest.files.file_scan import WHOLE, check_unchanged, hash_ranges
from watchfloor.ingest.files.lines import Chunk, RejectedLine, read_chunks, split_chunk
from watchfloor.ingest.files.open_file import open_log_file
from watchfloor.ingest.files.remote.remote_systems import RemoteState
from watchfloor.ingest.formats.registry import open_parser, sources_of_feed
from watchfloor.ingest.metrics.worker_metrics import (
    EVENTS,
    READ_BYTES,
    count_flush_seconds,
    count_misfits,
    count_quarantined,
    count_write_seconds,
)
from watchfloor.ingest.parsing.parsed import ParsedChunk
from watchfloor.ingest.queue.item import DRAWN, WorkItem
from watchfloor.ingest.records.definitions import SourceResolver
from watchfloor.ingest.records.ledger import ItemEnd
from watchfloor.ingest.records.long_files import LongFiles
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.bridge.threads import attach_thread
from watchfloor.store.encoding.keys import OFFSET_COLUMN
from watchfloor.store.layout import GoneLines, SweepGuard, TableWrite
from watchfloor.store.layouts.item_writer import ItemWriter, WriteSink
from watchfloor.store.runtime.process_identity import name_this_process
from watchfloor.store.store import Store

from .parts import part_id, part_ids, part_of_line, parts_of_lines
from .range_hash import RangeHash
from .read_ahead import map_in_order, read_ahead
from .rejected_lines import Offsets, RejectedLines

_PARSER_THREADS = 2
"""Parsing is half of the work, and most of it runs outside the interpreter's lock, so a second thread raises the rate.
A third gains nothing, because there is only one encoder."""
_PARSED_AHEAD = 8
"""Chunks that are parsed, or being parsed, ahead of the encoder. The encoder works on slabs of about as many chunks."""
_ENCODED_AHEAD = 1
_CHUNK_LINES = 1 << 16
"""Lines that are parsed at once. Lines of a log are so long that a chunk has fewer, but a chunk of a bomb may be two
million lines, each of them an object once it is rejected."""
log = logging.getLogger("watchfloor.reading")
FieldCounts = Counter[tuple[str, str]]
"""Counts by source and field."""
ReportProgress = Callable[[int, int, int], None]
"""Called between chunks with bytes, events and quarantined lines so far; may raise to stop."""


def _ignore_progress(done: int, events: int, quarantined: int) -> None:
    pass


@dataclass(frozen=True)
class ReadTask:
    """A work item, and the means to read it.

    Events and counts go to ``event_sink``, or to ``sink`` if that is None; quarantined lines always go to ``sink``.
    ``begun``: an earlier attempt may have written a part of the item, or all of it. ``confirm`` raises if another
    worker has taken the item over. ``on_read`` is called, in another thread, when all lines are parsed; the last of
    them are still to be encoded and written then.
    """

    store: Store
    sink: EntrySink
    item: WorkItem
    report: ReportProgress = _ignore_progress
    event_sink: WriteSink | None = None
    begun: bool = False
    confirm: Callable[[], None] = lambda: None
    on_read: Callable[[], None] = lambda: None

    @property
    def events_to(self) -> WriteSink:
        """The sink for events and counts."""
        return self.event_sink or self.sink


def read_item(task: ReadTask) -> ItemEnd:
    """Reads one item as ``ItemReader.read`` does, with threads of its own."""
    with ItemReader() as reader:
        return reader.read(task)


def _find_span(item: WorkItem) -> tuple[int, int, RemoteState] | None:
    """Returns the bytes of a file that an item needs, and the state of the file in which it was queued.

    Returns None if that is all: the content is packed, or stands in an archive.
    """
    if item.compressed:
        return None
    return item.start, item.end, RemoteState(item.size, item.inode, item.mtime_ns, item.ctime_ns)


class ItemReader:
    """Reads work items, also several at once. Owns the threads that parse; a context manager that ends them."""

    def __init__(self) -> None:
        # The threads stay from item to item, because each new thread must be attached to the JVM.
        self._parallel = ThreadPoolExecutor(_PARSER_THREADS, "parser")
        self._ordered = ThreadPoolExecutor(1, "parser")

    def read(self, task: ReadTask) -> ItemEnd:
        """Reads a whole item; when it returns, its events, counts and quarantined lines are durable.

        Raises ``InputFileError`` if the file is gone or changed, ``StoreError`` if the store fails; whatever was
        written by then is written again, with the same keys, when the item is read again.
        """
        began = time.monotonic()
        with open_log_file(task.item.path, task.item.member, _find_span(task.item)) as file:
            outcome = self._read_once(task, file)
            while outcome.lacks_index(task.store):
                # An item that is done must have its values in all indexes that there were when it was written: the
                # index of a field relies on it. See ``schema/coverage.py``.
                log.info("%s: a field was indexed meanwhile; reading it again", task.item.name)
                task = replace(task, begun=True)
                outcome = self._read_once(task, file)
        if task.begun:
            outcome.sweep(task)
        return replace(outcome.end, at=time.time(), seconds=round(time.monotonic() - began, 3))

    def __enter__(self) -> ItemReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._parallel.shutdown()
        self._ordered.shutdown()

    def _read_once(self, task: ReadTask, file: FileIO) -> _Outcome:
        """Reads the item from its open file, by the present definitions. All is durable when it returns."""
        item = task.item
        find_content = LongFiles(task.store).find_content
        check_unchanged(item, file, find_content)
        content = RangeHash(item, file) if item.digest == DRAWN and not item.compressed else None
        lines = RejectedLines(task.store, task.sink, item, task.begun)
        earlier = lines.earlier
        events, upto = 0, item.start
        misfits: FieldCounts = Counter()
        writers: list[ItemWriter] = []
        with (
            read_ahead(self._parse_chunks(task, file, content), 1) as chunks,
            read_ahead(_encode_for_jvm(chunks, task, earlier.claimed), _ENCODED_AHEAD) as encoded,
        ):
            for chunk in encoded:
                with count_write_seconds():
                    for writer, writes in chunk.writes:
                        writer.put_writes(writes)
                    lines.put(chunk.rejected, chunk.cut)
                EVENTS.inc(chunk.events)
                READ_BYTES.inc(chunk.upto - upto)
                count_quarantined(chunk.rejected)
                count_misfits(chunk.misfits)
                misfits += chunk.misfits
                upto = chunk.upto
                writers += chunk.ended
                events += chunk.events
                report = partial(task.report, chunk.upto - item.start, events, lines.count)
                report()
                for writer in chunk.ended if task.begun else ():
                    writer.replace_earlier(task.store, SweepGuard(report, task.confirm))
        lines.finish()
        with count_flush_seconds():
            task.events_to.flush()
            task.sink.flush()
        check_unchanged(item, file, find_content)
        end = ItemEnd(
            item.ticket,
            "done",
            time.time(),
            name_this_process(),
            events=events,
            quarantined=lines.count + len(earlier.claimed) - earlier.retried,
            retried=earlier.retried,
            entries=sum(writer.entries for writer in writers),
            misfits=_nest_counts(misfits),
            content=_check_content(item, file, content),
        )
        return _Outcome(end, writers, lines.gone)

    def _parse_chunks(
        self, task: ReadTask, file: FileIO, content: RangeHash | None
    ) -> Generator[_ParsedLines, None, None]:
        """Yields the item's chunks, parsed ahead in threads, in the order of the file. ``content`` hashes them."""
        item = task.item
        parser = open_parser(item.feed, item.header, SourceResolver(task.store))

        def parse(chunk: Chunk) -> _ParsedLines:
            # A plain file may have grown in the middle of its last line since it was queued.
            data = chunk.data[: max(item.end - chunk.offset, 0)]
            parsed = parser.parse(replace(chunk, data=data))
            return _ParsedLines(max(chunk.offset + len(data), item.start), chunk.rejected, parsed)

        threads = self._ordered if parser.ordered else self._parallel
        chunks = _read_item_chunks(task.store.settings, item, file, content)
        yield from map_in_order(parse, chunks, threads, _PARSED_AHEAD)
        task.on_read()


@dataclass(frozen=True)
class _Outcome:
    """The result of one reading. ``gone`` are the lines that are no events by it."""

    end: ItemEnd
    writers: list[ItemWriter]
    gone: GoneLines

    def lacks_index(self, store: Store) -> bool:
        """Returns true if a field was indexed while the item was written, so that it must be written again."""
        now = store.catalog.read_sources()
        return any(writer.lacks_index(now) for writer in self.writers)

    def sweep(self, task: ReadTask) -> None:
        """Removes what an earlier reading has written and this one has not."""
        item, store = task.item, task.store
        writers = {writer.item_id: writer for writer in self.writers}
        # A source or a part that has no events now can have had some only from lines that are rejected now.
        sources = sources_of_feed(item.feed, store.catalog.read_sources()) if len(self.gone.offsets) else []
        # Other workers must not take this one for dead while it sweeps.
        report = partial(task.report, item.end - item.start, self.end.events, len(self.gone.offsets))
        for identity in part_ids(item):
            writer = writers.get(identity) or ItemWriter(task.sink, identity, item.file_id, again=True)
            writer.sweep_earlier(store, self.gone, sources, SweepGuard(report, task.confirm))


@dataclass(frozen=True)
class _ParsedLines:
    """One chunk of the file as far as ``upto``. ``cut``: rejected lines of which only the beginning is there."""

    upto: int
    cut: Sequence[RejectedLine]
    parsed: ParsedChunk


@dataclass
class _EncodedChunk:
    """The entries of one chunk. ``ended``: writers of parts that have ended with this chunk."""

    upto: int
    rejected: list[RejectedLine]
    cut: Sequence[RejectedLine]
    events: int = 0
    writes: list[tuple[ItemWriter, list[TableWrite]]] = field(default_factory=list)
    ended: list[ItemWriter] = field(default_factory=list)
    misfits: FieldCounts = field(default_factory=Counter)

    def end_parts(self, writers: Iterable[ItemWriter]) -> None:
        """Adds the remaining entries of parts that have ended."""
        for writer in writers:
            self.writes.append((writer, writer.encode_rest()))
            self.ended.append(writer)


def _read_item_chunks(settings: Settings, item: WorkItem, file: FileIO, content: RangeHash | None) -> Iterator[Chunk]:
    # A file that cannot be cut (compressed, a log whose header changes on the way) is read from its beginning, whatever
    # the range.
    start, end = (0, None) if item.compressed or item.split == WHOLE else (item.start, item.end)
    for chunk in read_chunks(file, start, end, settings.chunk_bytes, settings.max_line_bytes, item.compressed):
        if chunk.offset >= item.end and item.end < item.length:
            break
        if content is not None:
            content.add(chunk)
        yield from split_chunk(chunk, _CHUNK_LINES)


def _check_content(item: WorkItem, file: FileIO, content: RangeHash | None) -> str:
    """Returns the hash of an item's bytes; empty if none is wanted. Raises ``InputFileError`` if they have changed."""
    if item.digest != DRAWN:
        return ""
    found = hash_ranges(file, [(item.start, item.end)])[0] if content is None else content.finish()
    if item.content and found != item.content:
        raise InputFileError(f"{show_path(item.log_path)}: its content changed after it was queued; queue it again")
    return found


def _encode_for_jvm(
    chunks: Iterator[_ParsedLines], task: ReadTask, claimed: Offsets
) -> Generator[_EncodedChunk, None, None]:
    # Record batches that the JVM has parsed are released in this thread.
    with attach_thread():
        yield from _encode_chunks(chunks, task, claimed)


def _encode_chunks(
    chunks: Iterator[_ParsedLines], task: ReadTask, claimed: Offsets
) -> Generator[_EncodedChunk, None, None]:
    """Yields the entries of each chunk. The last chunk of a part also has the part's remaining entries."""
    item = task.item
    writers: dict[int, ItemWriter] = {}
    encoded = None
    for chunk in chunks:
        if encoded is not None:
            yield encoded
        encoded = _EncodedChunk(chunk.upto, _select_rejected(chunk.parsed, item, claimed), chunk.cut)
        for source, batch in chunk.parsed.events:
            for part, events in _split_by_part(batch, item, claimed):
                if part not in writers:
                    identity = part_id(item.item_id, part)
                    writers[part] = ItemWriter(task.events_to, identity, item.file_id, task.begun)
                encoded.writes.append((writers[part], writers[part].encode(source, events)))
                encoded.events += events.num_rows
        for misfit in chunk.parsed.misfits:
            encoded.misfits[misfit.source, misfit.field] += int(_is_own(misfit.offsets, item, claimed).sum())
        current = part_of_line(item, encoded.upto)
        encoded.end_parts(writers.pop(part) for part in sorted(writers) if part < current)
    if encoded is not None:
        encoded.end_parts(writers.values())
        yield encoded


def _split_by_part(batch: pa.RecordBatch, item: WorkItem, claimed: Offsets) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Splits a batch by the parts of the item in which its events lie.

    Events that are not the item's own are left out.
    """
    offsets = batch.column(OFFSET_COLUMN).to_numpy()
    own = _is_own(offsets, item, claimed)
    parts = parts_of_lines(item, offsets)
    for part in np.unique(parts[own]).tolist():
        here = own & (parts == part)
        yield part, batch if here.all() else batch.filter(pa.array(here))


def _select_rejected(parsed: ParsedChunk, item: WorkItem, claimed: Offsets) -> list[RejectedLine]:
    """Returns the rejected lines that are the item's own."""
    offsets = np.fromiter((line.offset for line in parsed.rejected), np.int64, len(parsed.rejected))
    own = _is_own(offsets, item, claimed)
    return [line for line, keep in zip(parsed.rejected, own.tolist(), strict=True) if keep]


def _nest_counts(counts: FieldCounts) -> dict[str, dict[str, int]]:
    """Returns the counts by source, then by field."""
    nested: dict[str, dict[str, int]] = {}
    for (source, name), count in sorted(counts.items()):
        nested.setdefault(source, {})[name] = count
    return nested


def _is_own(offsets: Offsets, item: WorkItem, claimed: Offsets) -> npt.NDArray[np.bool_]:
    """Returns a mask of the lines that lie in the item and are not claimed by a retry, which counts them already."""
    own = offsets >= item.start
    return own & ~np.isin(offsets, claimed) if len(claimed) else own
