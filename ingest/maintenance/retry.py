"""Parses quarantined lines again by the present definitions; those that fit become events and leave the quarantine.

An event of a retried line has the same row as if the line had fitted at first, because rows are made of file identity
and offset. Counts need more care. A count cell has the identity of the item that counted and holds the item's sum, and
it is overwritten when the item is read again. The lines of one retry therefore count under an identity of their own,
the *claim*: a function of the item and of the offsets of exactly these lines. A retry has three steps, each durable
before the next:

1. the lines that now parse get the claim in their rows;
2. their events and counts are written under the claim;
3. the rows are marked ``retried``.

A retry that breaks off anywhere is completed by the next one. Before it tries other lines, it writes all unmarked lines
of a claim again together under that claim, so the same cells get the same sums. If some of a claim's lines are marked
already, step 2 was complete, and only the marks are missing.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from watchfloor.ingest.files.file_scan import WHOLE
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.registry import open_parser, sources_of_feed
from watchfloor.ingest.queue.item import ITEM_ID_BYTES, WorkItem
from watchfloor.ingest.reading.rejected_lines import GoneTimes
from watchfloor.ingest.records.definitions import SourceResolver
from watchfloor.ingest.records.ledger import Ledger, LedgerRow
from watchfloor.ingest.records.quarantine import OPEN, RETRIED, Quarantine, QuarantinedLine, refuse_line
from watchfloor.schema.errors import OperatorError, StoreError, UserError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.keys import OFFSET_COLUMN
from watchfloor.store.layout import GoneLines
from watchfloor.store.layouts.item_writer import ItemWriter
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.store import Store

_BATCH_LINES = 10_000
_BATCH_BYTES = 4 << 20
Events = list[tuple[Source, pa.RecordBatch]]


@dataclass(frozen=True)
class RetryResult:
    """The outcome of a retry.

    ``lines`` were tried, ``events`` of them became events; ``kept`` counts the others by reason.
    """

    lines: int
    events: int
    kept: dict[str, int]


def retry_lines(
    store: Store,
    path: str | None = None,
    key: str | None = None,
    is_seen: Callable[[QuarantinedLine], bool] = lambda line: True,
) -> RetryResult:
    """Retries all open lines, the lines of the file ``path``, or the line ``key`` (``ITEM:OFFSET``).

    Lines of which ``is_seen`` returns False count as not there. Raises ``NoRoomError``, ``OperatorError`` while another
    retry runs, ``UserError`` for a line that is not open.
    """
    store.check_room()
    # Two retries at once could give the same line to two claims, and count it twice.
    busy = OperatorError("another `watchfloor quarantine retry` is running; wait for it")
    with hold_file_lock(store.settings.home / "retry.lock", busy), store.sink() as sink:
        return _Retry(store, sink, is_seen).run(path, key)


class _Retry:
    """Retries lines item by item, and counts the outcome."""

    def __init__(self, store: Store, sink: EntrySink, is_seen: Callable[[QuarantinedLine], bool]) -> None:
        self._store, self._sink, self._is_seen = store, sink, is_seen
        self._quarantine, self._ledger = Quarantine(store), Ledger(store)
        self._catalog = SourceResolver(store)
        self._lines = self._events = 0
        self._kept: dict[str, int] = defaultdict(int)

    def run(self, path: str | None, key: str | None) -> RetryResult:
        """Retries the open lines that are named. Raises ``UserError`` if the line ``key`` is not open."""
        one = self._quarantine.find_line(key) if key else None
        if one and not self._is_seen(one):
            raise refuse_line(one.key)
        if one and one.state != OPEN:
            raise UserError(f"{one.key} is {one.state} already")
        lines = filter(self._is_seen, self._quarantine.open_lines(path, one.item_id if one else None))
        items = dict.fromkeys((line.item_id, line.file_id) for line in lines)
        try:
            for item_id, file_id in items:
                self._retry_item(item_id, file_id, (lambda line: line.key == key) if key else (lambda line: True))
        finally:
            self._ledger.close()
        return RetryResult(self._lines, self._events, dict(self._kept))

    def _retry_item(self, item_id: bytes, file_id: bytes, is_chosen: Callable[[QuarantinedLine], bool]) -> None:
        """Retries the chosen open lines of one item; counts them as kept if the item does not allow a retry."""
        rows = self._ledger.read_files([file_id])
        row = next((r for r in rows if r.item and r.item.item_id == item_id), None)
        if row is None or row.item is None or row.state != "done" or row.end is None:
            self._count_kept(self._open_lines(item_id, is_chosen), "its work item is not done; retry when it is")
            return
        if row.item.split == WHOLE and row.item.header and not row.item.compressed:
            self._count_kept(
                self._open_lines(item_id, is_chosen), "its file's header changes on the way; load the file again"
            )
            return
        self._complete_claims(row.item)
        for batch in _split_batches(self._open_lines(item_id, is_chosen)):
            self._try_lines(row.item, batch)
        self._update_ledger(row)

    def _open_lines(self, item_id: bytes, is_chosen: Callable[[QuarantinedLine], bool]) -> Iterator[QuarantinedLine]:
        lines = filter(self._is_seen, self._quarantine.lines_of_item(item_id))
        return (line for line in lines if line.state == OPEN and is_chosen(line))

    def _complete_claims(self, item: WorkItem) -> None:
        """Completes earlier retries of an item that broke off."""
        open_claims: dict[str, list[int]] = defaultdict(list)
        written: set[str] = set()
        for line in self._quarantine.lines_of_item(item.item_id):
            if line.claim and line.state == OPEN:
                open_claims[line.claim].append(line.offset)
            elif line.claim:
                written.add(line.claim)
        for claim, offsets in open_claims.items():
            lines = [self._quarantine.find_line(f"{item.item_id.hex()}:{offset}") for offset in offsets]
            if claim not in written:
                events, fits = self._parse_lines(item, lines)
                rejected = [line for line in lines if line.offset not in fits]  # by definitions that changed in between
                if not self._rewrite_events(item, claim, events, rejected):
                    return self._complete_anew(item)
                for line in rejected:
                    self._quarantine.claim_lines(self._sink, [line], "")
                lines = [line for line in lines if line.offset in fits]
            self._mark_retried(lines, claim)

    def _complete_anew(self, item: WorkItem) -> None:
        """Completes the item's claims by the definitions as they are now."""
        self._catalog = SourceResolver(self._store)
        self._complete_claims(item)

    def _try_lines(self, item: WorkItem, lines: list[QuarantinedLine]) -> None:
        """Claims the lines that parse now and writes their events; counts the others by reason."""
        self._count_kept((line for line in lines if line.lines > 1), "only counted; load the file again")
        self._count_kept((line for line in lines if not line.whole and line.lines == 1), "only its beginning is kept")
        lines = [line for line in lines if line.whole]
        if not lines:
            return
        events, fits = self._parse_lines(item, lines)
        good = [line for line in lines if line.offset in fits]
        for line in lines:
            if line.offset not in fits:
                self._count_kept([line], line.reason)
        if not good:
            return
        claim = claim_of(item.item_id, [line.offset for line in good])
        self._quarantine.claim_lines(self._sink, good, claim)
        if self._write_events(ItemWriter(self._sink, bytes.fromhex(claim), item.file_id), events):
            self._mark_retried(good, claim)
        else:
            self._complete_anew(item)

    def _parse_lines(self, item: WorkItem, lines: list[QuarantinedLine]) -> tuple[Events, set[int]]:
        """Returns the events of lines, and the offsets of the lines that became events.

        The events have the offsets of the lines in their file.
        """
        if any(line.is_hidden for line in lines):
            raise StoreError(f"lines of {show_path(item.log_path)} have a label that was granted only now; try again")
        raws = [line.raw + b"\n" for line in lines]
        starts = np.cumsum([0, *(len(raw) for raw in raws[:-1])])
        offsets = np.array([line.offset for line in lines], np.int64)
        parser = open_parser(item.feed, item.header, self._catalog)
        parsed = parser.parse(Chunk(0, b"".join(raws)))
        events: Events = []
        fits: set[int] = set()
        for source, batch in parsed.events:
            at = batch.schema.get_field_index(OFFSET_COLUMN)
            places = np.searchsorted(starts, batch.column(at).to_numpy(), side="right") - 1
            events.append((source, batch.set_column(at, OFFSET_COLUMN, pa.array(offsets[places]))))
            fits.update(offsets[places].tolist())
        return events, fits

    def _write_events(self, writer: ItemWriter, events: Events, again: bool = False) -> bool:
        """Writes events durably. Returns false if a field was indexed meanwhile, so that they must be written again."""
        for source, batch in events:
            writer.write_events(source, batch)
        writer.put_writes(writer.encode_rest())
        if again:
            writer.replace_earlier(self._store)
        self._sink.flush()
        return not writer.lacks_index(self._store.catalog.read_sources())

    def _rewrite_events(self, item: WorkItem, claim: str, events: Events, rejected: list[QuarantinedLine]) -> bool:
        """Writes events as ``_write_events`` does, and removes what an earlier attempt of the claim has left.

        The earlier attempt may have used other definitions.

        ``rejected`` are the claim's lines that are no events now.
        """
        writer = ItemWriter(self._sink, bytes.fromhex(claim), item.file_id, again=True)
        complete = self._write_events(writer, events, again=True)
        sources = sources_of_feed(item.feed, self._store.catalog.read_sources()) if rejected else []
        times = GoneTimes(item, sources)
        times.add(line.raw for line in rejected)
        writer.sweep_earlier(
            self._store, GoneLines(np.array([r.offset for r in rejected], np.int64), times.times), sources
        )
        return complete

    def _mark_retried(self, lines: list[QuarantinedLine], claim: str) -> None:
        self._quarantine.close_lines(self._sink, (replace(line, claim=claim) for line in lines), RETRIED)
        self._sink.flush()
        self._lines += len(lines)
        self._events += len(lines)

    def _count_kept(self, lines: Iterable[QuarantinedLine], reason: str) -> None:
        count = sum(line.lines for line in lines)
        self._lines += count
        if count:
            self._kept[reason] += count

    def _update_ledger(self, row: LedgerRow) -> None:
        """Writes the ledger's figures anew from the quarantine's rows, so that a repetition changes nothing."""
        assert row.item is not None and row.end is not None
        states: dict[str, int] = defaultdict(int)
        for line in self._quarantine.lines_of_item(row.item.item_id):
            states[line.state] += line.lines
        end = replace(row.end, quarantined=states[OPEN], retried=states[RETRIED])
        if end != row.end:
            self._ledger.write_end(row.item, end)


def claim_of(item_id: bytes, offsets: Iterable[int]) -> str:
    """Returns the identity, as hex, under which lines count that are retried together.

    ``offsets`` are those of the lines in the item's file.
    """
    digest = hashlib.blake2b(b"retry" + item_id, digest_size=ITEM_ID_BYTES)
    for offset in offsets:
        digest.update(offset.to_bytes(8, "big"))
    return digest.hexdigest()


def _split_batches(lines: Iterable[QuarantinedLine]) -> Iterator[list[QuarantinedLine]]:
    """Splits lines into batches that fit into memory."""
    batch: list[QuarantinedLine] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line.raw)
        if len(batch) >= _BATCH_LINES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
