"""Ingest clients: worker processes with a queue of their own. The ledger tells which of their items are durable."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.queue.work_queue import ItemProducer, delete_topic
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.worker.pool import WorkerPool
from watchfloor.loadgen.harness.session import BenchSession
from watchfloor.schema.errors import InternalError, StackError
from watchfloor.schema.files.paths import show_path

from .rates import DurableItem

_POLL_SECONDS = 0.2
_PATIENCE = 180.0
_MAX_DEATHS = 3


class IngestClients:
    """``count`` worker processes that have been started."""

    def __init__(self, count: int, pool: WorkerPool, producer: ItemProducer, ledger: Ledger, log: Path) -> None:
        self.count = count
        self._pool, self._producer, self._ledger, self._log = pool, producer, ledger, log

    def announce_items(self, items: Sequence[WorkItem]) -> None:
        """Writes items to the ledger beforehand, so that queueing them takes no longer than the queue itself does."""
        self._ledger.write_queued(items, self._producer.topic)

    def queue_items(self, items: Sequence[WorkItem]) -> None:
        """Queues items that have been announced; returns when the queue has them."""
        self._producer.send(items)

    def find_durable(self, items: Sequence[WorkItem]) -> dict[bytes, DurableItem]:
        """Returns the durable ones of ``items`` by item identity. Raises ``InternalError`` if one has failed."""
        item_ids = {item.item_id for item in items}
        durable = {}
        for row in self._ledger.read_files({item.file_id for item in items}):
            item, end = row.item, row.end
            if item is None or end is None or item.item_id not in item_ids:
                continue
            if end.state != "done" or end.quarantined:
                raise InternalError(f"{item.name} of generated events ended with {end}; see {show_path(self._log)}")
            durable[item.item_id] = DurableItem(end.by, end.at - end.seconds, end.at, end.events, item.end - item.start)
        return durable

    def await_durable(
        self, items: Sequence[WorkItem], enough: Callable[[Mapping[bytes, DurableItem]], bool] | None = None
    ) -> dict[bytes, DurableItem]:
        """Supervises the clients until all items are durable, or until ``enough`` returns True for the durable ones.

        Returns the durable items, as ``find_durable``. Raises ``StackError`` if the clients die, or if no further item
        became durable for minutes.
        """
        last, before = time.monotonic() + _PATIENCE, 0
        while True:
            durable = self.find_durable(items)
            if len(durable) == len(items) if enough is None else enough(durable):
                return durable
            if len(durable) > before:
                last, before = time.monotonic() + _PATIENCE, len(durable)
            if time.monotonic() > last:
                raise StackError(
                    f"the ingest clients have ended nothing for {_PATIENCE:.0f} s; see {show_path(self._log)}"
                )
            self.supervise(_POLL_SECONDS)

    def supervise(self, seconds: float) -> None:
        """Restarts clients that die, for ``seconds`` seconds. Raises ``StackError`` if they die again and again."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._pool.restart_dead()
            if self._pool.least_deaths >= _MAX_DEATHS:
                raise StackError(f"the ingest clients die as soon as they start; see {show_path(self._log)}")
            time.sleep(min(left, _POLL_SECONDS))


@contextmanager
def run_clients(session: BenchSession, count: int) -> Iterator[IngestClients]:
    """Starts ``count`` clients and stops them at the end of the block, whatever is still queued."""
    topic = f"{session.settings.topic}.{secrets.token_hex(4)}"
    settings = replace(session.settings, topic=topic, group=topic)
    log, ledger = session.folder / "clients.log", Ledger(session.store)
    try:
        with ItemProducer(settings) as producer, WorkerPool(settings, count, log) as pool:
            pool.restart_dead()
            yield IngestClients(count, pool, producer, ledger, log)
    finally:
        ledger.close()
        delete_topic(settings)
