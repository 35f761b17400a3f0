"""One worker process of the ingest pool: the flow of a work item, from the queue to its committed offset.

    queue ─▶ the ledger says whose turn it is ─▶ parse, write, quarantine (reading.py) ─▶ ledger ─▶ commit

In bulk mode the next item is read while what the one before became is imported (lanes.py).

Started by ``pool.py`` as ``python -m watchfloor.ingest.worker.worker`` with its settings on standard input, which
stays open: when the pool dies the input ends, and the worker stops too.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.queue.work_queue import Delivery, ItemConsumer
from watchfloor.ingest.records.ledger import End, Run
from watchfloor.schema.errors import QueueError, StoreError, UserError
from watchfloor.schema.settings.settings import Settings

from .claim import MAX_ATTEMPTS, Act, Turns
from .lanes import Lanes
from .process import run_process
from .reading import read_item
from .session import Desk

POLL_SECONDS = 0.25
BEAT_SECONDS = 2.0
DEFER_SECONDS = 2.0
STORE_TRIES = 10
BULK_LANES = 2
log = logging.getLogger("watchfloor.worker")


class Stopped(Exception):
    """The worker was told to stop in the middle of an item."""


def work(settings: Settings, stop: threading.Event) -> None:
    """Works until ``stop``. The queue or the store being down is said, and waited for."""
    desks = [Desk(settings, log) for _ in range(BULK_LANES if settings.ingest_mode == "bulk" else 1)]
    turns, wait = Turns(), 1.0
    while not stop.is_set():
        try:
            with closing(ItemConsumer(settings)) as queue, Lanes(desks) as lanes:
                while not stop.is_set():
                    lanes.wait()
                    delivery = queue.poll(POLL_SECONDS)
                    wait = 1.0
                    if delivery is not None:
                        lanes.begin(partial(_handle, queue, delivery, turns, stop))
        except QueueError as error:
            log.error("%s; trying again in %.0f s", error, wait)
            stop.wait(wait)
            wait = min(wait * 2, 15.0)
    for desk in desks:
        desk.close()


def _handle(
    queue: ItemConsumer,
    delivery: Delivery,
    turns: Turns,
    stop: threading.Event,
    desk: Desk,
    was_read: Callable[[], None],
) -> None:
    if delivery.item is None:
        log.error("partition %d, offset %d: %s; skipped", delivery.partition, delivery.offset, delivery.problem)
        settled = True
    else:
        with queue.busy():
            settled = _settle(desk, delivery.item, turns, stop, was_read)
    if settled:
        try:
            queue.commit(delivery)
        except QueueError as error:  # whoever gets the item next sees by the ledger that it is done
            log.warning("%s", error)
    elif not stop.is_set():
        queue.defer(delivery, DEFER_SECONDS)


def _settle(desk: Desk, item: WorkItem, turns: Turns, stop: threading.Event, was_read: Callable[[], None]) -> bool:
    """Whether the item is done with, and may be committed. Store failures are waited out."""
    wait, failures, attempt = 1.0, 0, 0
    while not stop.is_set():
        try:
            turn = turns.take(item, desk.ledger.get(item), time.time(), time.monotonic()) if not attempt else None
            if turn is not None and turn.act is Act.WAIT:
                return False
            if turn is not None and turn.act is Act.SKIP:
                return True
            if turn is not None and turn.act is Act.GIVE_UP:
                return _fail(desk, item, f"its worker died in it {MAX_ATTEMPTS} times; see the worker's log")
            attempt = turn.attempt if turn is not None else attempt
            if failures >= STORE_TRIES:
                return _fail(desk, item, f"the store refused it {failures} times: {desk.problem}")
            return _read(desk, item, attempt, stop, was_read)
        except StoreError as error:
            # Failures count only while the ledger can still be written: a store that is down is waited for.
            failures += desk.failed(error)
            log.error("%s: %s; trying again in %.0f s", item.name, error, wait)
            stop.wait(wait)
            wait = min(wait * 2, 20.0)
        except Exception as error:
            log.exception("%s: attempt %d failed", item.name, attempt)
            if attempt >= MAX_ATTEMPTS:
                return _fail(desk, item, f"{type(error).__name__}: {error}")
            attempt += 1
    return False


def _read(desk: Desk, item: WorkItem, attempt: int, stop: threading.Event, was_read: Callable[[], None]) -> bool:
    row, run = desk.ledger.get(item), Run(item.ticket, attempt, time.time(), desk.name)
    begun, ended = row is not None and row.run is not None, row is not None and row.end is not None
    desk.ledger.running(item, run)
    said = time.monotonic()

    def progress(done: int, events: int, quarantined: int) -> None:
        nonlocal run
        run = replace(run, bytes=done, events=events, quarantined=quarantined)
        beat()

    def beat() -> None:
        nonlocal said
        if stop.is_set():
            raise Stopped
        if time.monotonic() - said >= BEAT_SECONDS:
            said = time.monotonic()
            desk.ledger.running(item, replace(run, at=time.time()))

    try:
        with desk.event_sink(waiting=beat) as events_to:
            end = read_item(desk.store, desk.sink, item, progress, begun, ended, events_to, was_read)
    except UserError as error:
        return _fail(desk, item, str(error))
    except Stopped:
        desk.ledger.running(item, replace(run, attempt=attempt - 1, at=0.0))
        log.info("%s: let go of, another worker reads it again", item.name)
        return False
    desk.ledger.ended(item, end)
    rate = (item.end - item.start) / 1e6 / max(end.seconds, 1e-3)
    log.info("%s: %d events, %d quarantined, %.1f MB/s", item.name, end.events, end.quarantined, rate)
    return True


def _fail(desk: Desk, item: WorkItem, reason: str) -> bool:
    row = desk.ledger.get(item)
    if not (row and row.end and row.end.ticket == item.ticket and row.end.state == "done"):
        desk.ledger.ended(item, End(item.ticket, "failed", time.time(), desk.name, reason=reason))
        log.error("%s: failed: %s", item.name, reason)
    return True


if __name__ == "__main__":
    run_process(work)
