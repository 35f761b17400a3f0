"""A resource that all of its users share equally: the cores of a node, its disks, its network card.

Processor sharing: with n jobs on u units each job gets min(1, u / n) of a unit. All jobs get the same share, so one
virtual clock that runs at this share tells when each ends, and a job costs two events however many there are.
"""

from __future__ import annotations

import heapq
import itertools

import simpy


class SharedResource:
    """``units`` equal units, each of which does ``speed`` seconds of work in a second."""

    def __init__(self, env: simpy.Environment, units: float, speed: float = 1.0) -> None:
        self._env, self._units, self._speed = env, units, speed
        self._jobs: list[tuple[float, int, simpy.Event]] = []
        self._virtual = 0.0
        self._updated = env.now
        self._order = itertools.count()
        self._version = 0
        self.busy_seconds = 0.0
        """Unit-seconds in which a job was worked on."""

    def use(self, seconds: float) -> simpy.Event:
        """Returns the event that ``seconds`` of work of one unit, at speed 1, are done."""
        self._advance()
        done = self._env.event()
        heapq.heappush(self._jobs, (self._virtual + seconds, next(self._order), done))
        self._schedule()
        return done

    def _share(self) -> float:
        return self._speed * min(1.0, self._units / len(self._jobs))

    def _advance(self) -> None:
        """Moves the virtual clock to the present."""
        passed = self._env.now - self._updated
        self._updated = self._env.now
        if self._jobs and passed > 0:
            self._virtual += passed * self._share()
            self.busy_seconds += passed * min(self._units, len(self._jobs))

    def _schedule(self) -> None:
        """Wakes up when the next job ends, unless another job comes or goes before."""
        self._version += 1
        if self._jobs:
            wait = max(0.0, self._jobs[0][0] - self._virtual) / self._share()
            self._env.timeout(wait, self._version).callbacks.append(self._end_jobs)

    def _end_jobs(self, timeout: simpy.Event) -> None:
        if timeout.value != self._version:
            return
        self._advance()
        # This call is due exactly when the first job ends; rounding must not delay it for ever.
        self._virtual = max(self._virtual, self._jobs[0][0])
        while self._jobs and self._jobs[0][0] <= self._virtual:
            heapq.heappop(self._jobs)[2].succeed()
        self._schedule()
