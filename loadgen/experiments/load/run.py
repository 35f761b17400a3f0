"""``bench load``: what who types ``watchfloor load FILE`` waits for, on a fresh stack, live and in bulk.

    file ─▶ turn by turn: for each mode a fresh stack, the command ─▶ DuckDB's load of the same file ─▶ figures

With ``--home`` the file is loaded into new sources of that stack.
"""

from __future__ import annotations

import os
import secrets
import shutil
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from watchfloor.ingest.queue.first_load import prepare_first_load
from watchfloor.loadgen.engines.peers.peer_process import PeerProcess, open_peers
from watchfloor.loadgen.experiments.peers.figures import make_ratio
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count, parse_names
from watchfloor.loadgen.harness.loads import EventFile, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress, use_second_home
from watchfloor.schema.choices import INGEST_MODES
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.stack import discard_stack, has_standing_workers, start_stack

from .timed_command import CommandTiming, time_load

GOALS_FROM = 2_000_000_000
"""The bytes of the file from which on the goals apply."""
PEER = "duckdb"
LIVE, BULK = "live", "bulk"

SPEED = Metric(
    "command_megabytes_per_second",
    "MB/s",
    "bytes of the file / 1,000,000 / seconds of the whole command, from its start to its end; of the other engine: "
    "until the events are in the table for good",
    title="speed of a load, whole command",
)
FIRST = Metric(
    "first_events_seconds",
    "s",
    "from the command's start until one who asks 20 times a second for one event of the source has it",
    title="time to the first events of a load",
)
CPU = Metric(
    "load_cpu_seconds",
    "s",
    "CPU seconds, user and system, of a part during the command: the command, its workers, the tablet servers, the "
    "other servers",
    title="processor time of a load by part",
)
RATIO = Metric(
    "bulk_to_live",
    "",
    "median command_megabytes_per_second in bulk / live; samples: turn by turn",
    better="higher",
    title="bulk load / live load, ratio of speeds",
)
BESIDE = Metric(
    "watchfloor_to_peer",
    "",
    "median command_megabytes_per_second of the mode / the other engine's; samples: turn by turn",
    better="higher",
    title="load / load by the other engine, ratio of speeds",
)


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", 5_000_000, "proxy events, of half a kilobyte each")
    add_count(parser, "--turns", 1, "loads in each mode")
    parser.add_argument("--workers", metavar="N", type=int, help="worker processes (default: the command's own)")
    parser.add_argument(
        "--modes",
        metavar="M,…",
        type=lambda text: parse_names(text, INGEST_MODES),
        default=(LIVE, BULK),
        help="modes of the load (default live,bulk)",
    )


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    file = write_events(session.folder / "proxy.json", options.events, options.seed)
    os.sync()  # else the first load waits for the disk, which still writes the file
    loads: dict[str, list[CommandTiming]] = defaultdict(list)
    peer_seconds: list[float] = []
    with open_peers([PEER]) as (peers, _):
        for _ in range(options.turns):
            for mode in options.modes:
                timing = _time_mode(session, file, mode, options)
                print_progress(
                    f"{mode}: {file.bytes / timing.seconds / 1e6:.1f} MB/s, {timing.seconds:.1f} s, first events after "
                    f"{timing.first:.1f} s; processor: "
                    + ", ".join(f"{part} {seconds:.1f} s" for part, seconds in timing.cpu.items())
                )
                loads[mode].append(timing)
            peer_seconds += [_time_peer(peer, file) for peer in peers]
    return size_goals(_make_figures(file, loads, peer_seconds), file.bytes, GOALS_FROM, "bytes")


def _time_mode(session: BenchSession, file: EventFile, mode: str, options: Namespace) -> CommandTiming:
    arguments = ["--mode", mode, *(["--workers", str(options.workers)] if options.workers else [])]
    if options.home:
        source = session.create_source(file.feed)
        await_rest(session.settings)
        timing = time_load(session.settings, file.path, source.name, file.events, arguments)
        session.drop_source(source)
        return timing
    with _fresh_stack(session) as settings:
        return time_load(settings, file.path, file.feed, file.events, arguments)


@contextmanager
def _fresh_stack(session: BenchSession) -> Iterator[Settings]:
    """Yields the settings of a stack that has just been started and has no data yet."""
    with use_second_home(session, f"fresh-{secrets.token_hex(4)}") as second:
        # A session's stack has no standing workers, unlike that of who types the command.
        settings = replace(second, standing_workers=load_settings().standing_workers)
        try:
            start_stack(settings)
            if not has_standing_workers(settings):
                prepare_first_load(settings)  # as ``watchfloor up`` does
            await_rest(settings)
            yield settings
        finally:
            discard_stack(settings)
            shutil.rmtree(settings.home, ignore_errors=True)


def _time_peer(peer: PeerProcess, file: EventFile) -> float:
    seconds = peer.load_file(file.path).seconds
    print_progress(f"{peer.name}: {file.bytes / seconds / 1e6:.1f} MB/s")
    return seconds


def _make_figures(
    file: EventFile, loads: Mapping[str, Sequence[CommandTiming]], peer_seconds: Sequence[float]
) -> Iterator[Figure]:
    live = [load.seconds for load in loads.get(LIVE, ())]
    for mode, timings in loads.items():
        labels = {"engine": "watchfloor", "mode": mode}
        seconds = [timing.seconds for timing in timings]
        goal = Goal(140, at_most=False) if mode == LIVE else None
        yield Figure(SPEED, tuple(file.bytes / 1e6 / each for each in seconds), labels, goal)
        yield Figure(FIRST, tuple(timing.first for timing in timings), labels, Goal(3, at_most=True))
        for part in timings[0].cpu:
            yield Figure(CPU, tuple(timing.cpu[part] for timing in timings), {**labels, "part": part})
        if mode == BULK and live:
            yield make_ratio(RATIO, live, seconds, {}, Goal(1.3, at_most=False))
        if peer_seconds:
            yield make_ratio(BESIDE, peer_seconds, seconds, {"mode": mode, "engine": PEER})
    if peer_seconds:
        yield Figure(SPEED, tuple(file.bytes / 1e6 / each for each in peer_seconds), {"engine": PEER})


EXPERIMENT = Experiment(
    name="load",
    summary="the command `watchfloor load` on a fresh stack, from start to end, live and in bulk, beside DuckDB",
    metrics=(SPEED, FIRST, CPU, RATIO, BESIDE),
    quick_options=("--events", "50000"),
    quick_seconds=90,
    add_options=add_options,
    run=run,
    beside_engines=True,
)
