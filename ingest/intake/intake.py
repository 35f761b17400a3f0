"""Queues a file for the master and for ``load``: recognises it, registers its sources, cuts it, sends its items.

Items go to the ledger before they go to the queue, because workers take no item that the ledger lacks. If this process
dies in between, the queue lacks items that the ledger calls queued: the master queues those again (``requeue.py``), and
so does ``load`` for its own files.
"""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from watchfloor.ingest.files.file_scan import (
    WHOLE,
    FileScan,
    cut_by,
    cut_like,
    hash_later,
    hash_ranges,
    is_as_known,
    items_of,
    scan_file,
    scan_later,
)
from watchfloor.ingest.files.open_file import OpenLog, join_member, name_log, open_log_file, read_state, stat_log_file
from watchfloor.ingest.files.scan_ahead import ScanAhead
from watchfloor.ingest.identity.early_file import EarlyFile, can_be_early
from watchfloor.ingest.identity.recognise import LongFileFinder
from watchfloor.ingest.parsing.format import SniffResult
from watchfloor.ingest.queue.item import BLAKE2B, BLAKE3, DRAWN, WorkItem
from watchfloor.ingest.queue.waiting import Waiting
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.records.ledger import OPEN_STATES, BegunQueueing, Ledger, LedgerRow, SeenFile
from watchfloor.ingest.records.long_files import LongFiles, is_long
from watchfloor.ingest.records.old_files import OldFiles
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.runtime.process_identity import name_this_process
from watchfloor.store.store import Store

from .logs_in_file import sniff_logs

LONG_ITEM = 4
"""The length of the longest items, as a multiple of ``item_bytes``."""


@dataclass(frozen=True)
class Offer:
    """The outcome of offering a file.

    ``items`` are all items of the file, ``queued`` those of them that were sent now. ``has_open``: some of them are not
    done. ``grown``: the file's beginning was queued earlier, and only the lines after it are new. ``damaged``: what it
    is packed in breaks off or lacks a part. ``left_out`` says why members of an archive are not loaded, a line each.
    """

    path: str
    items: tuple[WorkItem, ...]
    queued: tuple[WorkItem, ...]
    has_open: bool = False
    grown: bool = False
    damaged: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """The bytes of all items, uncompressed."""
        return sum(item.end - item.start for item in self.items)


class LostTurn(Exception):
    """Raised if another master has begun to queue a file that this one was about to queue."""


@dataclass(frozen=True)
class _ScannedLog:
    """A log, the ledger's rows of its items, and its path as it was seen before, with the cell that says so."""

    scan: FileScan
    rows: list[LedgerRow]
    seen: SeenFile | None
    cell: bytes | None


class Intake:
    """Queues files.

    Raises ``InputFileError`` for a file that it refuses, ``StoreError`` or ``QueueError`` if a server fails.
    """

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        producer: ItemProducer,
        fenced: bool = False,
        scan_ahead: ScanAhead | None = None,
        settings: Settings | None = None,
    ) -> None:
        """``fenced``: other masters may watch the same files, and only one of them queues each state of a file.

        ``scan_ahead`` scans one of the files already. ``settings`` say how files are cut (default: those of the store).
        """
        self._scan_ahead, self._settings = scan_ahead, settings or store.settings
        self._store, self._ledger, self._producer, self._fenced = store, ledger, producer, fenced
        self._old_files, self._long_files = OldFiles(store), LongFiles(store)
        self._finder = LongFileFinder(self._long_files, ledger)

    def known_sources(self) -> Mapping[str, Source]:
        """Returns all sources of the catalog, by name."""
        return self._store.catalog.read_sources()

    def offer_file(
        self, path: str, feed: str | None, *, again: bool = False, waiting: Callable[[], Waiting] | None = None
    ) -> Offer:
        """Queues the items of a file that are not done, or all with ``again``.

        ``path`` must be absolute and without links. ``waiting`` returns the items that the queue holds: items that are
        neither done nor among them are queued again, because nobody would read them. Without ``waiting`` items that
        the ledger calls queued or running are left alone, unless their file is no longer under the path they name.
        """
        # The file is opened once: the file that is recognised is the file that is hashed and cut.
        with open_log_file(path) as file:
            found = sniff_logs(file, feed, self.known_sources())
            for sniffed in found.logs.values():
                for source in sniffed.sources:
                    self._store.catalog.register(source)
            offers = []
            for file.member, sniffed in found.logs.items():
                if early := self._offer_early(file, sniffed, again):
                    offers.append(early)
                    continue
                if begun := self._find_begun(file, sniffed):
                    offers.append(self._offer_log(file, sniffed, begun, again, waiting))
                scanned = self._scan_file(file, sniffed)
                scan = scanned.scan
                offers.append(self._offer_log(file, sniffed, scanned, again, waiting))
        if [*found.logs] != [""]:
            self._ledger.write_seen(_see_file(path, scan, "", ""))
        return _join_offers(path, offers, found.left_out)

    def _offer_early(self, file: OpenLog, sniffed: SniffResult, again: bool) -> Offer | None:
        """Queues the items of a long new file, and finds its content out afterwards. Returns None for any other file.

        Among several masters one takes each state of a file, by its content: so it must be known before.
        """
        size, path = read_state(file).st_size, name_log(file)
        if self._fenced or not sniffed.splittable or not can_be_early(file):
            return None
        seen = self._ledger.read_seen(path)
        may_have_grown = seen is not None and seen.feed == sniffed.feed and 0 < seen.length <= size
        if may_have_grown or (early := EarlyFile.draw_identity(self._long_files, size)) is None:
            return None
        scan = scan_later(file, size, early.row.file_id, choose_item_bytes(self._settings, size))
        items = items_of(scan, path, sniffed.feed, sniffed.header, secrets.token_hex(8))
        queued = tuple(replace(item, again=again) for item in items)
        self._ledger.write_queued(queued, self._producer.topic)
        # Before anything is read: if this process dies, a file that has grown by then is known by its path.
        self._ledger.write_seen(_see_file(path, scan, sniffed.feed, scan.file_id.hex(), scan.length))
        self._producer.send(queued)
        early.settle(show_path(path), lambda: hash_later(file, scan))
        return Offer(path, queued, queued, has_open=True)

    def _offer_log(
        self,
        file: OpenLog,
        sniffed: SniffResult,
        scanned: _ScannedLog,
        again: bool,
        waiting: Callable[[], Waiting] | None,
    ) -> Offer:
        """Queues the items of one log in an open file. Raises ``LostTurn`` if another master does so."""
        scan, rows, path = scanned.scan, scanned.rows, str(file.name)
        items = items_of(scan, path, sniffed.feed, sniffed.header, secrets.token_hex(8))
        known = {row.item.item_id: row for row in rows if row.item}
        if scan.digest == DRAWN and any(row.state != "done" or _has_moved(row.item) for row in rows if row.item):
            # What others read, or still read, may be the bytes of another file.
            contents = hash_ranges(file, scan.ranges)
            items = tuple(replace(item, content=content) for item, content in zip(items, contents, strict=True))
        if again:
            items = (*self._earlier_items(items), *items)
        elif scan.before and scanned.seen and scanned.seen.digest == DRAWN:
            items = (*(item for item in self._earlier_items(items) if self._is_left_over(item, waiting)), *items)
        queued = tuple(
            replace(item, again=again)
            for item in items
            if again or self._must_be_queued(item, known.get(item.item_id), waiting)
        )
        seen = _see_file(join_member(path, scan.member), scan, sniffed.feed, scan.file_id.hex(), scan.length)
        turn = self._take_turn(scanned, seen) if self._fenced else None
        self._ledger.write_queued(queued, self._producer.topic)
        self._producer.send(queued)
        if turn is None:
            self._ledger.write_seen(seen)
        else:
            # If another master has taken this one for dead, it has queued the same items and knows more of the file.
            self._ledger.swap_seen(turn, seen)
        sent = {item.item_id: item for item in queued}
        has_open = bool(queued) or any(row.state in OPEN_STATES for row in known.values())
        all_items = tuple(sent.get(i.item_id, i) for i in items)
        return Offer(path, all_items, queued, has_open, bool(scan.before), scan.damaged)

    def _take_turn(self, scanned: _ScannedLog, seen: SeenFile) -> bytes:
        """Records what is about to be queued of a log, and returns the ledger's cell that says so.

        Raises ``LostTurn`` if another master has done so since the log was scanned.
        """
        scan = scanned.scan
        turn = secrets.token_hex(8)
        begun = BegunQueueing(scan.file_id.hex(), scan.size, scan.split, seen.feed, turn, scan.digest)
        # Until its items are queued the file counts as it was before, or as never seen.
        known = scanned.seen or replace(seen, size=-1, file_id="", length=0)
        cell = self._ledger.swap_seen(scanned.cell, replace(known, begun=begun))
        if cell is None:
            raise LostTurn(seen.path)
        return cell

    def refuse_file(self, path: str, state: tuple[int, int], reason: str, cell: bytes | None) -> None:
        """Records that a file is in no known format, so that it is looked at again only when it changes.

        ``state`` are its size and time of modification; ``cell`` is the ledger's of before: if that has changed,
        another master knows more of the file.
        """
        now, by = time.time(), name_this_process()
        self._ledger.swap_seen(cell, SeenFile(path, *state, "refused", now, by, reason=reason))

    def _must_be_queued(self, item: WorkItem, row: LedgerRow | None, waiting: Callable[[], Waiting] | None) -> bool:
        """Returns true for an item that nobody can read: it is neither done, nor in the queue with the file's path."""
        if row is None or row.item is None or row.state == "failed":
            return True
        if row.state not in OPEN_STATES:
            return not row.is_done_as(item)
        if _has_moved(row.item):
            return True
        if waiting is None:
            return False
        if row.topic == self._producer.topic and (row.item.item_id, row.item.ticket) in waiting():
            return False
        # A worker may have ended the item since its row was read.
        now = self._ledger.read_item(row.item)
        return now is None or not now.is_done_as(item)

    def _is_left_over(self, item: WorkItem, waiting: Callable[[], Waiting] | None) -> bool:
        """Returns whether an item of what the file was before must be queued again: its load may have broken off."""
        return self._must_be_queued(item, self._ledger.read_item(item), waiting)

    def _find_begun(self, file: OpenLog, sniffed: SniffResult) -> _ScannedLog | None:
        """Returns the state of the log that a master has begun to queue and not ended; None if there is none."""
        seen = self._ledger.read_seen(name_log(file))
        if seen is None or seen.begun is None or seen.begun.feed != sniffed.feed:
            return None
        scanned = self._scan_file(file, sniffed, seen.begun)
        return scanned if scanned.scan.file_id.hex() == seen.begun.file_id else None

    def _scan_file(self, file: OpenLog, sniffed: SniffResult, begun: BegunQueueing | None = None) -> _ScannedLog:
        """Returns the log's identity and ranges, or those of a part that another master has ``begun`` to queue."""
        feed, mark, upto = sniffed.feed, None, begun.size if begun else None
        digest = begun.digest if begun and begun.digest != DRAWN else BLAKE3
        seen, cell = self._ledger.read_seen_cell(name_log(file))
        if seen is not None and seen.file_id and seen.length and seen.feed == feed:
            mark = self._finder.make_mark(file, seen)
        split = WHOLE
        if begun is not None:
            split = begun.split
        elif sniffed.splittable:
            split = choose_item_bytes(self._settings, os.fstat(file.fileno()).st_size)
        scan = None
        if self._scan_ahead is not None and begun is None and (ahead := self._scan_ahead.take(file, mark)):
            scan = cut_by(file, ahead, split)
        scan = scan or scan_file(file, split, mark, upto, digest)
        rows = self._rows_of_file(scan.file_id, feed)
        if not rows and digest == BLAKE3 and (old_files := self._old_files.find_of_length(scan.length)):
            old = scan_file(file, split, mark, upto, BLAKE2B)
            if old.file_id in old_files and (old_rows := self._rows_of_file(old.file_id, feed)):
                scan, rows = old, old_rows
        if not rows and scan.digest == BLAKE3 and is_long(scan.length) and (drawn := self._finder.identify(file, scan)):
            scan, rows = replace(scan, file_id=drawn, digest=DRAWN), self._rows_of_file(drawn, feed)
        like = next((row.item for row in rows if row.item), None)
        if like is not None and (like.split, like.base) != (scan.split, scan.base):
            scan = cut_like(file, scan, like)
        return _ScannedLog(scan, rows, seen, cell)

    def _earlier_items(self, items: tuple[WorkItem, ...]) -> tuple[WorkItem, ...]:
        """Returns the items of the states that the file had before it grew, the oldest state first."""
        earlier: tuple[WorkItem, ...] = ()
        first = items[0] if items else None
        while first is not None and first.before:
            rows = self._rows_of_file(bytes.fromhex(first.before), first.feed)
            part = tuple(
                replace(
                    row.item,
                    path=first.path,
                    member=first.member,
                    compressed=first.compressed,
                    size=first.size,
                    inode=first.inode,
                    mtime_ns=first.mtime_ns,
                    ctime_ns=first.ctime_ns,
                    ticket=first.ticket,
                )
                for row in rows
                if row.item
            )
            earlier = (*part, *earlier)
            first = part[0] if part else None
        return earlier

    def _rows_of_file(self, file_id: bytes, feed: str) -> list[LedgerRow]:
        return [row for row in self._ledger.read_files([file_id]) if row.item and row.item.feed == feed]


def choose_item_bytes(settings: Settings, size: int) -> int:
    """Returns the length in bytes of the items of a file of ``size`` bytes.

    An item costs a worker a start and an end, at which its threads have little to do. So items of a long file are
    longer, while each partition still gets one. Items of a bulk load are long already; there all items of a file get
    about the same length.
    """
    if settings.ingest_mode == "bulk":
        items = math.ceil(size / settings.item_bytes)
        return math.ceil(size / items) if items else settings.item_bytes
    return min(max(size // settings.partitions, settings.item_bytes), LONG_ITEM * settings.item_bytes)


def _see_file(path: str, scan: FileScan, feed: str, file_id: str, length: int = 0) -> SeenFile:
    """Returns the row that says in which state a file, or a log in it, was queued."""
    return SeenFile(
        path,
        scan.size,
        scan.mtime_ns,
        "queued",
        time.time(),
        name_this_process(),
        feed=feed,
        file_id=file_id,
        length=length,
        digest=scan.digest,
    )


def _join_offers(path: str, offers: list[Offer], left_out: tuple[str, ...]) -> Offer:
    """Returns the offers of the logs in a file as one. Of members with the same content one counts."""
    items = {item.item_id: item for offer in offers for item in offer.items}
    queued = {item.item_id: item for offer in offers for item in offer.queued}
    return Offer(
        path,
        tuple(items.values()),
        tuple(queued.values()),
        any(offer.has_open for offer in offers),
        any(offer.grown for offer in offers),
        any(offer.damaged for offer in offers),
        left_out,
    )


def _has_moved(item: WorkItem) -> bool:
    """Returns true if the file that was queued is no longer under its path, as after the rotation of a log.

    A file that was not hashed when it was queued must also be as it was.
    """
    found = stat_log_file(item.path)
    if found is None or found.st_ino != item.inode:
        return True
    return item.digest == DRAWN and not is_as_known(item, found)
