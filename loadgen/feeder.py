"""Feeds a source at a steady rate, as log files arrive: pieces of a file, queued by a schedule for a pool of workers.

A load hands over all that it has, and is as fast as the workers are. Here a schedule says when each piece is due,
whether or not those before it are durable: if the workers do not keep up, pieces wait, and the delay says so.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from watchfloor.ingest.item import FILE_ID_BYTES, WorkItem
from watchfloor.ingest.ledger import Ledger, LedgerRow
from watchfloor.ingest.pool import Pool
from watchfloor.ingest.queue import ItemProducer
from watchfloor.ingest.scan import items_of, scan_file
from watchfloor.schema.errors import InternalError, StackError
from watchfloor.schema.source import Source

from .rig import Rig

_TICK = 0.1
_DEATHS = 6
LEAST_PIECES = 3
_PATIENCE = 120.0
"""Seconds without a piece becoming durable after which it is given up."""


@dataclass(frozen=True)
class Piece:
    """A work item, and the events that its lines are."""

    item: WorkItem
    events: int


@dataclass(frozen=True)
class Durable:
    """``events`` that were due, and then were in the store for good: epoch seconds."""

    events: int
    due: float
    at: float


@dataclass
class Feed:
    """What was fed: ``durable`` is known when the feeding has ended, in the order in which it came about."""

    sent: list[tuple[Piece, float]] = field(default_factory=list)
    durable: list[Durable] = field(default_factory=list)


def cut(path: Path, source: Source, piece_bytes: int) -> list[Piece]:
    """A file in pieces of about so many bytes, whole lines each."""
    text = path.read_bytes()
    items = items_of(scan_file(path, piece_bytes), str(path), source.name, b"", "feed")
    return [Piece(item, text.count(b"\n", item.start, item.end)) for item in items]


def endless(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces of a file, round after round: the same lines each time, as if they were another file's."""
    for number in count():
        for piece in pieces:
            identity = hashlib.blake2b(piece.item.file_id + b"%d" % number, digest_size=FILE_ID_BYTES).digest()
            yield replace(piece, item=replace(piece.item, file_id=identity))


def rate_of(durable: Sequence[Durable]) -> float:
    """Events a second, of all after the first piece; in the order in which they became durable. 0 of fewer than two."""
    seconds = durable[-1].at - durable[0].at if durable else 0.0
    return sum(piece.events for piece in durable[1:]) / seconds if seconds else 0.0


class Feeder:
    """Feeds one source; see ``feeding``. Raises ``StackError`` when no piece gets durable for long."""

    def __init__(self, ledger: Ledger, producer: ItemProducer, pool: Pool, pieces: Sequence[Piece]) -> None:
        self._ledger, self._producer, self._pool = ledger, producer, pool
        self._pieces = endless(pieces)
        self.items: list[WorkItem] = []

    def saturated(self, pieces: int, warm_up: int) -> float:
        """Events a second of the workers when they have all there is at once, those of the first pieces left out."""
        sent = [(next(self._pieces), time.time()) for _ in range(warm_up + pieces)]
        self._send([piece for piece, _ in sent])
        return rate_of(self._durable(sent)[warm_up - 1 :])

    @contextmanager
    def at(self, rate: float) -> Iterator[Feed]:
        """``rate`` events a second are due until the end of the block, which waits until all of them are durable.

        Should it end before ``LEAST_PIECES`` of them were due, it waits for these too: fewer make no rate.
        """
        feed, stop = Feed(), threading.Event()
        with ThreadPoolExecutor(1, thread_name_prefix="feeder") as thread:
            feeding = thread.submit(self._feed, rate, stop, feed)
            try:
                yield feed
            finally:
                stop.set()
        feeding.result()
        feed.durable = self._durable(feed.sent)

    def _feed(self, rate: float, stop: threading.Event, feed: Feed) -> None:
        due = time.time()
        while True:
            while (wait := due - time.time()) > 0:
                self._watch()
                if stop.is_set() and len(feed.sent) >= LEAST_PIECES:
                    return
                time.sleep(min(wait, _TICK))
            piece = next(self._pieces)
            self._send([piece])
            feed.sent.append((piece, due))
            due += piece.events / rate

    def _send(self, pieces: Sequence[Piece]) -> None:
        items = [piece.item for piece in pieces]
        self._producer.send(items)
        self._ledger.queued(items)
        self.items += items

    def _durable(self, sent: Sequence[tuple[Piece, float]]) -> list[Durable]:
        """Waits until all that was sent is durable."""
        waiting = {piece.item.item_id: piece.item for piece, _ in sent}
        rows: dict[bytes, LedgerRow] = {}
        heard = time.monotonic()
        while waiting:
            self._watch()
            for row in self._ledger.of_files({item.file_id for item in waiting.values()}):
                if row.item and row.end and waiting.pop(row.item.item_id, None):
                    rows[row.item.item_id] = row
                    heard = time.monotonic()
            if time.monotonic() - heard > _PATIENCE:
                raise StackError(f"{len(waiting)} pieces that were queued do not become durable")
            time.sleep(_TICK)
        return sorted((_ended(piece, due, rows[piece.item.item_id]) for piece, due in sent), key=lambda done: done.at)

    def _watch(self) -> None:
        self._pool.watch()
        if self._pool.deaths >= _DEATHS:
            raise StackError("the feeder's workers die as soon as they start")


def _ended(piece: Piece, due: float, row: LedgerRow) -> Durable:
    assert row.end is not None
    if row.end.state != "done" or row.end.events != piece.events:
        raise InternalError(f"{piece.item.name} has {piece.events} events, and it ended as {row.end}")
    return Durable(piece.events, due, row.end.at)


@contextmanager
def feeding(rig: Rig, source: Source, path: Path, piece_bytes: int, workers: int = 1) -> Iterator[Feeder]:
    """A feeder of ``source`` with the lines of a file, and its pool of workers, until the end of the block."""
    with (
        closing(Ledger(rig.store)) as ledger,
        ItemProducer(rig.settings) as producer,
        Pool(rig.settings, workers, rig.folder / "feeder.log") as pool,
    ):
        feeder = Feeder(ledger, producer, pool, cut(path, source, piece_bytes))
        try:
            yield feeder
        finally:
            rig.loaded(path, feeder.items)
