"""Generated events as they happen: each is written when its time, which is now, has come."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from watchfloor.ingest.worker.read_ahead import ahead
from watchfloor.loadgen.generator.feed_registry import open_feed
from watchfloor.loadgen.generator.generate import MOST_DAYS, Generated, Tally, check, chunks
from watchfloor.loadgen.generator.synthesis.time_sampler import CONSTANT_PROFILE, TimeSampler
from watchfloor.schema.errors import UserError
from watchfloor.schema.times import from_micros

from .pacer import HEAD_START, LiveSink, Pacer, check_rate


@dataclass(frozen=True)
class Live:
    """What was written, by when it was due; ``late``: the longest that an event was written after that, in seconds."""

    generated: Generated
    late: float


def generate_live(out: LiveSink, events: int, rate: float, seed: int, source: str, stop: threading.Event) -> Live:
    """Writes ``events`` events, ``rate`` a second, until ``stop`` is set.

    They are those of ``generate`` with the same seed but for their times, and come as independent events do: evenly in
    the long run, by chance in the short. Raises ``UserError`` for bad arguments.
    """
    check(events, seed)
    check_rate(rate)
    if events / rate > MOST_DAYS * 86_400:
        raise UserError(f"--events {events} at --rate {rate:g} take more than {MOST_DAYS:,} days; name fewer")
    feed = open_feed(source)
    tally, pacer = Tally(feed), Pacer(out, stop)
    since = pacer.now() + HEAD_START
    until = since + max(1, round(events / rate * 1_000_000))
    with ahead(chunks(feed, TimeSampler(since, until, CONSTANT_PROFILE), events, seed), 1) as made:
        for chunk in made:
            tally.add(chunk, pacer.write(chunk.times, chunk.ends, chunk.text))
            if stop.is_set():
                break
    return Live(tally.generated(pacer.since(since), from_micros(since), from_micros(until)), pacer.late)
