"""Handles one work item: claims it by the ledger, reads it, and records its end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.reading.item_reader import ItemReader, ReadTask
from watchfloor.ingest.records.ledger import ItemEnd, ItemRun
from watchfloor.schema.errors import StoreError, UserError

from .claim import MAX_ATTEMPTS, Claim, ClaimAction, ClaimPolicy
from .heartbeat import Heartbeat, Stopped
from .session import WorkerSession

STORE_TRIES = 10
"""The number of times that the store may refuse an item while it answers other requests."""
_FIRST_WAIT, _LAST_WAIT = 1.0, 20.0


class ItemHandler:
    """Handles items in one session. ``on_read`` is called when an item is read and not yet durable."""

    def __init__(
        self,
        session: WorkerSession,
        claims: ClaimPolicy,
        reader: ItemReader,
        stop: threading.Event,
        log: logging.Logger,
        on_read: Callable[[], None],
    ) -> None:
        self._session, self._claims, self._reader = session, claims, reader
        self._stop, self._log, self._on_read = stop, log, on_read

    def handle(self, item: WorkItem) -> bool:
        """Handles an item. Returns true if it is settled and may be committed; false if it is to be given back.

        An item is given back while another worker reads it, and when this worker is told to stop. A store that is down
        is waited for, and so is room on the disk. If the store refuses only this item, or another error occurs, a few
        more attempts follow; then the item has failed.
        """
        claim: Claim | None = None
        refusals = errors = 0
        failure, wait = "", _FIRST_WAIT
        while not self._stop.is_set():
            # An item that waits for room is still a queued one: no attempt has begun.
            self._session.disk.await_room(self._stop)
            if self._stop.is_set():
                break
            attempt = errors + (claim.attempt if claim is not None else 0)
            try:
                if failure:
                    self._fail_item(item, failure)
                    return True
                if claim is None:
                    claim = self._claim_item(item)
                    attempt += claim.attempt
                match claim.action:
                    case ClaimAction.WAIT:
                        return False
                    case ClaimAction.SKIP:
                        return True
                    case ClaimAction.GIVE_UP:
                        self._fail_item(item, f"its worker died in it {MAX_ATTEMPTS} times; see the worker's log")
                        return True
                    case ClaimAction.READ:
                        return self._read_item(item, attempt)
            except StoreError as error:
                # Refusals count only while the store answers other requests and has room for writes; a store that is
                # down is waited for.
                answers = self._session.reopen_after(error)
                refusals += answers and self._session.disk.has_room()
                if refusals >= STORE_TRIES:
                    failure = f"the store refused it {refusals} times: {error}"
                self._log.error("%s: %s; trying again in %.0f s", item.name, error, wait)
                self._stop.wait(wait)
                wait = min(wait * 2, _LAST_WAIT)
            except Exception as error:
                if failure:
                    raise  # The ledger cannot take the item's end: that ends this worker, and the pool starts another.
                self._log.exception("%s: attempt %d failed", item.name, attempt)
                errors += 1
                if attempt >= MAX_ATTEMPTS:
                    failure = f"{type(error).__name__}: {error}"
        return False

    def _claim_item(self, item: WorkItem) -> Claim:
        return self._claims.decide(item, self._session.ledger.read_item(item), time.time(), time.monotonic())

    def _read_item(self, item: WorkItem, attempt: int) -> bool:
        """Reads the item. Returns false if the worker was told to stop on the way."""
        session = self._session
        row = session.ledger.read_item(item)
        heartbeat = Heartbeat(
            session.ledger, item, ItemRun(item.ticket, attempt, time.time(), session.name), self._stop, session.disk
        )
        try:
            with session.event_sink(waiting=heartbeat.beat) as event_sink:
                task = ReadTask(
                    session.store,
                    session.sink,
                    item,
                    heartbeat.report,
                    event_sink,
                    begun=row is not None and row.run is not None,
                    ended=row is not None and row.end is not None,
                    on_read=self._on_read,
                )
                end = self._reader.read(task)
        except UserError as error:
            self._fail_item(item, str(error))
            return True
        except Stopped:
            heartbeat.release()
            self._log.info("%s: let go of, another worker reads it again", item.name)
            return False
        session.ledger.write_end(item, end)
        rate = (item.end - item.start) / 1e6 / max(end.seconds, 1e-3)
        self._log.info("%s: %d events, %d quarantined, %.1f MB/s", item.name, end.events, end.quarantined, rate)
        return True

    def _fail_item(self, item: WorkItem, reason: str) -> None:
        """Records that the item has failed, unless another worker has completed it meanwhile."""
        ledger = self._session.ledger
        row = ledger.read_item(item)
        if row and row.end and row.end.ticket == item.ticket and row.end.state == "done":
            return
        ledger.write_end(item, ItemEnd(item.ticket, "failed", time.time(), self._session.name, reason=reason))
        self._log.error("%s: failed: %s", item.name, reason)
