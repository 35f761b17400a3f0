"""Handles one work item: claims it by the ledger, reads it, and records its end.

A message that carries no item of the ledger becomes a dead letter.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from watchfloor.ingest.metrics.worker_metrics import ITEM_SECONDS, ITEMS
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.queue.item_buffer import Delivery
from watchfloor.ingest.queue.other_hosts import find_other_host
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.reading.item_reader import ItemReader, ReadTask
from watchfloor.ingest.records.ledger import ItemEnd, ItemRun, LedgerRow, describe_missed
from watchfloor.schema.errors import QueueError, StoreError, UnreachableFileError, UnsettledFileError, UserError

from .claim import MAX_ATTEMPTS, Claim, ClaimAction, ClaimPolicy
from .heartbeat import Heartbeat, LostItem, Stopped
from .session import WorkerSession

STORE_TRIES = 10
"""The number of times that the store may refuse an item while it answers other requests."""
LOST_WAIT = 2.0
_FIRST_WAIT, _LAST_WAIT = 1.0, 20.0


@dataclass
class _Attempts:
    """The state of the attempts to handle one message.

    ``invalid``: the reason to make a dead letter of it; ``failure``: the reason for which its item has failed.
    ``name`` is the name of the claim (``ItemRun.claim``), and ``taken`` is true once the ledger has had it.
    """

    invalid: str = ""
    failure: str = ""
    claim: Claim | None = None
    refusals: int = 0
    errors: int = 0
    wait: float = _FIRST_WAIT
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    taken: bool = False

    @property
    def number(self) -> int:
        """The number of the attempt to read the item, those of other workers included."""
        return self.errors + (self.claim.attempt if self.claim is not None else 0)

    def hold_item(self, row: LedgerRow | None) -> bool:
        """Returns whether an earlier attempt has taken the item, and no other worker has done so since."""
        return self.taken and row is not None and row.run is not None and row.run.claim == self.name


class ItemHandler:
    """Handles items in one session. ``on_read`` is called when all lines of an item are parsed, some time before
    it is durable.
    """

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

    def handle(self, delivery: Delivery) -> bool:
        """Handles a message. Returns true if it is settled and may be committed; false if it is to be given back.

        An item is given back while another worker reads it, while its file's content is needed and not known yet, and
        when this worker is told to stop. One whose file this host cannot open is passed on to a worker on another host,
        and fails when all have tried. If another worker has taken it over from this one, this one waits for the other's
        end and reads the item once more. A store that is down is waited for, and so is room on the disk. If the store
        refuses only this item, or another error occurs, a few more attempts follow; then the item has failed.
        """
        attempts = _Attempts(invalid=delivery.problem)
        while not self._stop.is_set():
            # An item that waits for room is still a queued one: no attempt has begun.
            self._session.disk.await_room(self._stop)
            if self._stop.is_set():
                break
            try:
                return self._try_message(delivery, attempts)
            except StoreError as error:
                # Refusals count only while the store answers other requests and has room for writes; a store that is
                # down is waited for.
                answers = self._session.reopen_after(error)
                attempts.refusals += answers and self._session.disk.has_room()
                if attempts.refusals >= STORE_TRIES:
                    if attempts.invalid:
                        return False
                    attempts.failure = f"the store refused it {attempts.refusals} times: {error}"
                self._log.error("%s: %s; trying again in %.0f s", _name_message(delivery), error, attempts.wait)
                self._stop.wait(attempts.wait)
                attempts.wait = min(attempts.wait * 2, _LAST_WAIT)
            except LostItem:
                if not attempts.taken:
                    return False
                self._log.warning(
                    "%s: lost to another worker; read once more when that is done", _name_message(delivery)
                )
                self._stop.wait(LOST_WAIT)
            except Exception as error:
                if attempts.invalid:
                    raise  # Not even a dead letter can be written: that ends this worker, and the pool starts another.
                self._log.exception("%s: attempt %d failed", _name_message(delivery), attempts.number)
                if attempts.failure:
                    attempts.invalid = f"{attempts.failure}; the ledger cannot take that: {error}"
                attempts.errors += 1
                if attempts.number >= MAX_ATTEMPTS:
                    attempts.failure = f"{type(error).__name__}: {error}"
        return False

    def _try_message(self, delivery: Delivery, attempts: _Attempts) -> bool:
        """Does what is due with a message. Returns as ``handle``."""
        item = delivery.item
        if item is None or attempts.invalid:
            return self._put_aside(delivery, attempts.invalid)
        if attempts.failure:
            self._fail_item(item, attempts.failure)
            return True
        row = self._session.ledger.read_item(item)
        if attempts.claim is None or not attempts.hold_item(row):
            if attempts.taken:
                self._claims.note_lost(item)
            attempts.claim = self._claims.decide(item, row, time.time(), time.monotonic())
        match attempts.claim.action:
            case ClaimAction.WAIT:
                if attempts.taken:
                    raise LostItem
                return False
            case ClaimAction.SKIP:
                return True
            case ClaimAction.REFUSE:
                attempts.invalid = "the ledger has no such item: neither load nor a master has queued it"
                return self._put_aside(delivery, attempts.invalid)
            case ClaimAction.GIVE_UP:
                self._fail_item(item, f"its worker died in it {MAX_ATTEMPTS} times; see the worker's log")
                return True
            case ClaimAction.READ:
                return self._read_item(item, row, attempts)

    def _put_aside(self, delivery: Delivery, reason: str) -> bool:
        """Makes a dead letter of a message, which is settled then."""
        self._session.dead_letters.write_letter(self._session.topic, delivery, reason)
        self._log.error("%s: put aside as a dead letter: %s", _name_message(delivery), reason)
        return True

    def _read_item(self, item: WorkItem, row: LedgerRow | None, attempts: _Attempts) -> bool:
        """Takes and reads the item, which has this row in the ledger. Returns as ``handle``."""
        session, found = self._session, row.run if row else None
        missed = found.missed if found and found.ticket == item.ticket else {}
        run = ItemRun(item.ticket, attempts.number, time.time(), session.name, claim=attempts.name, missed=missed)
        try:
            heartbeat = Heartbeat(session.ledger, item, found, run, self._stop, session.disk)
            attempts.taken = True
            with session.event_sink(waiting=heartbeat.beat) as event_sink:
                task = ReadTask(
                    session.store,
                    session.sink,
                    item,
                    heartbeat.report,
                    event_sink,
                    begun=found is not None,
                    confirm=heartbeat.confirm,
                    # An item that may kill its worker kills it beside no other item: that would count for both.
                    on_read=self._on_read if attempts.number == 1 else _begin_nothing,
                )
                end = self._reader.read(task)
            heartbeat.beat()
        except UnreachableFileError as error:
            return self._pass_on(item, heartbeat, {**missed, _host_of(session.name): error.why})
        except UnsettledFileError as error:
            heartbeat.release()
            self._log.info("%s: let go of for now: %s", item.name, error)
            return False
        except UserError as error:
            heartbeat.confirm()
            self._fail_item(item, str(error))
            return True
        except Stopped:
            heartbeat.release()
            self._log.info("%s: let go of, another worker reads it again", item.name)
            return False
        heartbeat.record_end(end)
        ITEMS.labels(end.state).inc()
        ITEM_SECONDS.observe(end.seconds)
        rate = (item.end - item.start) / 1e6 / max(end.seconds, 1e-3)
        self._log.info("%s: %d events, %d quarantined, %.1f MB/s", item.name, end.events, end.quarantined, rate)
        return True

    def _pass_on(self, item: WorkItem, heartbeat: Heartbeat, missed: Mapping[str, str]) -> bool:
        """Gives an item whose file the hosts ``missed`` could not open to another host. Returns as ``handle``.

        The ledger has it first. If this worker dies before the message is committed, the item is in the queue twice,
        and whoever gets the second message finds by the ledger that it is being read or has ended. If there is no other
        host, the item waits for one that joins, unless the host that has queued it is among those that have tried.
        """
        settings, reason = self._session.settings, describe_missed(item, missed)
        heartbeat.give_back(missed)
        try:
            found = find_other_host(settings, item, missed)
            if found is not None:
                with ItemProducer(settings) as producer:
                    producer.send([item], to=found[0])
                self._log.warning("%s: %s; a worker on %s gets the item", item.name, reason, found[1])
                return True
        except QueueError as error:
            self._log.warning("%s: %s; %s", item.name, reason, error)
            return False
        row = self._session.ledger.read_item(item)
        queued_on = _host_of(row.by) if row and row.state == "queued" else ""
        if queued_on and queued_on not in missed:
            if self._claims.waits_for_host(item, time.monotonic()):
                return False
            reason += (
                f"; no other host has workers, and it was queued on {queued_on}: give a host with workers the folder "
                "under this path, and load the file again"
            )
        self._fail_item(item, reason)
        return True

    def _fail_item(self, item: WorkItem, reason: str) -> None:
        """Records that the item has failed, unless another worker has completed it meanwhile.

        Raises ``LostItem`` if another worker takes it at this moment.
        """
        ledger = self._session.ledger
        row = ledger.read_item(item)
        if row and row.state == "done" and row.end and row.end.ticket == item.ticket:
            return
        run = row.run if row else None
        claim = run.claim if run else ""
        end = ItemEnd(item.ticket, "failed", time.time(), self._session.name, reason=reason, claim=claim)
        if not ledger.write_end_of(item, run, end):
            raise LostItem
        ITEMS.labels(end.state).inc()
        self._log.error("%s: failed: %s", item.name, reason)


def _host_of(process: str) -> str:
    return process.rpartition(":")[0]


def _begin_nothing() -> None:
    pass


def _name_message(delivery: Delivery) -> str:
    """Returns the name of a message for log lines: its item, or its place in the queue."""
    return delivery.item.name if delivery.item else f"partition {delivery.partition}, offset {delivery.offset}"
