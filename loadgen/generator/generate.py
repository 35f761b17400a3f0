"""Generates any number of events as JSON lines, oldest first: the same bytes for the same arguments.

Each event is joined from fragments of JSON that are made and escaped once (``feeds``), a chunk of events at a time, so
memory does not grow with the number of events. Three values of a feed's main field have known frequencies
(``synthesis/named_values.py``), for queries that need a dense, a middling and a rare value.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import numpy as np
import numpy.typing as npt

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed
from watchfloor.loadgen.generator.synthesis.named_values import assign_values
from watchfloor.loadgen.generator.synthesis.sampling import IntArray
from watchfloor.loadgen.generator.synthesis.time_sampler import DAY, MicrosArray, TimeSampler
from watchfloor.schema.errors import UserError
from watchfloor.schema.times import EPOCH

from .feed_registry import open_feed

DEFAULT_END = datetime(2026, 1, 8, tzinfo=UTC)
DEFAULT_DAYS = 7.0
MAX_DAYS = 36_500
CHUNK_EVENTS = 50_000  # a multiple of ``named_values.GROUP_EVENTS``; another size would draw other events


class LineSink(Protocol):
    """An output that lines are written to; any binary file is one."""

    def write(self, data: memoryview, /) -> int: ...


@dataclass(frozen=True)
class ValueFrequency:
    """A value of the main field and the number of events that have it."""

    field: str
    value: str
    events: int


@dataclass(frozen=True)
class GenerationSummary:
    """A summary of the events that were written in ``seconds`` of wall time; ``since`` ≤ every time < ``until``."""

    events: int
    bytes: int
    seconds: float
    since: datetime
    until: datetime
    popular: ValueFrequency
    middling: ValueFrequency
    rare: ValueFrequency


@dataclass(frozen=True)
class EventChunk:
    """Events in the order of their times.

    ``value_indices`` are the indices of the main field's values. Line i ends before ``ends[i]`` of ``text``.
    """

    times: MicrosArray
    value_indices: IntArray
    text: memoryview
    ends: npt.NDArray[np.int32]


def generate_events(
    out: LineSink,
    events: int,
    seed: int = 1,
    days: float = DEFAULT_DAYS,
    end: datetime = DEFAULT_END,
    source: str = "proxy.events",
    stop: threading.Event | None = None,
) -> GenerationSummary:
    """Writes ``events`` lines over the ``days`` before ``end`` to ``out``; fewer if ``stop`` is set meanwhile.

    Raises UserError for bad arguments.
    """
    check_arguments(events, seed)
    if not 0.001 <= days <= MAX_DAYS:
        raise UserError(f"--days is {days:g}; it must lie between 0.001 and {MAX_DAYS}")
    if end.tzinfo is None or end - timedelta(days=days) < EPOCH:
        raise UserError(
            f"--end is {end.isoformat()}; it needs a zone, and the days before it must not begin before 1970"
        )
    started = time.perf_counter()
    feed = open_feed(source)
    until = round(end.timestamp() * 1_000_000)
    sampler = TimeSampler(until - round(days * DAY), until, feed.profile)
    tally = GenerationTally(feed)
    for chunk in generate_chunks(feed, sampler, events, seed):
        if stop is not None and stop.is_set():
            break
        out.write(chunk.text)
        tally.add_chunk(chunk, len(chunk.times))
    return tally.make_summary(time.perf_counter() - started, end - timedelta(days=days), end)


def check_arguments(events: int, seed: int) -> None:
    """Raises UserError for a negative number of events or a negative seed."""
    if events < 0:
        raise UserError(f"--events is {events}; it must not be negative")
    if seed < 0:
        raise UserError(f"--seed is {seed}; it must not be negative")


def generate_chunks(feed: EventFeed, sampler: TimeSampler, events: int, seed: int) -> Generator[EventChunk, None, None]:
    """Yields ``events`` events at times of ``sampler``. Each chunk has its own random numbers."""
    for first in range(0, events, CHUNK_EVENTS):
        size = min(CHUNK_EVENTS, events - first)
        rng = np.random.Generator(np.random.PCG64([seed, first // CHUNK_EVENTS, *feed.seed_suffix]))
        times = sampler.sample_times(rng, first, size, events)
        values = assign_values(rng, feed, first, size, events)
        lines = feed.render_lines(rng, times, values)
        _, offsets, text = lines.buffers()
        ends = np.frombuffer(offsets, np.int32)[1 : size + 1]
        yield EventChunk(times, values, memoryview(text)[: ends[-1]], ends)


class GenerationTally:
    """Counts the events and bytes that were written, and how often each named value occurs among them."""

    def __init__(self, feed: EventFeed) -> None:
        self._feed = feed
        self._named = np.array([named.index for named in feed.named_values])
        self._seen = np.zeros(len(self._named), np.int64)
        self.events = self.bytes = 0

    def add_chunk(self, chunk: EventChunk, events: int) -> None:
        """Counts the first ``events`` events of a chunk."""
        if events:
            self.events += events
            self.bytes += int(chunk.ends[events - 1])
            self._seen += np.count_nonzero(chunk.value_indices[:events] == self._named[:, None], axis=1)

    def make_summary(self, seconds: float, since: datetime, until: datetime) -> GenerationSummary:
        """Returns the summary of all events counted so far."""
        named = [
            ValueFrequency(self._feed.main_field, named.value, int(count))
            for named, count in zip(self._feed.named_values, self._seen, strict=True)
        ]
        return GenerationSummary(self.events, self.bytes, seconds, since, until, *named)
