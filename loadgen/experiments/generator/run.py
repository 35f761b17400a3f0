"""``bench generator``: the speed of one thread that generates the events of each feed in turn and drops them."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from watchfloor.loadgen.generator.feed_registry import list_feeds, open_feed
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress

SPEED = Metric(
    "generated_megabytes_per_second",
    "MB/s",
    "bytes of JSON / 1,000,000 / seconds from the call to the last byte handed over; nothing is written",
    title="speed of generating",
)
EVENTS = Metric("generated_events_per_second", "events/s", "events / the same seconds", title="speed of generating")
THREADS = Metric(
    "busy_threads",
    "",
    "CPU seconds of the process / the same seconds: 1 is one thread that never waits",
    title="busy threads",
)


GOALS_FROM = 1_000_000
"""The number of events from which on the goals apply."""


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", GOALS_FROM, "of each feed")
    add_count(parser, "--repeats", 5, "samples of each feed")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    feeds = list_feeds()
    for feed in feeds:
        open_feed(feed)  # its vocabulary is made once
    samples: dict[str, list[tuple[float, float, float]]] = {feed: [] for feed in feeds}
    for turn in range(options.repeats):
        print_progress(f"turn {turn + 1} of {options.repeats}: {options.events:,} events of each feed")
        for feed in feeds:
            began = time.process_time()
            generated = generate_events(_NullOutput(), options.events, options.seed, source=feed)
            used = time.process_time() - began
            samples[feed].append(
                (
                    generated.bytes / 1e6 / generated.seconds,
                    generated.events / generated.seconds,
                    used / generated.seconds,
                )
            )
    figures = []
    for feed, timings in samples.items():
        speeds, events, threads = zip(*timings, strict=True)
        labels = {"feed": feed}
        figures.append(Figure(SPEED, speeds, labels, Goal(100, at_most=False)))
        figures += [Figure(EVENTS, events, labels), Figure(THREADS, threads, labels)]
    return size_goals(figures, options.events, GOALS_FROM, "events")


class _NullOutput:
    """Takes bytes and drops them."""

    def write(self, data: memoryview, /) -> int:
        return len(data)


EXPERIMENT = Experiment(
    name="generator",
    summary="how fast events of each feed are generated, by one thread",
    metrics=(SPEED, EVENTS, THREADS),
    quick_options=("--events", "200000", "--repeats", "3"),
    quick_seconds=7,
    add_options=add_options,
    run=run,
)
