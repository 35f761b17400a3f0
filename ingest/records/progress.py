"""Summarizes the ledger: how much waits for the workers, since when, and how fast they are."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from .ledger import OPEN_STATES, LedgerRow

RATE_WINDOWS = (60, 600, 3600)
"""Seconds before now over which rates are averaged."""


@dataclass
class StateTotals:
    """The totals of the work items in one state; ``bytes`` are those of their ranges of files."""

    items: int = 0
    bytes: int = 0
    events: int = 0
    quarantined: int = 0


@dataclass
class IngestRate:
    """The items that ended within the last ``seconds``; each counts by the share of its reading within them."""

    seconds: int
    items: int = 0
    bytes: float = 0.0
    events: float = 0.0


@dataclass
class IngestProgress:
    """The ledger's rows by state, what is left to read, and the rates of what was read.

    ``waiting_since`` (epoch seconds) is the time at which the item that has waited longest was queued; None if no item
    is queued. ``bytes_left`` are the bytes of open items that no worker has read.
    """

    states: dict[str, StateTotals] = field(default_factory=lambda: defaultdict(StateTotals))
    bytes_left: int = 0
    waiting_since: float | None = None
    rates: list[IngestRate] = field(default_factory=lambda: [IngestRate(seconds) for seconds in RATE_WINDOWS])

    def add_row(self, row: LedgerRow, now: float) -> None:
        size = 0 if row.item is None else row.item.end - row.item.start
        totals = self.states[row.state]
        totals.items += 1
        totals.bytes += size
        totals.events += row.events
        totals.quarantined += row.quarantined
        if row.state in OPEN_STATES:
            self.bytes_left += size - row.progress
        if row.state == "queued":
            self.waiting_since = row.at if self.waiting_since is None else min(self.waiting_since, row.at)
        if row.state == "done" and row.end is not None:
            for rate in self.rates:
                _add_to_rate(rate, row, size, now)


def summarize_ledger(rows: Iterable[LedgerRow], now: float | None = None) -> IngestProgress:
    """Returns the summary of the ledger's rows at ``now`` (epoch seconds; None: by the clock)."""
    progress, now = IngestProgress(), time.time() if now is None else now
    for row in rows:
        progress.add_row(row, now)
    return progress


def _add_to_rate(rate: IngestRate, row: LedgerRow, size: int, now: float) -> None:
    assert row.end is not None
    first = now - rate.seconds
    if not first < row.end.at <= now:
        return
    share = 1.0 if row.end.seconds <= 0 else min(1.0, (row.end.at - first) / row.end.seconds)
    rate.items += 1
    rate.bytes += size * share
    rate.events += row.events * share
