"""Asks queries of several kinds, as many users would: as fast as a few clients can, and by a schedule."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from random import Random

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService

from .open_loop import Response, run_open, schedule_poisson


@dataclass(frozen=True)
class QueryMix:
    """Requests that ``clients`` threads draw from, each with the same probability."""

    service: QueryService
    requests: Sequence[QueryRequest]
    clients: int

    def run_closed_loop(self, seconds: float, seed: int) -> float:
        """Runs queries for ``seconds``, each client without a pause, and returns the queries per second."""
        began = time.perf_counter()

        def client(number: int) -> int:
            drawn, asked = Random(f"{seed} {number}"), 0
            while time.perf_counter() - began < seconds:
                self._ask(drawn.choice(self.requests))
                asked += 1
            return asked

        with ThreadPoolExecutor(self.clients) as pool:
            asked = sum(pool.map(client, range(self.clients)))
        return asked / (time.perf_counter() - began)

    def run_open_loop(self, rate: float, seconds: float, seed: int) -> list[Response]:
        """Runs ``rate`` queries per second on average, at random moments, and at least one."""
        schedule = schedule_poisson(rate, seconds, seed) or [0.0]
        drawn = Random(seed).choices(self.requests, k=len(schedule))
        return run_open(schedule, lambda number: self._ask(drawn[number]), self.clients)

    def _ask(self, request: QueryRequest) -> None:
        with closing(self.service.run(request)) as result:
            for _ in result:
                pass
