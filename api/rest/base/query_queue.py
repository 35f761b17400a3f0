"""Admission of queries: a bounded number run at once, and tokens that wait get their turns one after the other.

A request takes a slot, waits for it for a bounded time, and gives it back at its end. A stream whose client does not
keep up with it pauses its slot, so that clients that read slowly, or not at all, keep nobody else from the store.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto

from .problems import RETRY_SECONDS, Problem

POLL_SECONDS = 0.1
"""The pause between two looks at whether the client of a waiting request is still there."""


@dataclass(frozen=True)
class QueueLimits:
    """The most slots of each state, in all and per token, and the seconds that a request waits for its slot."""

    running: int
    running_per_token: int
    waiting: int = 0
    waiting_per_token: int = 0
    paused: int = 0
    paused_per_token: int = 0
    wait_seconds: float = 0.0


class SlotState(Enum):
    """States of a slot. Only ``RUNNING`` slots count towards the queries that run at once."""

    WAITING = auto()
    RUNNING = auto()
    PAUSED = auto()
    RELEASED = auto()


class QuerySlot:
    """The right of one request to run. Any thread may call any method."""

    def __init__(self, queue: QueryQueue, token: str) -> None:
        self.token = token
        self.state = SlotState.WAITING
        self.granted = threading.Event()
        self._queue = queue

    def pause(self) -> None:
        """Lets another request run instead; does nothing if too many slots are paused, or this one does not run."""
        self._queue.pause(self)

    def resume(self, is_cancelled: Callable[[], bool]) -> None:
        """Returns once this slot runs again after ``pause``, or when ``is_cancelled`` returns True."""
        self._queue.resume(self, is_cancelled)

    def release(self) -> None:
        """Gives the slot back; does nothing if that has been done."""
        self._queue.release(self)


class QueryQueue:
    """Gives slots to requests. A free slot goes to the next token, in turn, that waits and has not all of its own."""

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        # Requests that wait, in their order, by token; the first token is the next to get a slot.
        self._waiting: OrderedDict[str, deque[QuerySlot]] = OrderedDict()
        self._counts: dict[SlotState, Counter[str]] = {state: Counter() for state in SlotState}

    @contextmanager
    def hold_slot(self, token: str, is_client_gone: Callable[[], bool]) -> Iterator[QuerySlot]:
        """Takes a slot as ``acquire`` does, and gives it back when the ``with`` block is left."""
        slot = self.acquire(token, is_client_gone)
        try:
            yield slot
        finally:
            slot.release()

    @contextmanager
    def begin_in_slot(self, token: str, is_client_gone: Callable[[], bool]) -> Iterator[QuerySlot]:
        """Takes a slot as ``acquire`` does, and gives it back if the ``with`` block, which begins a query, fails.

        Else it stays with the query, whose end gives it back.
        """
        slot = self.acquire(token, is_client_gone)
        try:
            yield slot
        except BaseException:
            slot.release()
            raise

    def acquire(self, token: str, is_client_gone: Callable[[], bool]) -> QuerySlot:
        """Returns a slot for a request of this token, once there is one.

        Raises the problem ``too-many-requests`` or ``busy``, for a limit per token or of all, if none is free in time,
        if too many requests wait already, or if the client has gone.
        """
        slot, deadline = QuerySlot(self, token), time.monotonic() + self._limits.wait_seconds
        with self._lock:
            self._enter(slot, SlotState.WAITING)
            self._grant_slots()
            is_refused = slot.state is SlotState.WAITING and self._is_waiting_room_full(token)
        while not is_refused and not slot.granted.wait(min(POLL_SECONDS, max(0.0, deadline - time.monotonic()))):
            is_refused = time.monotonic() >= deadline or is_client_gone()
        with self._lock:
            if slot.state is SlotState.RUNNING:
                return slot
            problem = self._explain_refusal(token)
            self._leave(slot)
        raise problem

    def pause(self, slot: QuerySlot) -> None:
        """See ``QuerySlot.pause``."""
        paused, limits = self._counts[SlotState.PAUSED], self._limits
        with self._lock:
            is_room = paused.total() < limits.paused and paused[slot.token] < limits.paused_per_token
            if slot.state is SlotState.RUNNING and is_room:
                self._leave(slot)
                self._enter(slot, SlotState.PAUSED)
                slot.granted.clear()
                self._grant_slots()

    def resume(self, slot: QuerySlot, is_cancelled: Callable[[], bool]) -> None:
        """See ``QuerySlot.resume``."""
        with self._lock:
            if slot.state is not SlotState.PAUSED:
                return
            self._leave(slot)
            self._enter(slot, SlotState.WAITING)
            # It has waited for its first turn already, so it goes before the token's requests that have not begun.
            self._waiting[slot.token].rotate(1)
            self._grant_slots()
        while not slot.granted.wait(POLL_SECONDS) and not is_cancelled():
            pass

    def count_slots(self, state: SlotState) -> int:
        """Returns the number of slots in a state, of all tokens."""
        with self._lock:
            return self._counts[state].total()

    def release(self, slot: QuerySlot) -> None:
        """See ``QuerySlot.release``."""
        with self._lock:
            if slot.state is not SlotState.RELEASED:
                self._leave(slot)
                self._grant_slots()

    def _enter(self, slot: QuerySlot, state: SlotState) -> None:
        slot.state = state
        self._counts[state][slot.token] += 1
        if state is SlotState.WAITING:
            self._waiting.setdefault(slot.token, deque()).append(slot)

    def _leave(self, slot: QuerySlot) -> None:
        """Takes a slot out of the state that it is in, which releases it."""
        counts, token = self._counts[slot.state], slot.token
        counts[token] -= 1
        if not counts[token]:
            del counts[token]
        if slot.state is SlotState.WAITING:
            self._waiting[token].remove(slot)
            if not self._waiting[token]:
                del self._waiting[token]
        slot.state = SlotState.RELEASED

    def _grant_slots(self) -> None:
        """Gives the slots that are free to requests that wait."""
        running, limits = self._counts[SlotState.RUNNING], self._limits
        while running.total() < limits.running:
            token = next((t for t in self._waiting if running[t] < limits.running_per_token), None)
            if token is None:
                return
            self._waiting.move_to_end(token)
            slot = self._waiting[token][0]
            self._leave(slot)
            self._enter(slot, SlotState.RUNNING)
            slot.granted.set()

    def _is_waiting_room_full(self, token: str) -> bool:
        waiting, limits = self._counts[SlotState.WAITING], self._limits
        return waiting.total() > limits.waiting or waiting[token] > limits.waiting_per_token

    def _explain_refusal(self, token: str) -> Problem:
        """Returns the problem of a request that waits in vain, by the limit that it met."""
        running, waiting, limits = self._counts[SlotState.RUNNING], self._counts[SlotState.WAITING], self._limits
        headers = {"Retry-After": str(RETRY_SECONDS)}
        if running[token] >= limits.running_per_token or waiting[token] > limits.waiting_per_token > 0:
            detail = f"{running[token]} requests of this token run and {waiting[token] - 1} wait; try again in a moment"
            return Problem("too-many-requests", detail, headers=headers)
        detail = f"{running.total()} requests run and {waiting.total() - 1} wait; try again in a moment"
        return Problem("busy", detail, headers=headers)
