"""Feeds events at a steady rate, as log files arrive, while something else is measured.

A load queues all of its items at once and is as fast as its workers. Here each item is queued when a schedule says,
even if the items before it are not durable: if the workers do not keep up, items wait, and the delay shows it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.schema.errors import InternalError

from .clients import IngestClients
from .rates import DurableItem

LEAST_ITEMS = 3
"""The least number of items of which a rate can be computed."""
_TICK = 0.1


@dataclass
class FeedingRecord:
    """The items that were due, in order, and their due times in seconds since 1970.

    ``durable`` is set when the feeding has ended.
    """

    items: list[WorkItem] = field(default_factory=list)
    due: list[float] = field(default_factory=list)
    durable: list[DurableItem] = field(default_factory=list)

    @property
    def events_per_second(self) -> float:
        """The rate of all items but the one that was durable first; 0 if there are fewer than two."""
        ends = sorted((done.ended, done.events) for done in self.durable)
        seconds = ends[-1][0] - ends[0][0] if ends else 0.0
        return sum(events for _, events in ends[1:]) / seconds if seconds else 0.0

    @property
    def delays(self) -> list[float]:
        """Seconds from when each item was due until it was durable."""
        return [done.ended - due for done, due in zip(self.durable, self.due, strict=True)]


@contextmanager
def feed_items(clients: IngestClients, work: Iterator[WorkItem], rate: float) -> Iterator[FeedingRecord]:
    """Queues ``rate`` items a second until the end of the block, which waits until all of them are durable.

    If the block ends before ``LEAST_ITEMS`` items were due, these are still queued. The clients should be running
    already: see ``warm_up_clients``. Raises ``InternalError`` if an item was loaded earlier, because no worker reads it
    again.
    """
    feed, stop = FeedingRecord(), threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="feeder") as thread:
        fed = thread.submit(_queue_on_schedule, clients, work, rate, stop, feed)
        try:
            yield feed
        finally:
            stop.set()
    fed.result()
    done = clients.await_durable(feed.items)
    feed.durable = [done[item.item_id] for item in feed.items]
    for item, due, end in zip(feed.items, feed.due, feed.durable, strict=True):
        if end.ended < due:
            raise InternalError(f"{item.name} was durable before it was due: it has been loaded earlier")


def _queue_on_schedule(
    clients: IngestClients, work: Iterator[WorkItem], rate: float, stop: threading.Event, feed: FeedingRecord
) -> None:
    """Queues items when they are due, until ``stop`` is set and ``LEAST_ITEMS`` items are queued."""
    began = time.time()
    for number in count():
        due = began + number / rate
        while (wait := due - time.time()) > 0 and not (stop.is_set() and number >= LEAST_ITEMS):
            clients.supervise(min(wait, _TICK))
        if stop.is_set() and number >= LEAST_ITEMS:
            return
        item = next(work)
        clients.announce_items([item])
        clients.queue_items([item])
        feed.items.append(item)
        feed.due.append(due)
