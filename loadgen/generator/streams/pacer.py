"""Writes lines when they are due, an open-loop load: the schedule does not wait for a slow reader or a stalled disk.

A line that is held up is written as soon as possible, and the lines after it keep their due times. The longest delay is
recorded.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

import numpy as np
import numpy.typing as npt

from watchfloor.loadgen.generator.synthesis.time_sampler import MicrosArray
from watchfloor.schema.errors import UserError

STEP_SECONDS = 0.02
"""Lines that are due within such a step are written at once."""
HEAD_START_MICROS = 500_000
"""Time from the start until the first line is due, in which the first lines are made."""
MAX_RATE = 1_000_000.0


class LiveLineSink(Protocol):
    """An output that lines are written to when they are due; any binary file is one."""

    def write(self, data: memoryview, /) -> int: ...

    def flush(self) -> None: ...


class Pacer:
    """Writes lines to ``out`` at their times, until ``stop`` is set, and flushes after each step.

    ``max_delay`` is the longest time in seconds by which a line was written after it was due.
    """

    def __init__(self, out: LiveLineSink, stop: threading.Event) -> None:
        self._out, self._stop = out, stop
        # The pacer's clock is steady: it does not jump when the machine's clock is set.
        self._zero = time.time_ns() // 1000 - round(time.perf_counter() * 1_000_000)
        self.max_delay = 0.0

    def now_micros(self) -> int:
        """Returns the time in µs since 1970 UTC."""
        return self._zero + round(time.perf_counter() * 1_000_000)

    def seconds_since(self, micros: int) -> float:
        """Returns the seconds since a moment; 0 if it is in the future."""
        return max(0, self.now_micros() - micros) / 1_000_000

    def write_lines(self, times: MicrosArray, ends: npt.NDArray[np.integer], text: memoryview) -> int:
        """Writes whole lines: line i is due at ``times[i]``, ascending, and ends before ``ends[i]`` of ``text``.

        Returns the number of lines written: all of them, unless ``stop`` was set.
        """
        done = first = 0
        while done < len(times) and not self._stop.is_set():
            upto = int(np.searchsorted(times, self.now_micros(), side="right"))
            if upto > done:
                end = int(ends[upto - 1])
                self._out.write(text[first:end])
                self._out.flush()
                self.max_delay = max(self.max_delay, self.seconds_since(int(times[done])))
                done, first = upto, end
            if done < len(times):
                self._stop.wait(max(STEP_SECONDS, (int(times[done]) - self.now_micros()) / 1_000_000))
        return done


def check_rate(rate: float) -> None:
    """Raises UserError unless the rate is within its limits."""
    if not 0 < rate <= MAX_RATE:
        raise UserError(f"--rate is {rate:g}; it must lie above 0 and not above {MAX_RATE:,.0f} lines a second")
