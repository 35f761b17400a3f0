"""``bench stats``: aggregations over REST and in the process, beside DuckDB and chDB with the same events.

each feed: file ─▶ load into each engine ─▶ answers compared ─▶ questions, turn by turn ─▶ figures
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import ExitStack, closing

from watchfloor.loadgen.engines.peers.peer_process import SQL_PEERS, PeerProcess, open_peers
from watchfloor.loadgen.engines.rounds import WARM_UP_SECONDS
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.harness.background import run_rest_service
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import LoadCase, LogFile, load_file
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.query.service import QueryService
from watchfloor.schema.lists.list_file import ListFormat, read_list
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import compact_source
from watchfloor.store.put_list import put_list, remove_list
from watchfloor.store.store import Store

from .answers import Asker, RestAsker, ServiceAsker, SqlAsker
from .compare_rows import ALLOWED_RANK, compare_rows
from .figures import METRICS, StatsSamples, make_figures
from .plot import draw
from .questions import LIST, StatsQuestion, list_addresses, list_questions


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", 1_000_000, "events of each feed")
    add_count(parser, "--repeats", 5, "samples of each answer")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    questions, samples = list_questions(ALLOWED_RANK), StatsSamples(options.events)
    path = session.folder / "addresses.txt"
    path.write_text("\n".join(list_addresses()))
    put_list(session.store, LIST, read_list(path.read_bytes(), ListFormat("ip")))
    try:
        for feed in dict.fromkeys(question.feed for question in questions):
            with open_peers(SQL_PEERS, feed) as (peers, samples.left_out):
                source = _load_feed(session, feed, options, peers)
                for peer in peers:
                    peer.load_list(path)
                asked = [question for question in questions if question.feed == feed]
                _ask_engines(session, source, peers, asked, options.repeats, samples)
            session.drop_source(source)
    finally:
        remove_list(session.store, LIST)
    return list(make_figures(samples, questions))


def _load_feed(session: BenchSession, feed: str, options: Namespace, peers: Sequence[PeerProcess]) -> Source:
    """Loads generated events into all engines, and compacts our tables."""
    path = session.folder / f"{feed}.json"
    with path.open("wb") as out:
        generated = generate_events(out, options.events, options.seed, source=feed)
    file = LogFile(path, feed, generated.events, generated.bytes)
    source = session.create_source(feed)
    loaded = load_file(session, source, file, LoadCase("block", file="whole", workers=1))
    print_progress(f"load of {feed}: watchfloor: {loaded.bytes / loaded.seconds / 1e6:.1f} MB/s")
    compact_source(session.store.connection, source)
    for peer in peers:
        await_rest(session.settings)
        seconds = peer.load_file(path).seconds
        print_progress(f"load of {feed}: {peer.name}: {file.bytes / seconds / 1e6:.1f} MB/s")
    path.unlink()
    return source


def _ask_engines(
    session: BenchSession,
    source: Source,
    peers: Sequence[PeerProcess],
    questions: Sequence[StatsQuestion],
    repeats: int,
    samples: StatsSamples,
) -> None:
    """Has all engines answer in turns, after a warm-up and a turn whose answers are compared."""
    await_rest(session.settings)
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(session.settings, role="query"))
        service = stack.enter_context(run_rest_service(session.settings, session.folder / "serve.log"))
        rest = stack.enter_context(closing(RestAsker(service, source.name)))
        engines = [SqlAsker(peer, session.folder) for peer in peers]
        askers: list[Asker] = [rest, ServiceAsker(QueryService(store), source.name), *engines]
        _check_answers(askers, engines, questions)
        for asker in askers:
            print_progress(f"questions: {asker.name} is warming up")
            _warm_up_asker(asker, questions, repeats * WARM_UP_SECONDS)
        for turn in range(repeats):
            for asker in askers:
                for question in questions:
                    answer = asker.ask_question(question, False)
                    samples.seconds[asker.name, question.name].append(answer.seconds)
            _time_first_parts(rest, questions, samples)
            print_progress(f"questions: turn {turn + 1} of {repeats}")


def _check_answers(askers: Sequence[Asker], engines: Sequence[SqlAsker], questions: Sequence[StatsQuestion]) -> None:
    """Compares all answers to each question. Raises ``InternalError`` with the difference."""
    for question in questions:
        answers = {asker.name: asker.ask_question(question, True).rows for asker in askers}
        compare_rows(question, answers, engines[0].find_bounds(question) if engines else ())
        print_progress(f"questions: {question.name}: the same {len(answers[askers[0].name]):,} rows")


def _warm_up_asker(asker: Asker, questions: Sequence[StatsQuestion], seconds: float) -> None:
    """Asks each question repeatedly for ``seconds``, at least once."""
    for question in questions:
        began = time.perf_counter()
        while True:
            asker.ask_question(question, False)
            if time.perf_counter() - began >= seconds:
                break


def _time_first_parts(rest: RestAsker, questions: Sequence[StatsQuestion], samples: StatsSamples) -> None:
    """Times the first part of each answer that is not from counts."""
    for question in questions:
        if not question.from_counts:
            answer = rest.time_first_part(question)
            samples.firsts[question.name].append(answer.first_seconds)
            if not answer.is_partial:
                samples.whole.add(question.name)


EXPERIMENT = Experiment(
    name="stats",
    summary="aggregations over REST and in the process, beside DuckDB and chDB: answers, and their first parts",
    metrics=METRICS,
    quick_options=("--events", "20000", "--repeats", "1"),
    quick_seconds=50,
    add_options=add_options,
    run=run,
    draw=draw,
    beside_engines=True,
    heap="1g",
    tserver_heap="3g",
)
