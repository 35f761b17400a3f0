"""The summary of the ledger counts items by state, what is left to read, and how fast items were read.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from typing import Any

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records.ledger import ItemEnd, ItemRun, LedgerRow
from watchfloor.ingest.records.progress import StateTotals, summarize_ledger

NOW = 1_000_000.0


def row(state: str, length: int, at: float, **more: Any) -> LedgerRow:
    item = WorkItem("a.log", b"f" * 16, 100, 100 + length, "a.b", b"", 0, 0, 0, 0, 0, 0, 0, "", False, "t")
    return LedgerRow(state, item.path, at, "a worker", item, **more)


def done(length: int, events: int, ago: float, seconds: float) -> LedgerRow:
    end = ItemEnd("t", "done", NOW - ago, "a worker", events, 1, seconds=seconds)
    return row("done", length, end.at, end=end)


def test_an_empty_ledger_has_no_lag() -> None:
    progress = summarize_ledger([], NOW)
    assert (progress.bytes_left, progress.waiting_since) == (0, None)
    assert [(rate.seconds, rate.items, rate.events) for rate in progress.rates] == [
        (60, 0, 0.0),
        (600, 0, 0.0),
        (3600, 0, 0.0),
    ]


def test_what_is_left_is_what_no_worker_has_read() -> None:
    running = row(
        "running", 1000, NOW - 1, run=ItemRun("t", 1, NOW - 1, "a worker", bytes=300, events=7, quarantined=2)
    )
    rows = [row("queued", 50, NOW - 9), row("queued", 70, NOW - 90), running, done(10, 5, 5, 1)]
    rows.append(LedgerRow("refused", "b.log", NOW, "a master", reason="no log"))
    progress = summarize_ledger(rows, NOW)
    assert progress.bytes_left == 50 + 70 + 700
    assert progress.waiting_since == NOW - 90
    assert dict(progress.states) == {
        "queued": StateTotals(2, 120),
        "running": StateTotals(1, 1000, 7, 2),
        "done": StateTotals(1, 10, 5, 1),
        "refused": StateTotals(1),
    }


def test_an_item_counts_by_its_share_of_the_window() -> None:
    # Read from 110 s to 10 s ago: half of it within the last minute.
    minute, ten_minutes, hour = summarize_ledger([done(1000, 200, 10, 100), done(7, 3, 3000, 0)], NOW).rates
    assert (minute.items, minute.bytes, minute.events) == (1, 500, 100)
    assert (ten_minutes.items, ten_minutes.bytes, ten_minutes.events) == (1, 1000, 200)
    assert (hour.items, hour.bytes, hour.events) == (2, 1007, 203)


def test_what_ended_after_now_is_no_rate() -> None:
    """The clock of another machine may be ahead."""
    assert all(rate.items == 0 for rate in summarize_ledger([done(1000, 200, -5, 1)], NOW).rates)
