"""Generates events live: each has the present as its time, and is written when that time has come."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from watchfloor.ingest.reading.read_ahead import read_ahead
from watchfloor.loadgen.generator.feed_registry import open_feed
from watchfloor.loadgen.generator.generate import (
    MAX_DAYS,
    GenerationSummary,
    GenerationTally,
    check_arguments,
    generate_chunks,
)
from watchfloor.loadgen.generator.synthesis.time_sampler import CONSTANT_PROFILE, TimeSampler
from watchfloor.schema.errors import UserError
from watchfloor.schema.times import from_micros

from .pacer import HEAD_START_MICROS, LiveLineSink, Pacer, check_rate


@dataclass(frozen=True)
class LiveSummary:
    """The events that were written, and the longest time in seconds by which one was written after it was due."""

    generated: GenerationSummary
    max_delay: float


def generate_live(
    out: LiveLineSink, events: int, rate: float, seed: int, source: str, stop: threading.Event
) -> LiveSummary:
    """Writes ``events`` events, ``rate`` a second, until ``stop`` is set.

    Apart from their times, they are the events of ``generate_events`` with the same seed. They are spread as
    independent events are: evenly in the long run, at random in the short run. Raises UserError for bad arguments.
    """
    check_arguments(events, seed)
    check_rate(rate)
    if events / rate > MAX_DAYS * 86_400:
        raise UserError(f"--events {events} at --rate {rate:g} take more than {MAX_DAYS:,} days; name fewer")
    feed = open_feed(source)
    tally, pacer = GenerationTally(feed), Pacer(out, stop)
    since = pacer.now_micros() + HEAD_START_MICROS
    until = since + max(1, round(events / rate * 1_000_000))
    with read_ahead(generate_chunks(feed, TimeSampler(since, until, CONSTANT_PROFILE), events, seed), 1) as made:
        for chunk in made:
            tally.add_chunk(chunk, pacer.write_lines(chunk.times, chunk.ends, chunk.text))
            if stop.is_set():
                break
    return LiveSummary(
        tally.make_summary(pacer.seconds_since(since), from_micros(since), from_micros(until)), pacer.max_delay
    )
