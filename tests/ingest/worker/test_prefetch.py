"""A thread makes things ahead of their consumer.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from watchfloor.ingest.queue.work_queue import _partition_step
from watchfloor.ingest.reading.read_ahead import map_in_order, read_ahead


def test_all_things_come_in_order() -> None:
    with read_ahead((number for number in range(100)), 2) as things:
        assert list(things) == list(range(100))


def test_an_error_comes_where_its_thing_would() -> None:
    def source() -> Generator[int, None, None]:
        yield 1
        raise ValueError("bad")

    with read_ahead(source(), 2) as things:
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
    with read_ahead(source(), 1) as things:
        assert next(things) == 1
        time.sleep(0.3)
        assert made <= 3
    assert closed
    assert threading.active_count() == before


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


def test_results_keep_the_order_of_their_things(pool: ThreadPoolExecutor) -> None:
    def slowest_first(number: int) -> int:
        time.sleep(0.02 * (number % 4 == 0))
        return number * number

    assert list(map_in_order(slowest_first, range(40), pool, 5)) == [number * number for number in range(40)]


def test_threads_work_side_by_side_and_no_further_ahead_than_allowed(pool: ThreadPoolExecutor) -> None:
    meeting, begun = threading.Barrier(2, timeout=10), []

    def work(number: int) -> int:
        begun.append(number)
        meeting.wait()
        return number

    results = map_in_order(work, range(10), pool, 4)
    assert next(results) == 0
    assert len(begun) <= 4
    assert list(results) == list(range(1, 10))


def test_an_error_of_a_thread_comes_in_its_place_and_ends_the_others(pool: ThreadPoolExecutor) -> None:
    working = 0

    def work(number: int) -> int:
        nonlocal working
        if number == 3:
            raise ValueError("bad")
        working += 1
        time.sleep(0.05 * (number > 3))
        working -= 1
        return number

    results = map_in_order(work, range(100), pool, 6)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="bad"):
        next(results)
    assert working == 0


def test_what_is_not_wanted_any_more_is_not_begun(pool: ThreadPoolExecutor) -> None:
    done = []

    def work(number: int) -> int:
        time.sleep(0.02)
        done.append(number)
        return number

    results = map_in_order(work, range(1000), pool, 8)
    assert next(results) == 0
    results.close()
    begun = len(done)
    assert begun <= 8
    time.sleep(0.1)
    assert len(done) == begun


@pytest.mark.parametrize("partitions", range(1, 70))
def test_items_reach_all_partitions(partitions: int) -> None:
    assert len({i * _partition_step(partitions) % partitions for i in range(partitions)}) == partitions
