"""``bench peers``: Watchfloor beside other engines: DuckDB, ClickHouse (chDB), Tantivy, OpenSearch, VictoriaLogs.

Engines that are not installed are left out.


    file ─▶ loads, turn by turn ─▶ disk ─▶ the newest rows of three values, round by round ─▶ figures

docs/measuring/peers.md has the rules by which they are compared.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from watchfloor.loadgen.engines.peers.peer_process import PEERS, PeerProcess, open_peers
from watchfloor.loadgen.engines.question import EngineQuestion, list_newest_questions
from watchfloor.loadgen.engines.rounds import AnswerKey, AnswerSamples, Participant, run_rounds
from watchfloor.loadgen.engines.watchfloor_engine import WatchfloorEngine
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import EventFile, LoadCase, load_file, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import UserError
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import compact_source
from watchfloor.store.bulk.tablet_files import read_table_files
from watchfloor.store.store import Store

from .figures import SAME, compare_answers, compare_engines, to_milliseconds
from .plot import draw

LEAST_EVENTS = 10_000
OURS = "watchfloor"

LOAD = Metric(
    "load_megabytes_per_second",
    "MB/s",
    "bytes of the file / 1,000,000 / seconds: from the first work item taken by the worker to the last one durable, "
    "with index and counts; of the others: until the events are in the table for good, and found",
    title="speed of a load",
)
DISK = Metric(
    "disk_share",
    "%",
    "bytes of the files of the three tables, compacted to one a tablet, or of the other engine's data, merged / bytes "
    "of the file",
    better="lower",
    title="size on the disk, share of the file",
)
ROW = Metric(
    "row_ms",
    "ms",
    "from the question to the 1st, 100th, 1,000th or last row, newest first, in the caller's hands",
    title="time to a row",
)
PEER = Metric(
    "peer_to_watchfloor",
    "",
    "median seconds, or bytes, of the other engine / Watchfloor's: below 1 the other is ahead; samples: turn by turn",
    better="higher",
    title="other engine / Watchfloor, ratio of times or sizes",
)

_MOST_WHOLE_ANSWERS = 5
"""The most samples of all rows of a value: with 10,000,000 events some take a minute."""
_LOADED = LoadCase("block", file="whole", workers=1)


@dataclass
class EngineLoads:
    """The loads of an engine: seconds, and bytes on the disk, of each turn."""

    seconds: list[float] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", 1_000_000, "proxy events")
    add_count(parser, "--loads", 3, "samples of each load")
    add_count(parser, "--repeats", 20, "samples of each answer")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    if options.events < LEAST_EVENTS:
        raise UserError(f"--events is {options.events}; they have a rare value from {LEAST_EVENTS} on")
    with open_peers(PEERS) as (peers, left_out):
        file = write_events(session.folder / "proxy.json", options.events, options.seed)
        engine_loads, source = _load_engines(session, file, peers, options.loads)
        await_rest(session.settings)
        with Store.open(session.settings, role="query") as store:
            engines = {
                OURS: WatchfloorEngine(store, source.name).ask_question,
                **{peer.name: peer.ask_question for peer in peers},
            }
            row_questions, whole_questions = list_newest_questions(file.generated)
            few = min(_MOST_WHOLE_ANSWERS, options.repeats)
            participants = [
                Participant(name, file.events, ask, questions, turns)
                for name, ask in engines.items()
                for questions, turns in ((row_questions, options.repeats), (whole_questions, few))
            ]
            answers = run_rounds(participants, options.repeats)
    return [
        *_make_figures(file, engine_loads, [*row_questions, *whole_questions], answers),
        compare_answers(answers, file.events, left_out),
    ]


def _load_engines(
    session: BenchSession, file: EventFile, peers: Sequence[PeerProcess], turns: int
) -> tuple[Mapping[str, EngineLoads], Source]:
    """Loads the file into each engine, turn by turn. Returns the loads by engine, and our source of the last turn."""
    engine_loads = {name: EngineLoads() for name in (OURS, *(peer.name for peer in peers))}
    for turn in range(turns):
        source = session.create_source(file.feed, layout=_LOADED.layout)
        engine_loads[OURS].seconds.append(load_file(session, source, file, _LOADED).seconds)
        compact_source(session.store.connection, source)
        engine_loads[OURS].bytes.append(sum(files.bytes for files in read_table_files(session.store, source).values()))
        _print_speed(file, OURS, engine_loads[OURS].seconds, turns)
        for peer in peers:
            await_rest(session.settings)
            load = peer.load_file(file.path)
            engine_loads[peer.name].seconds.append(load.seconds)
            engine_loads[peer.name].bytes.append(load.bytes)
            _print_speed(file, peer.name, engine_loads[peer.name].seconds, turns)
        if turn < turns - 1:
            session.drop_source(source)
    return engine_loads, source


def _print_speed(file: EventFile, engine: str, seconds: Sequence[float], turns: int) -> None:
    print_progress(f"load {len(seconds)} of {turns}: {engine}: {file.bytes / 1e6 / seconds[-1]:.1f} MB/s")


def _make_figures(
    file: EventFile,
    engine_loads: Mapping[str, EngineLoads],
    questions: Sequence[EngineQuestion],
    answers: Mapping[AnswerKey, AnswerSamples],
) -> Iterator[Figure]:
    for name, each in engine_loads.items():
        yield Figure(LOAD, tuple(file.bytes / 1e6 / seconds for seconds in each.seconds), {"engine": name})
    for name, each in engine_loads.items():
        yield Figure(DISK, tuple(size / file.bytes * 100 for size in each.bytes), {"engine": name})
    for question in questions:
        for name in engine_loads:
            samples = answers[name, file.events, question.name]
            yield Figure(ROW, to_milliseconds(samples.seconds), {"question": question.name, "engine": name})
    ours = engine_loads[OURS]
    for name, each in engine_loads.items():
        if name == OURS:
            continue
        yield compare_engines(PEER, (name, each.seconds), (OURS, ours.seconds), "load")
        yield compare_engines(PEER, (name, each.bytes), (OURS, ours.bytes), "disk")
        for question in questions:
            theirs, our_answers = (answers[engine, file.events, question.name].seconds for engine in (name, OURS))
            yield compare_engines(PEER, (name, theirs), (OURS, our_answers), question.name)


EXPERIMENT = Experiment(
    name="peers",
    summary="beside DuckDB, ClickHouse, Tantivy, OpenSearch and VictoriaLogs: load, disk, and the time to rows "
    "newest first",
    metrics=(LOAD, DISK, ROW, PEER, SAME),
    quick_options=("--events", "50000", "--loads", "1", "--repeats", "1"),
    quick_seconds=24,
    add_options=add_options,
    run=run,
    beside_engines=True,
    draw=draw,
    heap="512m",
    tserver_heap="3g",
)
