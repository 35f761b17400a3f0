"""``bench page``: the pages that a user gets over REST from a stack as ``up`` makes it, beside other engines.

each number of events: file ─▶ load into each engine, compact ─▶ a fresh start and its first ten pages, some times
─▶ thirteen questions, turn by turn ─▶ processor time of each ─▶ many clients at once
─▶ first rows with the fewest and the most events, turn by turn
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.loadgen.engines.peers.peer_process import PeerProcess, open_peers
from watchfloor.loadgen.engines.rounds import WARM_UP_SECONDS, Participant, profile_answers, run_rounds
from watchfloor.loadgen.harness.background import RestAddress, run_rest_service
from watchfloor.loadgen.harness.cpu_usage import await_rest, find_servers
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import EventFile, LoadCase, load_file, write_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.schema.errors import StackError, UserError
from watchfloor.schema.source import Source

from .asking import PageClient, PageLoop
from .figures import FRESH_QUERIES, GOALS_FROM, METRICS, OURS, PageSamples, make_figures, make_growth
from .plot import draw
from .questions import PAGE_PEERS, PageQuestion, list_questions

LEAST_EVENTS = 1_000
_OLDER_THAN = 3_600_000_000
"""Microseconds since the end of a day from which on ``watchfloor compact`` merges its blocks by default."""
_WARM_UP_ROUNDS = 20
_MOST_WHOLE_ANSWERS = 20
"""The most samples of answers that have all rows of a value."""
_LOOPS = 3
_LOADED = LoadCase("block", file="whole", workers=1)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--events",
        metavar="N,…",
        type=_parse_numbers,
        default=(GOALS_FROM,),
        help=f"proxy events, one number after the other (default {GOALS_FROM})",
    )
    add_count(parser, "--turns", 100, "samples of each page")
    add_count(parser, "--starts", 3, "times that the stack and the service are started, for the first ten pages")
    add_count(parser, "--clients", 16, "clients that ask at once")
    add_count(parser, "--seconds", 10, "seconds for which the clients ask, each time")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    if min(options.events) < LEAST_EVENTS:
        raise UserError(f"--events is {min(options.events)}; events have a rare value from {LEAST_EVENTS} on")
    figures: list[Figure] = []
    sources: dict[int, Source] = {}
    with open_peers(PAGE_PEERS) as (peers, left_out):
        for events in options.events:
            file, sources[events] = _load_engines(session, events, options.seed, peers)
            questions = list_questions(file.generated)
            starts = "stack and service" if session.owns_stack else "service"
            samples = PageSamples(file.events, starts, options.clients, left_out=left_out)
            for start in range(options.starts):
                samples.fresh.append(_time_start(session, sources[events], questions, start))
            _ask_engines(session, sources[events], peers, questions, options, samples)
            figures += make_figures(samples, questions)
    if len(sources) > 1:
        figures += _measure_growth(session, sources, questions, options.turns)
    return figures


def _load_engines(
    session: BenchSession, events: int, seed: int, peers: Sequence[PeerProcess]
) -> tuple[EventFile, Source]:
    """Loads events into all engines, and merges our blocks as ``watchfloor compact`` does."""
    file = write_events(session.folder / "proxy.json", events, seed)
    source = session.create_source(file.feed)
    loaded = load_file(session, source, file, _LOADED)
    print_progress(f"load: {OURS}: {file.bytes / loaded.seconds / 1e6:.1f} MB/s")
    compact_source(session.store, source.name, _OLDER_THAN)
    for peer in peers:
        await_rest(session.settings)
        print_progress(f"load: {peer.name}: {file.bytes / peer.load_file(file.path).seconds / 1e6:.1f} MB/s")
    file.path.unlink()
    return file, source


def _time_start(
    session: BenchSession, source: Source, questions: Sequence[PageQuestion], start: int
) -> list[tuple[str, float]]:
    """Starts the service anew, and the stack if it is the session's own. Returns names and seconds of the first pages.

    Each start has the pages in another order.
    """
    if session.owns_stack:
        for command in ("down", "up"):
            _run_command(session, command)
    pages = [question.ask_ours() for question in questions if question.is_page]
    with _serve(session) as service, closing(PageClient(service, source)) as client:
        first = shuffle_cases(pages, start)[:FRESH_QUERIES]
        took = [(page.name, client.ask_question(page, False).seconds) for page in first]
    print_progress(f"start {start + 1}: {', '.join(f'{1000 * seconds:.0f}' for _, seconds in took)} ms")
    return took


def _ask_engines(
    session: BenchSession,
    source: Source,
    peers: Sequence[PeerProcess],
    questions: Sequence[PageQuestion],
    options: Namespace,
    samples: PageSamples,
) -> None:
    """Has all engines answer in turns, then profiles them, then has many clients ask for our pages."""
    await_rest(session.settings)
    few = min(_MOST_WHOLE_ANSWERS, options.turns)
    with _serve(session) as service, closing(PageClient(service, source)) as client:
        processes = {"service": [service.pid], **find_servers(session.settings)}
        ours = Participant(OURS, samples.events, client.ask_question, (), options.turns, processes, shuffled=True)
        parties = [(ours, [question.ask_ours() for question in questions])]
        for peer in peers:
            party = Participant(
                peer.name, samples.events, peer.ask_question, (), options.turns, {"engine": peer.pids}, shuffled=True
            )
            parties.append((party, [question.ask_peer(peer.name) for question in questions]))
        participants = [
            replace(party, questions=[one for one in asked if (one.limit is None) == whole], max_rounds=rounds)
            for party, asked in parties
            for whole, rounds in ((False, options.turns), (True, few))
        ]
        samples.answers = run_rounds(participants, options.turns, min(options.turns, _WARM_UP_ROUNDS))
        for party, asked in parties:
            print_progress(f"processor time: {party.engine}")
            seconds = min(options.turns, _WARM_UP_ROUNDS) * WARM_UP_SECONDS
            samples.profiles[party.engine] = profile_answers(replace(party, questions=asked), seconds)
        pages = [question.ask_ours() for question in questions if question.is_page]
        loop = PageLoop(service, source, pages, options.clients, processes)
        for number in range(_LOOPS):
            samples.loops.append(loop.run(options.seconds, options.seed + number))
            print_progress(f"{options.clients} clients: {samples.loops[-1].rate:.1f} pages/s")


def _measure_growth(
    session: BenchSession, sources: Mapping[int, Source], questions: Sequence[PageQuestion], turns: int
) -> list[Figure]:
    """Asks for pages of the sources with the fewest and the most events in the same turns."""
    pages = [question for question in questions if question.is_page]
    fewest, most = min(sources), max(sources)
    with (
        _serve(session) as service,
        closing(PageClient(service, sources[fewest])) as small,
        closing(PageClient(service, sources[most])) as large,
    ):
        asked = [page.ask_ours() for page in pages]
        participants = [
            Participant(OURS, events, client.ask_question, asked, turns, shuffled=True)
            for events, client in ((fewest, small), (most, large))
        ]
        answers = run_rounds(participants, turns, min(turns, _WARM_UP_ROUNDS))
    return make_growth(answers, fewest, most, pages)


@contextmanager
def _serve(session: BenchSession) -> Iterator[RestAddress]:
    with run_rest_service(session.settings, session.folder / "serve.log") as service:
        yield service


def _run_command(session: BenchSession, command: str) -> None:
    """Runs ``watchfloor COMMAND`` on the session's stack. Raises ``StackError`` if it fails."""
    words = [sys.executable, "-m", "watchfloor.api.cli.main", "--home", str(session.settings.home), command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise StackError(f"`watchfloor {command}` fails: {done.stderr[-500:]}")


def _parse_numbers(text: str) -> tuple[int, ...]:
    """Returns the numbers in a list with commas. Raises ``ArgumentTypeError``."""
    try:
        numbers = tuple(dict.fromkeys(map(int, text.split(","))))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a list of whole numbers") from None
    return numbers


EXPERIMENT = Experiment(
    name="page",
    summary="pages over REST on a stack as `up` makes it, beside DuckDB, ClickHouse and VictoriaLogs: thirteen kinds "
    "of questions, fresh starts, and many clients at once",
    metrics=METRICS,
    quick_options=("--events", "20000,100000", "--turns", "3", "--starts", "1", "--seconds", "2"),
    quick_seconds=90,
    add_options=add_options,
    run=run,
    draw=draw,
    beside_engines=True,
)
