"""A worker's claim on an item and the ledger's state of it are pure functions of the ledger's cells.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records.ledger import ItemEnd, ItemRun, LedgerRow, item_row
from watchfloor.ingest.worker.claim import HOST_SECONDS, MAX_ATTEMPTS, STALE_SECONDS, ClaimAction, ClaimPolicy

ITEM = WorkItem("/a.log", b"f" * 16, 0, 10, "web.access", b"", 10, 5, 1, 1, 10, 64, 0, "", False, "new")
DONE = ItemEnd("old", "done", 50.0, "w")


def row(
    run: ItemRun | None = None, end: ItemEnd | None = None, item: WorkItem = ITEM, at: float = 100.0
) -> LedgerRow | None:
    cells = {"queued": orjson.dumps({"at": at, "by": "m", "item": item.to_json().decode()})}
    if run:
        cells["run"] = orjson.dumps(run)
    if end:
        cells["end"] = orjson.dumps(end)
    return item_row(cells)


@pytest.mark.parametrize(
    ("run", "end", "again", "act"),
    [
        (None, None, False, ClaimAction.READ),
        (None, DONE, False, ClaimAction.SKIP),
        (None, DONE, True, ClaimAction.READ),
        (None, replace(DONE, ticket="new"), True, ClaimAction.SKIP),
        (None, replace(DONE, state="failed"), False, ClaimAction.READ),
        (None, replace(DONE, state="failed", ticket="new"), False, ClaimAction.SKIP),
        (ItemRun("new", 1, 199.0, "other"), None, False, ClaimAction.WAIT),
        (ItemRun("old", 1, 199.0, "other"), None, False, ClaimAction.WAIT),
        (ItemRun("old", 1, 199.0, "other"), replace(DONE, state="failed"), False, ClaimAction.READ),
        (ItemRun("new", 1, 199.0 - STALE_SECONDS, "other"), None, False, ClaimAction.READ),
        (ItemRun("new", MAX_ATTEMPTS, 100.0, "other"), None, False, ClaimAction.GIVE_UP),
        (ItemRun("old", MAX_ATTEMPTS, 100.0, "other"), None, False, ClaimAction.READ),
        (ItemRun("new", MAX_ATTEMPTS - 1, 0.0, "other"), None, False, ClaimAction.READ),
        # The end of a worker that had lost the item to another one, which lives or has died.
        (ItemRun("new", 2, 199.0, "b", claim="2"), replace(DONE, ticket="new", claim="1"), False, ClaimAction.WAIT),
        (ItemRun("new", 2, 100.0, "b", claim="2"), replace(DONE, ticket="new", claim="1"), False, ClaimAction.READ),
        (ItemRun("new", 2, 100.0, "b", claim="2"), replace(DONE, ticket="new", claim="2"), False, ClaimAction.SKIP),
    ],
)
def test_turn(run: ItemRun | None, end: ItemEnd | None, again: bool, act: ClaimAction) -> None:
    item = replace(ITEM, again=again)
    assert ClaimPolicy().decide(item, row(run, end, item), now=200.0, clock=0.0).action is act


@pytest.mark.parametrize(
    ("content", "end", "act"),
    [
        ("", replace(DONE, content="aa"), ClaimAction.SKIP),
        ("aa", replace(DONE, content="aa"), ClaimAction.SKIP),
        ("bb", replace(DONE, content="aa"), ClaimAction.READ),
        ("bb", DONE, ClaimAction.READ),
        ("bb", replace(DONE, ticket="new", content="bb"), ClaimAction.SKIP),
    ],
)
def test_an_end_of_other_bytes_is_no_end(content: str, end: ItemEnd, act: ClaimAction) -> None:
    item = replace(ITEM, content=content)
    found = row(None, end, item)
    assert ClaimPolicy().decide(item, found, now=200.0, clock=0.0).action is act
    assert found is not None and (found.state == "done") == (act is ClaimAction.SKIP)


def test_only_what_the_ledger_says_word_for_word_is_read() -> None:
    decide = ClaimPolicy().decide
    assert decide(ITEM, None, 200.0, 0.0).action is ClaimAction.REFUSE
    for other in (replace(ITEM, path="/etc/shadow"), replace(ITEM, again=True), replace(ITEM, header=b"#")):
        assert decide(other, row(), 200.0, 0.0).action is ClaimAction.REFUSE
    # An item that was queued again since has another message; a copy of the old one does nothing, whatever it asks for.
    for old in (replace(ITEM, ticket="old"), replace(ITEM, ticket="old", again=True)):
        for end in (None, DONE, replace(DONE, ticket="new"), replace(DONE, state="failed")):
            assert decide(old, row(end=end), 200.0, 0.0).action is ClaimAction.SKIP


def test_a_worker_that_has_lost_an_item_reads_it_once_more_when_it_is_done() -> None:
    policy, other = ClaimPolicy(), ItemRun("new", 2, 199.0, "other", claim="2")
    policy.note_lost(ITEM)
    assert policy.decide(ITEM, row(other), 200.0, 0.0).action is ClaimAction.WAIT
    done = row(other, replace(DONE, ticket="new", claim="2"))
    assert policy.decide(ITEM, done, 200.0, 0.0).action is ClaimAction.READ
    assert policy.decide(ITEM, done, 200.0, 0.0).action is ClaimAction.SKIP


def test_attempts_are_counted_per_ticket() -> None:
    assert ClaimPolicy().decide(ITEM, row(), 200.0, 0.0).attempt == 1
    assert ClaimPolicy().decide(ITEM, row(ItemRun("new", 1, 100.0, "x")), 200.0, 0.0).attempt == 2
    assert ClaimPolicy().decide(ITEM, row(ItemRun("old", 2, 100.0, "x")), 200.0, 0.0).attempt == 1


def test_a_clock_that_is_ahead_does_not_hold_an_item_for_ever() -> None:
    policy, future = ClaimPolicy(), row(ItemRun("new", 1, 10_000.0, "other"))
    later = row(ItemRun("new", 1, 10_001.0, "other"))
    assert policy.decide(ITEM, future, 200.0, 0.0).action is ClaimAction.WAIT
    assert policy.decide(ITEM, future, 200.0, STALE_SECONDS).action is ClaimAction.WAIT
    assert policy.decide(ITEM, later, 200.0, STALE_SECONDS + 1).action is ClaimAction.WAIT
    assert policy.decide(ITEM, later, 200.0, 2 * STALE_SECONDS + 2).action is ClaimAction.READ


def test_an_item_that_no_host_can_open_waits_for_a_time_in_each_queueing() -> None:
    policy, later = ClaimPolicy(), replace(ITEM, ticket="later")
    assert policy.waits_for_host(ITEM, 100.0) and policy.waits_for_host(ITEM, 100.0 + HOST_SECONDS - 1)
    assert policy.waits_for_host(later, 100.0 + HOST_SECONDS)
    assert not policy.waits_for_host(ITEM, 100.0 + HOST_SECONDS)
    assert policy.waits_for_host(ITEM, 200.0 + HOST_SECONDS), "it was queued again"


def test_a_queued_item_says_which_hosts_could_not_open_its_file() -> None:
    missed = ItemRun("new", 0, 0.0, "w", missed={"b": "Permission denied", "a": "No such file or directory"})
    found = row(missed)
    assert found is not None and (found.state, found.run) == ("queued", missed)
    assert found.reason == "/a.log: cannot be read on a: No such file or directory; on b: Permission denied"
    again = row(replace(missed, ticket="old"))
    assert again is not None and again.reason == ""


@pytest.mark.parametrize(
    ("run", "end", "again", "state"),
    [
        (None, None, False, "queued"),
        (ItemRun("new", 1, 101.0, "w"), None, False, "running"),
        (ItemRun("new", 0, 0.0, "w"), None, False, "queued"),
        (ItemRun("old", 1, 90.0, "w"), None, False, "queued"),
        (ItemRun("later", 1, 101.0, "w"), None, False, "running"),
        (ItemRun("new", 1, 101.0, "w"), ItemEnd("new", "done", 105.0, "w"), False, "done"),
        # A worker that took the item on a second time, in vain, does not undo its end.
        (ItemRun("new", 2, 110.0, "z"), ItemEnd("new", "done", 105.0, "w"), False, "done"),
        (None, DONE, False, "done"),
        (None, DONE, True, "queued"),
        (ItemRun("old", 1, 40.0, "w"), replace(DONE, state="failed"), False, "queued"),
        (ItemRun("new", 1, 120.0, "w"), replace(DONE, state="failed"), False, "running"),
        # What an older message of the item, or a copy of one, has come to is not the end of its last queueing.
        # The worker that has the item now has not ended, whatever the one that had it before says.
        (ItemRun("new", 2, 110.0, "z", claim="2"), ItemEnd("new", "done", 120.0, "w", claim="1"), False, "running"),
        (ItemRun("new", 1, 0.0, "z", claim="2"), ItemEnd("new", "done", 120.0, "w", claim="1"), False, "queued"),
        (ItemRun("new", 2, 110.0, "z", claim="2"), ItemEnd("new", "done", 120.0, "z", claim="2"), False, "done"),
        (None, ItemEnd("older", "failed", 120.0, "w"), False, "queued"),
        (ItemRun("older", 1, 110.0, "w"), ItemEnd("older", "failed", 120.0, "w"), False, "queued"),
    ],
)
def test_state(run: ItemRun | None, end: ItemEnd | None, again: bool, state: str) -> None:
    found = row(run, end, replace(ITEM, again=again))
    assert found is not None and found.state == state


def test_figures_of_a_row() -> None:
    running = row(ItemRun("new", 1, 101.0, "w", bytes=4, events=3, quarantined=1))
    assert running is not None and (running.progress, running.events, running.quarantined, running.lines) == (
        4,
        3,
        1,
        4,
    )
    done = row(None, ItemEnd("new", "done", 105.0, "w", events=7, quarantined=2, retried=1, entries=90))
    assert done is not None and (done.progress, done.events, done.quarantined, done.entries) == (10, 8, 2, 90)
    assert item_row({"run": b"{}"}) is None
