"""A pool of sessions does one work after the other, unless the work says that the next may begin.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest

from watchfloor.ingest.worker.session_pool import SessionPool

_SECONDS = 20.0


def test_with_one_session_all_is_done_in_turn() -> None:
    done: list[str] = []

    def work(name: str, session: str, allow_next: Callable[[], None]) -> None:
        done.append(f"{name} begins at {session}")
        allow_next()
        done.append(f"{name} ends")

    with SessionPool(["a"]) as pool:
        for name in ("first", "second"):
            pool.wait()
            pool.begin(partial(work, name))
    assert done == ["first begins at a", "first ends", "second begins at a", "second ends"]


def test_the_next_begins_when_it_may_at_a_session_of_its_own() -> None:
    """The first goes on until the second has begun, and a third finds no free session before one of them has ended."""
    sessions: list[str] = []
    begun, over = [threading.Event() for _ in range(3)], threading.Event()
    at_once, most = 0, 0
    lock = threading.Lock()

    def work(number: int, session: str, allow_next: Callable[[], None]) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        sessions.append(session)
        begun[number].set()
        allow_next()
        if number == 0:
            assert begun[1].wait(_SECONDS)
        if number == 1:
            assert over.wait(_SECONDS)
        with lock:
            at_once -= 1

    with SessionPool(["a", "b"]) as pool:
        for number in range(3):
            pool.wait()
            pool.begin(partial(work, number))
        assert begun[2].wait(_SECONDS)
        over.set()
    assert (most, sorted(sessions[:2])) == (2, ["a", "b"])
    assert sessions[2] == sessions[0]


def test_the_next_waits_until_it_may() -> None:
    steps: list[str] = []
    may = threading.Event()

    def first(session: str, allow_next: Callable[[], None]) -> None:
        assert may.wait(_SECONDS)
        steps.append("read")
        allow_next()

    with SessionPool(["a", "b"]) as pool:
        pool.begin(first)
        threading.Timer(0.2, may.set).start()
        pool.wait()
        steps.append("next")
    assert steps == ["read", "next"]


def fail(session: str, allow_next: Callable[[], None]) -> None:
    raise ValueError("bad")


def test_what_fails_is_raised_once_by_who_waits() -> None:
    with SessionPool(["a"]) as pool:
        pool.begin(fail)
        with pytest.raises(ValueError, match="bad"):
            pool.wait()


def test_what_fails_last_is_raised_at_the_end() -> None:
    with pytest.raises(ValueError, match="bad"), SessionPool(["a"]) as pool:
        pool.begin(fail)
