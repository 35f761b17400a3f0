"""Lines of progress for ``bench all``, with an estimate of the time that is left."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from watchfloor.loadgen.harness.session import print_progress


class SuiteProgress:
    """Prints the experiment that runs, the time since the first one began, and an estimate of the time that is left.

    An experiment is taken to last as long as when it last ran in this folder (``seconds``). One that never ran there is
    taken to last as long as ``usual`` says, scaled by the pace of those that did; without an entry in ``usual``, as
    long as their mean.
    """

    def __init__(self, names: Sequence[str], seconds: Mapping[str, float], usual: Mapping[str, float]) -> None:
        self._names, self._seconds, self._usual = names, dict(seconds), usual
        self._started = self._began = time.monotonic()
        self._name = ""

    def begin(self, name: str) -> None:
        """Starts the clock of an experiment and prints that it begins."""
        self._name, self._began = name, time.monotonic()
        self.print_line("begins")

    def end(self, problem: str) -> None:
        """Records that the experiment has ended, and prints that; ``problem`` is empty if it succeeded."""
        took = time.monotonic() - self._began
        self._seconds[self._name] = took
        self.print_line(f"FAILED after {took:.0f} s: {problem}" if problem else f"done in {took:.0f} s")

    def print_line(self, text: str) -> None:
        """Prints a message behind the state of the suite."""
        now = time.monotonic()
        place = self._names.index(self._name)
        left = self.estimate_left(place, now - self._began)
        about = "" if left is None else f", about {format_clock(left)} left"
        print_progress(
            f"[{place + 1}/{len(self._names)} {self._name}, {format_clock(now - self._started)}{about}] {text}"
        )

    def estimate_left(self, place: int, spent: float) -> float | None:
        """Estimates the seconds until all have ended, when the one at ``place`` has run for ``spent`` seconds.

        Returns None if nothing is known to estimate from.
        """
        if not self._seconds and not self._usual.keys() >= set(self._names):
            return None
        durations = [self._estimate_duration(name) for name in self._names[place:]]
        return max(0.0, durations[0] - spent) + sum(durations[1:])

    def _estimate_duration(self, name: str) -> float:
        if name in self._seconds:
            return self._seconds[name]
        if name not in self._usual:
            return sum(self._seconds.values()) / len(self._seconds)
        known = self._seconds.keys() & self._usual.keys()
        pace = sum(self._seconds[each] for each in known) / sum(self._usual[each] for each in known) if known else 1.0
        return pace * self._usual[name]


def format_clock(seconds: float) -> str:
    """Formats a duration as minutes and seconds, or as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
