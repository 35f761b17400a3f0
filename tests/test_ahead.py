"""Things made in a thread ahead of their taker."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator

import pytest

from watchfloor.ingest.ahead import ahead, in_order
from watchfloor.ingest.queue import _stride


def test_all_things_come_in_order() -> None:
    with ahead((number for number in range(100)), 2) as things:
        assert list(things) == list(range(100))


def test_an_error_comes_where_its_thing_would() -> None:
    def source() -> Generator[int, None, None]:
        yield 1
        raise ValueError("bad")

    with ahead(source(), 2) as things:
        assert next(things) == 1
        with pytest.raises(ValueError, match="bad"):
            next(things)


def test_it_is_not_far_ahead_and_stops_when_left() -> None:
    made = 0

    def source() -> Generator[int, None, None]:
        nonlocal made, closed
        try:
            while True:
                made += 1
                yield made
        finally:
            closed = True

    closed, before = False, threading.active_count()
    with ahead(source(), 1) as things:
        assert next(things) == 1
        time.sleep(0.3)
        assert made <= 3
    assert closed
    assert threading.active_count() == before


def test_results_keep_the_order_of_their_things() -> None:
    def slowest_first(number: int) -> int:
        time.sleep(0.02 * (number % 4 == 0))
        return number * number

    assert list(in_order(slowest_first, range(40), 3, 5)) == [number * number for number in range(40)]


def test_threads_work_side_by_side_and_no_further_ahead_than_allowed() -> None:
    meeting, begun = threading.Barrier(2, timeout=10), []

    def work(number: int) -> int:
        begun.append(number)
        meeting.wait()
        return number

    results = in_order(work, range(10), 2, 4)
    assert next(results) == 0
    assert len(begun) <= 4
    assert list(results) == list(range(1, 10))


def test_an_error_of_a_thread_comes_in_its_place_and_ends_the_others() -> None:
    def work(number: int) -> int:
        if number == 3:
            raise ValueError("bad")
        return number

    before, results = threading.active_count(), in_order(work, range(100), 2, 6)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="bad"):
        next(results)
    assert threading.active_count() == before


def test_what_is_not_wanted_any_more_is_not_begun() -> None:
    done = []

    def work(number: int) -> int:
        time.sleep(0.02)
        done.append(number)
        return number

    results = in_order(work, range(1000), 2, 8)
    assert next(results) == 0
    results.close()
    assert len(done) <= 8


@pytest.mark.parametrize("partitions", range(1, 70))
def test_items_reach_all_partitions(partitions: int) -> None:
    assert len({i * _stride(partitions) % partitions for i in range(partitions)}) == partitions
