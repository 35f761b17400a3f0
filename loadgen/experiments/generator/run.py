"""How fast events are generated: each feed in turn, by one thread, into nothing.

events of a feed ─▶ bytes, counted and dropped ─▶ figures
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from watchfloor.loadgen.generator.feed_registry import list_feeds, open_feed
from watchfloor.loadgen.generator.generate import generate
from watchfloor.loadgen.harness.measure import Figure, Goal, Metric
from watchfloor.loadgen.harness.rig import Rig, say

SUMMARY = "how fast events of each feed are generated, by one thread"
QUICK = ("--events", "200000", "--repeats", "3")
HEAP = "256m"
TSERVER_HEAP = None

SPEED = Metric(
    "generated_megabytes_per_second",
    "MB/s",
    "bytes of JSON / 1,000,000 / seconds from the call to the last byte handed over; nothing is written",
)
EVENTS = Metric("generated_events_per_second", "events/s", "events / the same seconds")
THREADS = Metric("busy_threads", "", "CPU seconds of the process / the same seconds: 1 is one thread that never waits")
METRICS = (SPEED, EVENTS, THREADS)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--events", metavar="N", type=int, default=1_000_000, help="of each feed (default 1000000)")
    parser.add_argument("--repeats", metavar="N", type=int, default=5, help="samples of each feed (default 5)")


def run(rig: Rig, options: Namespace) -> list[Figure]:
    feeds = list_feeds()
    for feed in feeds:
        open_feed(feed)  # its vocabulary is made once
    samples: dict[str, list[tuple[float, float, float]]] = {feed: [] for feed in feeds}
    for turn in range(options.repeats):
        say(f"turn {turn + 1} of {options.repeats}: {options.events:,} events of each feed")
        for feed in feeds:
            began = time.process_time()
            made = generate(_Nothing(), options.events, options.seed, source=feed)
            used = time.process_time() - began
            samples[feed].append((made.bytes / 1e6 / made.seconds, made.events / made.seconds, used / made.seconds))
    figures = []
    for feed, found in samples.items():
        speeds, events, threads = zip(*found, strict=True)
        of = {"feed": feed}
        figures.append(Figure(SPEED, speeds, of, Goal(100, at_most=False)))
        figures += [Figure(EVENTS, events, of), Figure(THREADS, threads, of)]
    return figures


class _Nothing:
    """Takes bytes and drops them."""

    def write(self, data: memoryview, /) -> int:
        return len(data)
