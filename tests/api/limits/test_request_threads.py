"""The threads that answer requests: as many as are needed, up to a bound.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from watchfloor.api.rest.request_threads import RequestThreads

MOST = 12


class Request:
    """Stands for a connection with a request that waitress hands to its threads."""

    def __init__(self, answer: Callable[[], object] = lambda: None) -> None:
        self._answer = answer
        self.answered = threading.Event()
        self.is_cancelled = False

    def service(self) -> None:
        self._answer()
        self.answered.set()

    def cancel(self) -> None:
        self.is_cancelled = True


@pytest.fixture
def threads() -> Iterator[RequestThreads]:
    threads = RequestThreads(MOST)
    yield threads
    threads.shutdown(timeout=2)


def answer_all(threads: RequestThreads, requests: list[Request]) -> None:
    for request in requests:
        threads.add_task(request)
    assert all(request.answered.wait(5) for request in requests)


def wait_until_idle(threads: RequestThreads) -> None:
    deadline = time.monotonic() + 5
    while threads.active_count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_requests_one_after_the_other_are_answered_by_one_thread(threads: RequestThreads) -> None:
    used = set[int]()
    for _ in range(50):
        answer_all(threads, [Request(lambda: used.add(threading.get_ident()))])
        wait_until_idle(threads)
    assert len(used) == 1


def test_requests_at_once_are_answered_at_once(threads: RequestThreads) -> None:
    for _ in range(3):
        # Each request ends only when all of them run.
        barrier = threading.Barrier(MOST)
        answer_all(threads, [Request(lambda barrier=barrier: barrier.wait(5)) for _ in range(MOST)])  # type: ignore[misc]
    assert len(threads.threads) == MOST


def test_requests_above_the_bound_wait_for_a_thread(threads: RequestThreads) -> None:
    free = threading.Event()
    held = [Request(lambda: free.wait(5)) for _ in range(3 * MOST)]
    for request in held:
        threads.add_task(request)
    assert len(threads.threads) == MOST
    assert not any(request.answered.is_set() for request in held)
    free.set()
    assert all(request.answered.wait(5) for request in held)
    assert len(threads.threads) == MOST


def test_after_the_end_nothing_starts_and_what_waits_is_cancelled(threads: RequestThreads) -> None:
    answer_all(threads, [Request() for _ in range(MOST)])
    threads.shutdown(timeout=5)
    late = Request()
    threads.add_task(late)
    assert not threads.threads
    threads.shutdown(timeout=0)
    assert late.is_cancelled and not late.answered.is_set()
