"""Whose turn it is with an item: what a worker does with one that it was given, by what the ledger says. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records.ledger import LedgerRow

MAX_ATTEMPTS = 3
"""Times that an item may take its worker down with it."""
STALE_SECONDS = 10.0
"""A worker that gave no sign for this long has let go of its item."""


class Act(Enum):
    READ = "read it"
    SKIP = "it is done"
    WAIT = "another worker is at it"
    GIVE_UP = "it took its worker down too often"


@dataclass(frozen=True)
class Turn:
    """``attempt`` counts from 1, for this queueing of the item."""

    act: Act
    attempt: int = 1


class Turns:
    """Decides, and remembers for how long another worker's sign of life has stayed the same by this process's clock,
    because clocks of other hosts may be wrong."""

    def __init__(self) -> None:
        self._signs: dict[bytes, tuple[float, float]] = {}

    def take(self, item: WorkItem, row: LedgerRow | None, now: float, clock: float) -> Turn:
        """``now`` is epoch seconds, ``clock`` a monotonic time."""
        key = item.item_id
        turn = self._take(item, row, now, clock)
        if turn.act is not Act.WAIT:
            self._signs.pop(key, None)
        return turn

    def _take(self, item: WorkItem, row: LedgerRow | None, now: float, clock: float) -> Turn:
        if row is None:
            return Turn(Act.READ)
        end, run = row.end, row.run
        if end and (end.ticket == item.ticket or (end.state == "done" and not item.again)):
            return Turn(Act.SKIP)
        if run is None or (end and end.ticket == run.ticket):
            return Turn(Act.READ)
        if self._alive(item.item_id, run.at, now, clock):
            return Turn(Act.WAIT)
        if run.ticket != item.ticket:
            return Turn(Act.READ)
        return Turn(Act.GIVE_UP if run.attempt >= MAX_ATTEMPTS else Act.READ, run.attempt + 1)

    def _alive(self, key: bytes, at: float, now: float, clock: float) -> bool:
        if now - at > STALE_SECONDS:
            return False
        sign, since = self._signs.get(key, (at, clock))
        if sign != at:
            since = clock
        self._signs[key] = (at, since)
        return clock - since <= STALE_SECONDS
