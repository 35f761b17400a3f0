"""``bench ceiling``: a worker's whole path beside the same entries, written by a plain loop of BatchWriters.

Both are measured on fresh tables, turn by turn, so that other work of the machine affects both. They use the cell
layout, where an event is many entries, so that the store's speed with entries bounds a worker.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.ingest.records.ledger import Ledger, LedgerRow
from watchfloor.loadgen.generator.access_log import write_access_log
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.files.paths import find_named_path
from watchfloor.schema.source import Source
from watchfloor.store.bridge.mutation_recorder import MutationRecorder
from watchfloor.store.layouts.item_writer import ItemWriter

LAYOUT = "cell"
WARM_UP = 2
GOALS_FROM, LOG_GOALS_FROM = 100_000, 40_000_000
"""The number of proxy events, and the bytes of the access log, from which on the goals apply."""

EVENTS = Metric(
    "events_per_second",
    "events/s",
    "events of the file / seconds from its first byte read to its last count flushed",
    title="speed of a load",
)
ENTRIES = Metric(
    "entries_per_second",
    "entries/s",
    "entries written (events, index, counts) / the same seconds",
    title="speed of writing entries",
)
RATIO = Metric(
    "ceiling_ratio",
    "",
    "median events_per_second of the worker / median of the plain loop; samples: turn by turn",
    better="higher",
    title="worker / plain loop, ratio of speeds",
)
MEGABYTES = Metric(
    "megabytes_per_second",
    "MB/s",
    "bytes of the log file / 1,000,000 / seconds; of the worker's own clock where it is a process",
    title="speed of a load",
)
LOAD = Metric(
    "load_megabytes_per_second",
    "MB/s",
    "bytes of the log file / 1,000,000 / seconds of a whole `load` with one worker, processes started and stopped",
    title="speed of a load with start and end of the worker",
)


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", GOALS_FROM, "proxy events of a turn")
    parser.add_argument(
        "--log-bytes", metavar="N", type=int, default=LOG_GOALS_FROM, help="size of the access log (default 40 MB)"
    )
    parser.add_argument(
        "--access-log", metavar="FILE", type=find_named_path, help="a real web access log instead of a made-up one"
    )
    add_count(parser, "--repeats", 9, "turns of each")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    proxy, access = session.folder / "proxy.json", options.access_log or session.folder / "access.log"
    with proxy.open("wb") as out:
        generate_events(out, options.events, options.seed)
    if options.access_log is None:
        write_access_log(access, options.log_bytes, options.seed)
    proxy_figures = _compare_speeds(session, "proxy.events", proxy.resolve(), options.repeats)
    access_figures = _compare_speeds(session, "web.access", access.resolve(), options.repeats)
    access_figures += _measure_process(session, access.resolve(), options.repeats)
    return [
        *size_goals(proxy_figures, options.events, GOALS_FROM, "events"),
        *size_goals(access_figures, access.stat().st_size, LOG_GOALS_FROM, "bytes of log"),
    ]


def _compare_speeds(session: BenchSession, kind: str, path: Path, repeats: int) -> list[Figure]:
    """Times the worker and the plain loop in turns, and returns their figures for one file."""
    print_progress(f"{kind}: warming up")
    for _ in range(min(WARM_UP, repeats)):
        _time_worker(session, kind, path)
        _time_plain_loop(session, kind, path)
    size = path.stat().st_size
    turns: dict[str, list[tuple[int, int, float]]] = {"worker": [], "plain": []}
    for turn in range(repeats):
        turns["worker"].append(_time_worker(session, kind, path))
        turns["plain"].append(_time_plain_loop(session, kind, path))
        pair = [f"{who} {turns[who][-1][0] / turns[who][-1][2]:,.0f} events/s" for who in turns]
        print_progress(f"{kind}: turn {turn + 1} of {repeats}: {', '.join(pair)}")
    figures = []
    for who, timings in turns.items():
        labels = {"feed": kind, "by": who}
        figures.append(Figure(EVENTS, tuple(events / seconds for events, _, seconds in timings), labels))
        figures.append(Figure(ENTRIES, tuple(entries / seconds for _, entries, seconds in timings), labels))
    ratios = tuple(p[2] / w[2] for w, p in zip(turns["worker"], turns["plain"], strict=True))
    ratio = figures[0].value / figures[2].value
    figures.append(Figure(RATIO, ratios, {"feed": kind}, Goal(0.6, at_most=False), ratio))
    speeds = tuple(size / 1e6 / seconds for _, _, seconds in turns["worker"])
    figures.append(Figure(MEGABYTES, speeds, {"feed": kind, "by": "worker"}))
    return figures


def _time_worker(session: BenchSession, kind: str, path: Path) -> tuple[int, int, float]:
    """Returns events, entries and seconds of a worker's own code with a file, without the queue."""
    source = session.create_source(kind, layout=LAYOUT)
    item = session.make_item(path, source)
    with session.store.sink() as sink:
        started = time.perf_counter()
        end = read_item(ReadTask(session.store, sink, item))
        seconds = time.perf_counter() - started
    session.drop_source(source)
    return end.events, end.entries, seconds


def _time_plain_loop(session: BenchSession, kind: str, path: Path) -> tuple[int, int, float]:
    """Returns events, entries and seconds of a plain loop with the same entries."""
    source = session.create_source(kind, layout=LAYOUT)
    item = session.make_item(path, source)
    recorder = MutationRecorder(session.store.connection, session.settings)
    writer = ItemWriter(recorder, item.item_id, item.file_id)
    parser = open_parser(item.feed, b"", lambda name, derive: source)
    for chunk in read_chunks(path, chunk_bytes=session.settings.chunk_bytes):
        for event_source, events in parser.parse(chunk).events:
            writer.write_events(event_source, events)
    events, entries = writer.finish()
    seconds = recorder.replay()
    session.drop_source(source)
    return events, entries, seconds


def _measure_process(session: BenchSession, path: Path, repeats: int) -> list[Figure]:
    """Loads an access log through the queue and one worker process, in turns."""
    speeds, loads = [], []
    for turn in range(repeats):
        source = session.create_source("web.access", layout=LAYOUT)
        load = Load(session.settings, [path], source.name, workers=1)
        for _ in load:
            pass
        result = load.result
        rows = _read_ledger(session, path, source)
        speeds.append(result.bytes / 1e6 / sum(row.end.seconds for row in rows if row.end))
        loads.append(result.bytes / 1e6 / result.seconds)
        print_progress(f"web.access through the queue: turn {turn + 1} of {repeats}: {speeds[-1]:.1f} MB/s")
        session.drop_source(source)
    labels = {"feed": "web.access", "by": "worker process"}
    return [Figure(MEGABYTES, tuple(speeds), labels, Goal(4, at_most=False)), Figure(LOAD, tuple(loads), labels)]


def _read_ledger(session: BenchSession, path: Path, source: Source) -> list[LedgerRow]:
    """Returns the ledger's rows of a file's items of one source."""
    rows = Ledger(session.store).read_files([session.make_item(path, source).file_id])
    return [row for row in rows if row.item and row.item.feed == source.name]


EXPERIMENT = Experiment(
    name="ceiling",
    summary="a worker's speed beside that of a plain BatchWriter loop with the same entries",
    metrics=(EVENTS, ENTRIES, RATIO, MEGABYTES, LOAD),
    quick_options=("--events", "10000", "--log-bytes", "2000000", "--repeats", "1"),
    quick_seconds=24,
    add_options=add_options,
    run=run,
    heap="1500m",
)
