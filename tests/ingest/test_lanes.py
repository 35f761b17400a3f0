"""Work in lanes: one after the other, as far as the work does not say that the next may begin."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest

from watchfloor.ingest.worker.lanes import Lanes

_SECONDS = 20.0


def test_with_one_desk_all_is_done_in_turn() -> None:
    done: list[str] = []

    def work(name: str, desk: str, next_may: Callable[[], None]) -> None:
        done.append(f"{name} begins at {desk}")
        next_may()
        done.append(f"{name} ends")

    with Lanes(["a"]) as lanes:
        for name in ("first", "second"):
            lanes.wait()
            lanes.begin(partial(work, name))
    assert done == ["first begins at a", "first ends", "second begins at a", "second ends"]


def test_the_next_begins_when_it_may_at_a_desk_of_its_own() -> None:
    """The first goes on until the second has begun, and a third finds no desk before one of them has ended."""
    desks: list[str] = []
    begun, over = [threading.Event() for _ in range(3)], threading.Event()
    at_once, most = 0, 0
    lock = threading.Lock()

    def work(number: int, desk: str, next_may: Callable[[], None]) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        desks.append(desk)
        begun[number].set()
        next_may()
        if number == 0:
            assert begun[1].wait(_SECONDS)
        if number == 1:
            assert over.wait(_SECONDS)
        with lock:
            at_once -= 1

    with Lanes(["a", "b"]) as lanes:
        for number in range(3):
            lanes.wait()
            lanes.begin(partial(work, number))
        assert begun[2].wait(_SECONDS)
        over.set()
    assert (most, sorted(desks[:2])) == (2, ["a", "b"])
    assert desks[2] == desks[0]


def test_the_next_waits_until_it_may() -> None:
    steps: list[str] = []
    may = threading.Event()

    def first(desk: str, next_may: Callable[[], None]) -> None:
        assert may.wait(_SECONDS)
        steps.append("read")
        next_may()

    with Lanes(["a", "b"]) as lanes:
        lanes.begin(first)
        threading.Timer(0.2, may.set).start()
        lanes.wait()
        steps.append("next")
    assert steps == ["read", "next"]


def fail(desk: str, next_may: Callable[[], None]) -> None:
    raise ValueError("bad")


def test_what_fails_is_raised_once_by_who_waits() -> None:
    with Lanes(["a"]) as lanes:
        lanes.begin(fail)
        with pytest.raises(ValueError, match="bad"):
            lanes.wait()


def test_what_fails_last_is_raised_at_the_end() -> None:
    with pytest.raises(ValueError, match="bad"), Lanes(["a"]) as lanes:
        lanes.begin(fail)
