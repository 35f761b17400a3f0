"""Slots of the REST service: bounded in all and per token, given in turn, waited for in bounded time, paused.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.base.problems import Problem
from watchfloor.api.rest.base.query_queue import QueryQueue, QuerySlot, QueueLimits, SlotState
from watchfloor.schema.settings.load import load_settings

LIMITS = QueueLimits(
    running=3, running_per_token=2, waiting=6, waiting_per_token=4, paused=2, paused_per_token=1, wait_seconds=5
)
HURRIED = QueueLimits(running=3, running_per_token=2, waiting=6, waiting_per_token=4, wait_seconds=0.2)


def stay() -> bool:
    return False


class Waiters:
    """Requests that wait in threads; ``order`` has the tokens of those that got a slot, in that order."""

    def __init__(self, queue: QueryQueue) -> None:
        self.queue, self.order, self.refused = queue, list[str](), list[str]()
        self.slots, self.threads = list[QuerySlot](), list[threading.Thread]()

    def add(self, token: str, is_gone: Callable[[], bool] = stay) -> None:
        """Has a request wait, and returns when it does."""

        def wait() -> None:
            try:
                slot = self.queue.acquire(token, is_gone)
            except Problem as problem:
                self.refused.append(problem.kind)
            else:
                self.order.append(token)
                self.slots.append(slot)

        waiting = self.queue.count_slots(SlotState.WAITING)
        self.threads.append(threading.Thread(target=wait))
        self.threads[-1].start()
        self._wait_until(lambda: self.queue.count_slots(SlotState.WAITING) > waiting)

    def release_one_by_one(self, slots: list[QuerySlot]) -> None:
        """Gives back ``slots``, and then each slot that a request gets for one of them."""
        for slot in slots:
            self._release(slot)
        while self.slots:
            self._release(self.slots.pop(0))

    def _release(self, slot: QuerySlot) -> None:
        """Gives back a slot, and returns when the request that gets it has noticed."""
        held = len(self.slots) + (self.queue.count_slots(SlotState.WAITING) > 0)
        slot.release()
        self._wait_until(lambda: len(self.slots) >= held)

    @staticmethod
    def _wait_until(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 10
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.005)


def test_one_token_never_has_all_slots() -> None:
    queue = QueryQueue(HURRIED)
    held = [queue.acquire("a", stay), queue.acquire("a", stay)]
    began = time.monotonic()
    with pytest.raises(Problem) as refusal:
        queue.acquire("a", stay)
    assert time.monotonic() - began >= 0.2
    assert (refusal.value.kind, refusal.value.status, refusal.value.headers) == (
        "too-many-requests", 429, {"Retry-After": "5"},
    )  # fmt: skip
    held.append(queue.acquire("b", stay))
    with pytest.raises(Problem) as refusal:
        queue.acquire("c", stay)
    assert (refusal.value.kind, refusal.value.status) == ("busy", 429)
    held[0].release()
    held[0].release()
    queue.acquire("c", stay)
    with pytest.raises(Problem):
        queue.acquire("d", stay)


def test_tokens_take_turns() -> None:
    queue = QueryQueue(LIMITS)
    held = [queue.acquire(token, stay) for token in "xyz"]
    waiters = Waiters(queue)
    for token in "aaabc":
        waiters.add(token)
    waiters.release_one_by_one(held)
    assert "".join(waiters.order) == "abcaa"


def test_the_waiting_room_is_bounded_for_each_token_and_in_all() -> None:
    queue = QueryQueue(LIMITS)
    held = [queue.acquire(token, stay) for token in "xyz"]
    waiters = Waiters(queue)
    for token in "aaaabb":
        waiters.add(token)
    for token, kind in (("a", "too-many-requests"), ("b", "busy"), ("c", "busy")):
        began = time.monotonic()
        with pytest.raises(Problem) as refusal:
            queue.acquire(token, stay)
        assert refusal.value.kind == kind and time.monotonic() - began < 0.2
    waiters.release_one_by_one(held)
    assert sorted(waiters.order) == list("aaaabb")


def test_a_client_that_leaves_leaves_the_queue() -> None:
    queue = QueryQueue(LIMITS)
    held = [queue.acquire(token, stay) for token in "xyz"]
    gone = threading.Event()
    waiters = Waiters(queue)
    waiters.add("a", gone.is_set)
    waiters.add("a")
    gone.set()
    waiters.threads[0].join(2)
    assert (waiters.refused, waiters.order) == (["busy"], [])
    waiters.release_one_by_one(held)
    assert waiters.order == ["a"]


def test_a_paused_slot_lets_others_run_and_comes_back_first() -> None:
    queue = QueryQueue(LIMITS)
    first, second = queue.acquire("a", stay), queue.acquire("a", stay)
    first.pause()
    second.pause()  # a token may have one paused slot
    assert (first.state, second.state) == (SlotState.PAUSED, SlotState.RUNNING)
    third = queue.acquire("a", stay)
    waiters = Waiters(queue)
    waiters.add("a")
    resumed = threading.Thread(target=first.resume, args=(stay,))
    resumed.start()
    time.sleep(0.05)
    assert first.state is SlotState.WAITING
    third.release()
    resumed.join(2)
    assert (first.state, waiters.order) == (SlotState.RUNNING, [])
    waiters.release_one_by_one([first, second])
    assert waiters.order == ["a"]


def test_a_paused_slot_that_is_cancelled_waits_no_longer() -> None:
    queue = QueryQueue(LIMITS)
    slot = queue.acquire("a", stay)
    slot.pause()
    held = [queue.acquire(token, stay) for token in "xyz"]
    slot.resume(lambda: True)
    slot.release()
    held[0].release()
    assert queue.acquire("a", stay).state is SlotState.RUNNING


def test_watches_wait_for_their_turn_too() -> None:
    queue = QueryQueue(RestLimits(queries=2, queries_per_token=1, wait_seconds=0.3).for_watches)
    held = [queue.acquire(token, stay) for token in "aabb"]
    for token, kind in (("a", "too-many-requests"), ("c", "busy")):
        began = time.monotonic()
        with pytest.raises(Problem) as refusal:
            queue.acquire(token, stay)
        assert (refusal.value.kind, refusal.value.status) == (kind, 429)
        assert "Retry-After" in refusal.value.headers and 0.3 <= time.monotonic() - began < 5
    waiters = Waiters(queue)
    waiters.add("c")
    waiters.release_one_by_one(held[:1])
    assert waiters.order == ["c"]


def test_the_defaults_let_fifty_requests_of_a_token_wait() -> None:
    limits = RestLimits.from_settings(load_settings())
    assert limits == RestLimits()
    assert limits.for_queries.waiting_per_token >= 50
    assert limits.queries_per_token < limits.queries
    most = limits.for_queries.running + limits.for_queries.waiting + limits.for_queries.paused
    assert limits.threads > most + limits.for_watches.running
