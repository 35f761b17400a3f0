"""``bench blocks``: the block layout beside the cell layout, DuckDB and chDB, with the same events.

    files ─▶ loads, turn by turn ─▶ disk ─▶ questions, turn by turn ─▶ figures

All events are loaded in both layouts. Of the cell layout only a tenth is kept and asked, because a scan of all cells
takes most of a minute. In blocks the tenth shows how the time to a first result grows with the events.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from watchfloor.loadgen.engines.peers.peer_process import SQL_PEERS, PeerLoad, PeerProcess, open_peers
from watchfloor.loadgen.engines.question import list_questions, list_scan_questions, list_value_questions
from watchfloor.loadgen.engines.rounds import (
    WARM_UP_SECONDS,
    AnswerKey,
    AnswerProfile,
    Participant,
    profile_answers,
    run_rounds,
)
from watchfloor.loadgen.engines.watchfloor_engine import WatchfloorEngine
from watchfloor.loadgen.generator.access_log import write_access_log
from watchfloor.loadgen.harness.cpu_usage import await_rest, find_servers
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import (
    EventFile,
    LoadCase,
    LoadTiming,
    LogFile,
    describe_access_log,
    load_file,
    make_case_labels,
    write_events,
)
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import find_named_path
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import compact_tables, source_tables
from watchfloor.store.bulk.tablet_files import TableFiles, read_table_files
from watchfloor.store.store import Store

from .figures import METRICS, BlockResults, make_figures
from .plot import draw

LEAST_EVENTS = 10_000
ACCESS_BYTES = 40_000_000
_FEW_TURNS = 5

CASES = (
    LoadCase("block", file="tenth", workers=1),
    LoadCase("cell", file="tenth", workers=1),
    LoadCase("block", file="whole", workers=2),
    LoadCase("block", file="whole", workers=1, mode="bulk"),
    LoadCase("block", file="whole", workers=1),
    LoadCase("cell", file="whole", workers=1),
    LoadCase("block", file="access log", workers=1),
    LoadCase("cell", file="access log", workers=1),
)
"""The loads of each turn. Loads that are compared follow each other, because a shared machine is slower in some minutes
than in others. The load by two workers is compared with no other, so it follows the cells: a virtual machine gives back
memory that was free for long, and the next process that needs this memory has to wait for it.
"""
LAST_TURN_ONLY = LoadCase("cell", file="whole", workers=1)
"""The load that takes longer than all other loads of a turn together."""


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", 1_000_000, "proxy events")
    add_count(parser, "--loads", 3, "samples of each load")
    add_count(parser, "--repeats", 20, "samples of each answer")
    parser.add_argument(
        "--access-log", metavar="FILE", type=find_named_path, help="a real web access log instead of a made-up one"
    )


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    if options.events < LEAST_EVENTS:
        raise UserError(f"--events is {options.events}; a tenth of them has a rare value from {LEAST_EVENTS} on")
    whole = write_events(session.folder / "proxy.json", options.events, options.seed)
    tenth = write_events(session.folder / "tenth.json", options.events // 10, options.seed)
    log = options.access_log or session.folder / "access.log"
    if options.access_log is None:
        write_access_log(log, min(whole.bytes, ACCESS_BYTES), options.seed)
    files: dict[str, LogFile] = {"whole": whole, "tenth": tenth, "access log": describe_access_log(log.resolve())}
    with open_peers(SQL_PEERS) as (peers, left_out):
        loads, peer_loads, sources = _load_turns(session, files, whole, peers, options.loads)
        disk = _measure_disk(session, sources)
        await_rest(session.settings)
        with Store.open(session.settings, role="query") as store:
            ours = {
                case: WatchfloorEngine(store, source.name)
                for case, source in sources.items()
                if case.file != "access log"
            }
            tablet_servers = find_servers(session.settings).get("tserver", [])
            participants = list(_make_participants(whole, tenth, ours, tablet_servers, peers, options.repeats))
            answers = run_rounds(participants, options.repeats)
            firsts = _time_first_rows(whole, tenth, ours, options.repeats)
            profiles = _profile_participants(
                [participant for participant in participants if participant.events == whole.events], options.repeats
            )
    return list(
        make_figures(BlockResults(whole, tenth, files, loads, peer_loads, disk, answers, firsts, profiles, left_out))
    )


def _load_turns(
    session: BenchSession, files: Mapping[str, LogFile], whole: EventFile, peers: list[PeerProcess], turns: int
) -> tuple[dict[LoadCase, list[LoadTiming]], dict[str, list[PeerLoad]], dict[LoadCase, Source]]:
    """Loads all cases turn by turn. Returns the times of all loads, and the sources of the last turn that are kept."""
    loads: dict[LoadCase, list[LoadTiming]] = defaultdict(list)
    peer_loads: dict[str, list[PeerLoad]] = defaultdict(list)
    kept: dict[LoadCase, Source] = {}
    for turn in range(turns):
        last = turn == turns - 1
        for case in CASES:
            if case == LAST_TURN_ONLY and not last:
                continue
            file = files[case.file]
            source = session.create_source(file.feed, layout=case.layout)
            loaded = load_file(session, source, file, case)
            speed = f"{loaded.bytes / loaded.seconds / 1e6:.1f} MB/s"
            print_progress(f"load {turn + 1} of {turns}: {', '.join(make_case_labels(case, file).values())}: {speed}")
            if last and _is_kept(case):
                kept[case] = source
            else:
                session.drop_source(source)
            loads[case].append(loaded)
        for peer in peers:
            await_rest(session.settings)
            done = peer.load_file(whole.path)
            peer_loads[peer.name].append(done)
            print_progress(f"load {turn + 1} of {turns}: {peer.name}: {whole.bytes / done.seconds / 1e6:.1f} MB/s")
    return loads, peer_loads, kept


def _is_kept(case: LoadCase) -> bool:
    """Returns True if the source of this load is asked questions afterwards."""
    return case.workers == 1 and case.mode == "live" and (case.layout, case.file) != ("cell", "whole")


def _measure_disk(session: BenchSession, sources: Mapping[LoadCase, Source]) -> dict[LoadCase, dict[str, TableFiles]]:
    """Compacts the tables of the sources and returns the sizes of their files."""
    compact_tables(session.store.connection, [table for source in sources.values() for table in source_tables(source)])
    return {case: read_table_files(session.store, source) for case, source in sources.items()}


def _make_participants(
    whole: EventFile,
    tenth: EventFile,
    ours: dict[LoadCase, WatchfloorEngine],
    tablet_servers: Sequence[int],
    peers: list[PeerProcess],
    repeats: int,
) -> Iterator[Participant]:
    """Yields the layouts and the other engines with their questions."""
    processes = {"client": [os.getpid()], "tablet servers": tablet_servers}
    for case, engine in ours.items():
        questions, turns = (
            (list_questions(whole.generated), repeats)
            if case.file == "whole"
            else (list_scan_questions(), min(_FEW_TURNS, repeats))
        )
        yield Participant(
            case.layout,
            (whole if case.file == "whole" else tenth).events,
            engine.ask_question,
            questions,
            turns,
            processes,
        )
    for peer in peers:
        yield Participant(
            peer.name, whole.events, peer.ask_question, list_questions(whole.generated), repeats, {"engine": [peer.pid]}
        )


def _profile_participants(participants: Sequence[Participant], repeats: int) -> dict[AnswerKey, AnswerProfile]:
    """Profiles the answers of each participant after the rounds.

    This is not done in the rounds, because an engine that is asked one question repeatedly has the caches to itself.
    """
    found = {}
    for participant in participants:
        print_progress(f"questions: profile of {participant.engine}")
        for name, each in profile_answers(participant, repeats * WARM_UP_SECONDS).items():
            found[participant.engine, participant.events, name] = each
    return found


def _time_first_rows(
    whole: EventFile, tenth: EventFile, ours: dict[LoadCase, WatchfloorEngine], repeats: int
) -> dict[tuple[int, str], list[float]]:
    """Returns the seconds to the first rows of each value in the block layout, by the number of events in the source.

    Servers in production have compiled their code, so five times as many questions are asked before those that count.
    """
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    for turn in range(-5 * repeats, repeats):
        for case, engine in ours.items():
            file = whole if case.file == "whole" else tenth
            for name, question in list_value_questions(file.generated).items() if case.layout == "block" else ():
                seconds = engine.time_first_rows(question)
                if turn >= 0:
                    found[file.events, name].append(seconds)
    return found


EXPERIMENT = Experiment(
    name="blocks",
    summary="the block layout beside the cell layout, DuckDB and chDB: ingest, disk, first results, filters, exports",
    metrics=METRICS,
    quick_options=("--events", "20000", "--loads", "1", "--repeats", "1"),
    quick_seconds=70,
    add_options=add_options,
    run=run,
    beside_engines=True,
    draw=draw,
    heap="512m",
    tserver_heap="3g",
)
