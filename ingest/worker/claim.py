"""Decides what a worker does with an item that it was given, from the ledger's row of the item.

Only ``load`` and the master write rows of items, with the password of the ingest user. A message that does not say
exactly what its item's row says is not believed, even if it is signed: whoever has found the key, or has kept an old
message, makes no worker read a file that an operator has not named.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records.ledger import LedgerRow, is_end_of_loser

MAX_ATTEMPTS = 3
"""The number of attempts in which an item may kill its worker."""
STALE_SECONDS = 10.0
"""The time after which a worker without a sign of life no longer holds its item."""

HOST_SECONDS = 30.0
"""The time for which an item waits for a host that can open its file, after all that have workers have tried: the
workers of a load join some seconds after its items."""


class ClaimAction(Enum):
    """The things that a worker can do with an item."""

    READ = "read it"
    SKIP = "it is done, or was queued again since"
    REFUSE = "the ledger has no such item"
    WAIT = "another worker is at it"
    GIVE_UP = "it took its worker down too often"


@dataclass(frozen=True)
class Claim:
    """The decision about an item. ``attempt`` counts from 1, for this queueing of the item."""

    action: ClaimAction
    attempt: int = 1


class ClaimPolicy:
    """Decides what a worker does with its items.

    It remembers for how long, by this process's clock, another worker's sign of life has not changed, because clocks of
    other hosts may be wrong.
    """

    def __init__(self) -> None:
        self._signs: dict[bytes, tuple[float, float]] = {}
        self._lost: set[bytes] = set()
        self._unread: dict[tuple[bytes, str], float] = {}

    def note_lost(self, item: WorkItem) -> None:
        """Remembers that another worker has taken an item over from this process, which must read it once more.

        What this process wrote afterwards may stand beside what the other one wrote, or have come after its compaction.
        """
        self._lost.add(item.item_id)

    def waits_for_host(self, item: WorkItem, clock: float) -> bool:
        """Returns whether an item that no host with workers can open is to wait; ``clock`` is a monotonic time."""
        key = (item.item_id, item.ticket)
        if clock - self._unread.setdefault(key, clock) < HOST_SECONDS:
            return True
        del self._unread[key]
        return False

    def decide(self, item: WorkItem, row: LedgerRow | None, now: float, clock: float) -> Claim:
        """Returns what to do with an item that has this row in the ledger.

        ``now`` is epoch seconds, ``clock`` a monotonic time.
        """
        claim = self._decide(item, row, now, clock)
        if claim.action is not ClaimAction.WAIT:
            self._signs.pop(item.item_id, None)
        return claim

    def _decide(self, item: WorkItem, row: LedgerRow | None, now: float, clock: float) -> Claim:
        if row is None or (row.item != item and row.item is not None and row.item.ticket == item.ticket):
            return Claim(ClaimAction.REFUSE)
        if row.item != item:
            # An older message of an item that was queued again, or a copy of one: another message stands for the item.
            return Claim(ClaimAction.SKIP)
        end, run = row.end, row.run
        if is_end_of_loser(run, end):
            end = None
        elif end and item.item_id in self._lost:
            self._lost.discard(item.item_id)
            return Claim(ClaimAction.READ)
        if end and end.is_final(item):
            return Claim(ClaimAction.SKIP)
        if run is None or (end and end.ticket == run.ticket):
            return Claim(ClaimAction.READ)
        if self._is_alive(item.item_id, run.at, now, clock):
            return Claim(ClaimAction.WAIT)
        if run.ticket != item.ticket:
            return Claim(ClaimAction.READ)
        return Claim(ClaimAction.GIVE_UP if run.attempt >= MAX_ATTEMPTS else ClaimAction.READ, run.attempt + 1)

    def _is_alive(self, key: bytes, at: float, now: float, clock: float) -> bool:
        """Returns true if the worker that gave a sign of life at ``at`` may still be reading the item."""
        if now - at > STALE_SECONDS:
            return False
        sign, since = self._signs.get(key, (at, clock))
        if sign != at:
            since = clock
        self._signs[key] = (at, since)
        return clock - since <= STALE_SECONDS
