"""Open-loop load: a schedule says when each request is due, whether or not those before it have ended.

A client that waits for each answer before its next request makes no requests while a server stalls, and so measures one
slow answer where users would have met many: *coordinated omission* (Gil Tene, "How NOT to Measure Latency"). Here a
request that is late because of others before it counts from the moment at which it was due.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Response:
    """A request and its answer, in seconds since the run began.

    The request was due at ``due`` and made at ``made``; the answer was complete at ``ended``.
    """

    due: float
    made: float
    ended: float

    @property
    def service(self) -> float:
        """Seconds from making the request to its answer: what a closed loop measures."""
        return self.ended - self.made

    @property
    def latency(self) -> float:
        """Seconds from when the request was due to its answer, waiting included."""
        return self.ended - self.due


def schedule_poisson(rate: float, seconds: float, seed: int) -> list[float]:
    """Returns the due times of requests by many independent users.

    They are ``rate`` per second on average, ascending, and below ``seconds``.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    most = int(rate * seconds + 10 * (rate * seconds) ** 0.5 + 10)
    due = np.cumsum(rng.exponential(1 / rate, most))
    return due[due < seconds].tolist()


def schedule_evenly(rate: float, seconds: float) -> list[float]:
    """Returns the due times of requests at an even pace: ``rate`` per second, the first at 0, all below ``seconds``."""
    return [number / rate for number in range(math.ceil(rate * seconds))]


def run_open(schedule: Sequence[float], request: Callable[[int], None], clients: int) -> list[Response]:
    """Makes request i ``schedule[i]`` seconds after the start, in the first of ``clients`` threads that is free then.

    Returns the responses in the order of the schedule. The first exception of a request ends the run and is raised.
    """
    began = time.perf_counter()
    failed = threading.Event()

    def make_request(number: int) -> Response:
        due = schedule[number]
        if failed.wait(max(0.0, began + due - time.perf_counter())):
            raise InterruptedError
        made = time.perf_counter() - began
        try:
            request(number)
        except BaseException:
            failed.set()
            raise
        return Response(due, made, time.perf_counter() - began)

    with ThreadPoolExecutor(clients, thread_name_prefix="client") as pool:
        futures = [pool.submit(make_request, number) for number in range(len(schedule))]
        try:
            ends = [future.exception() for future in futures]
        except BaseException:  # Ctrl-C: the rest of the schedule is dropped
            failed.set()
            raise
        errors = [e for e in ends if e and not isinstance(e, InterruptedError)]
        if errors:
            raise errors[0]
        return [future.result() for future in futures]
