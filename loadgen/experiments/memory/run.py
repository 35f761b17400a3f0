"""``bench memory``: the peak of the resident set of a worker that loads a large file, as the kernel counts it."""

from __future__ import annotations

import threading
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

import psutil

from watchfloor.ingest.intake.load import Load
from watchfloor.loadgen.generator.access_log import write_access_log
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.harness.cpu_usage import find_workers
from watchfloor.loadgen.harness.experiment import Experiment
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress

GIGABYTE = 1_000_000_000
GOALS_FROM = 2 * GIGABYTE
"""The bytes of the file from which on the goals apply."""

PEAK = Metric(
    "peak_rss_megabytes",
    "MB",
    "largest resident set of the worker process, 1,000,000 bytes; samples: ten a second",
    "max",
    title="most memory of the worker",
)
SPEED = Metric(
    "megabytes_per_second", "MB/s", "bytes of the file / 1,000,000 / seconds of the whole load", title="speed of a load"
)

_EVENT_BYTES = 480
"""The approximate size of a generated proxy event."""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--bytes", metavar="N", type=int, default=GOALS_FROM, help="size of the file (default 2 GB)")
    parser.add_argument(
        "--feed",
        choices=("web.access", "proxy.events"),
        default="web.access",
        help="kind of its lines (default %(default)s)",
    )
    parser.add_argument("--whole", action="store_true", help="as one work item, as a compressed file would be")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    path = session.folder / "large.log"
    print_progress(f"writing {options.bytes / 1e6:,.0f} MB of {options.feed}")
    if options.feed == "web.access":
        write_access_log(path, options.bytes, options.seed)
    else:
        with path.open("wb") as out:
            generate_events(out, max(1, options.bytes // _EVENT_BYTES), options.seed)
    size = path.stat().st_size
    source = session.create_source(options.feed)
    settings = replace(session.settings, item_bytes=size + 1) if options.whole else session.settings
    with _MemorySampler() as sampler:
        load = Load(settings, [path], source.name, workers=1)
        reported = 0.0
        for progress in load:
            if progress.seconds - reported > 10:
                reported = progress.seconds
                print_progress(
                    f"{progress.bytes / 1e6:,.0f} of {size / 1e6:,.0f} MB, {sampler.last / 1e6:,.0f} MB resident"
                )
    labels = {"feed": options.feed}
    peak = max(sampler.peak, *sampler.samples) if sampler.samples else sampler.peak
    figures = [
        Figure(PEAK, (*(sample / 1e6 for sample in sampler.samples), peak / 1e6), labels, Goal(1000, at_most=True)),
        Figure(SPEED, (size / 1e6 / load.result.seconds,), labels),
    ]
    return size_goals(figures, size, GOALS_FROM, "bytes")


class _MemorySampler:
    """Samples the resident memory of this process's workers. ``peak`` is the kernel's own high-water mark in bytes."""

    def __init__(self) -> None:
        self.samples: list[int] = []
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rss", daemon=True)

    @property
    def last(self) -> int:
        return self.samples[-1] if self.samples else 0

    def _run(self) -> None:
        found: list[psutil.Process] = []
        while not self._stop.wait(0.1):
            try:
                if not found or not found[0].is_running():
                    found = find_workers()
                for worker in found:
                    if resident := worker.memory_info().rss:  # a process that has just ended has none
                        self.samples.append(resident)
                        self.peak = max(self.peak, _read_high_water(worker.pid))
            except psutil.Error:
                found = []

    def __enter__(self) -> _MemorySampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _read_high_water(pid: int) -> int:
    """Returns ``VmHWM`` of Linux in bytes; 0 where there is none."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


EXPERIMENT = Experiment(
    name="memory",
    summary="the most memory that a worker process holds while it loads a large file",
    metrics=(PEAK, SPEED),
    quick_options=("--bytes", "50000000"),
    quick_seconds=10,
    add_options=add_options,
    run=run,
)
