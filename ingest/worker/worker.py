"""One worker process of the ingest pool: the flow of a work item, from the queue to its committed offset.

    queue ─▶ the ledger says whose the item is (claim.py) ─▶ parse, write, quarantine (item_reader.py)
        ─▶ ledger ─▶ commit

The next item is read while the end of the one before is encoded, written and made durable (session_pool.py).

Started by ``pool.py`` as ``python -m watchfloor.ingest.worker`` with its settings on standard input, which
stays open: when the pool dies the input ends, and the worker stops too.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial

from watchfloor.ingest.metrics.worker_metrics import PAUSED, WORKER_REGISTRY
from watchfloor.ingest.queue.item_buffer import Delivery
from watchfloor.ingest.queue.work_queue import ItemConsumer
from watchfloor.ingest.reading.item_reader import ItemReader
from watchfloor.schema.errors import QueueError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.threads import start_thread
from watchfloor.store.runtime.disk_space import DiskGuard
from watchfloor.store.runtime.metrics_port import serve_metrics

from .claim import ClaimPolicy
from .item_handler import ItemHandler
from .session import WorkerSession
from .session_pool import SessionPool

POLL_SECONDS = 0.25
DEFER_SECONDS = 2.0
_SESSIONS = 2
"""One for the item that is read, one for the item before it, which is made durable."""
_FIRST_WAIT, _LAST_WAIT = 1.0, 15.0
log = logging.getLogger("watchfloor.worker")


def run_worker(settings: Settings, stop: threading.Event, on_ready: Callable[[], None] | None = None) -> None:
    """Handles items until ``stop`` is set. While the queue or the store is down or the disk full, it logs and waits.

    ``on_ready`` is called when the queue has let this worker in and all that items need is open; without it, some is
    opened once there is an item.
    """
    disk = DiskGuard(settings, log)
    sessions = [WorkerSession(settings, log, disk) for _ in range(_SESSIONS)]
    to_open = [*sessions]
    # While the queue lets this worker in, which takes about as long; the pool takes the last session first.
    opening = [start_thread(to_open.pop().open_ahead, "open-ahead") for _ in (sessions if on_ready else sessions[:1])]
    claims, wait = ClaimPolicy(), _FIRST_WAIT
    PAUSED.set_function(lambda: disk.is_low)
    with serve_metrics(settings, "worker", WORKER_REGISTRY), ItemReader() as reader:
        while not stop.is_set():
            try:
                with closing(ItemConsumer(settings)) as queue, SessionPool(sessions) as pool:
                    while not stop.is_set():
                        pool.wait()
                        delivery = queue.poll(POLL_SECONDS)
                        wait = _FIRST_WAIT
                        if on_ready and queue.has_partitions and not any(thread.is_alive() for thread in opening):
                            on_ready()
                            on_ready = None
                        if delivery is not None:
                            pool.begin(partial(_handle_delivery, queue, delivery, claims, reader, stop))
                            if to_open:
                                start_thread(to_open.pop().open_ahead, "open-ahead")
            except QueueError as error:
                log.error("%s; trying again in %.0f s", error, wait)
                stop.wait(wait)
                wait = min(wait * 2, _LAST_WAIT)
    for session in sessions:
        session.close()


def _handle_delivery(
    queue: ItemConsumer,
    delivery: Delivery,
    claims: ClaimPolicy,
    reader: ItemReader,
    stop: threading.Event,
    session: WorkerSession,
    allow_next: Callable[[], None],
) -> None:
    """Handles a message, then commits it or defers it."""
    with queue.keep_membership():
        settled = ItemHandler(session, claims, reader, stop, log, allow_next).handle(delivery)
    if settled:
        try:
            queue.commit(delivery)
        except QueueError as error:  # the worker that gets the item next sees by the ledger that it is done
            log.warning("%s", error)
    elif not stop.is_set():
        queue.defer(delivery, DEFER_SECONDS)
