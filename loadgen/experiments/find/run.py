"""``bench find``: where a value occurs, and its newest events in all sources, by the number of sources.

files ─▶ sources of several sizes ─▶ the largest, the first few … all of them asked, turn by turn ─▶ figures
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import product

from watchfloor.loadgen.harness.background import run_rest_service
from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, GoalSize, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.query.service import QueryService
from watchfloor.store.store import Store

from .asking import LIMIT, FindClient, find_in_process
from .loading import LoadedSources, choose_sizes, choose_values, load_sources

FIND = Metric(
    "find_ms",
    "ms",
    "over REST, from the question where an address occurs to its sightings",
    title="time to find a value over REST",
)
FIND_DIRECT = Metric(
    "find_in_process_ms",
    "ms",
    "the same from the query service in the process",
    title="time to find a value in the process",
)
FIRST = Metric(
    "first_rows_ms",
    "ms",
    f"over REST, from the query for the {LIMIT} newest events of an address to the first line",
    title="time to the first line of the newest events",
)
PAGE = Metric("page_ms", "ms", "the same to the last line", title="time to 100 newest events")
PER_SOURCE = Metric(
    "ms_per_source",
    "ms",
    "(median of all sources - median of the largest one) / (sources - 1), by figure; samples: turn by turn",
    title="time that each source adds",
)
SIGHTINGS = Metric(
    "sightings", "", "fields of the sources in which the address occurs", title="fields in which the address occurs"
)

WARM_UP = 5
GOALS_FROM = 60
"""The number of sources from which on the goals apply."""
_GOALS = {FIND: 60.0, FIRST: 100.0}
_TIMED = (FIND, FIND_DIRECT, FIRST, PAGE)

Case = tuple[str, int]
"""The name of the address, and the number of sources asked."""


@dataclass(frozen=True)
class _Asked:
    sources: LoadedSources
    values: dict[str, str]
    numbers: tuple[int, ...]
    samples: dict[tuple[Metric, Case], list[float]]
    sightings: dict[Case, int]


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--sources", GOALS_FROM, "sources to ask")
    add_count(parser, "--least", 100_000, "events of the smallest sources")
    add_count(parser, "--most", 10_000_000, "events of the largest sources")
    add_count(parser, "--turns", 20, "samples of each case")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    sizes = choose_sizes(options.sources, options.least, options.most)
    sources = load_sources(session, sizes, options.seed)
    await_rest(session.settings)
    return list(_make_figures(_ask_sources(session, sources, options.turns)))


def _ask_sources(session: BenchSession, sources: LoadedSources, turns: int) -> _Asked:
    """Asks all cases turn by turn, after turns that warm up."""
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(session.settings, role="query"))
        rest = stack.enter_context(run_rest_service(session.settings, session.folder / "serve.log"))
        client = stack.enter_context(closing(FindClient(rest)))
        service = QueryService(store)
        numbers = tuple(dict.fromkeys(n for n in (1, 4, 15, len(sources.names)) if n <= len(sources.names)))
        asked = _Asked(sources, choose_values(service, sources), numbers, defaultdict(list), {})
        cases = [(value, number) for value in asked.values for number in numbers]
        for turn in range(-WARM_UP, turns):
            for case in shuffle_cases(cases, turn):
                _ask_case(client, service, asked, case, turn >= 0)
            print_progress(f"turn {turn + 1} of {turns}" if turn >= 0 else "warming up")
    return asked


def _ask_case(client: FindClient, service: QueryService, asked: _Asked, case: Case, keep: bool) -> None:
    names, value = asked.sources.names[: case[1]], asked.values[case[0]]
    find, asked.sightings[case] = client.find_value(names, value)
    direct = find_in_process(service, names, value)
    first, page, _ = client.query_value(names, value)
    if keep:
        for metric, seconds in zip(_TIMED, (find, direct, first, page), strict=True):
            asked.samples[metric, case].append(seconds * 1000)


def _make_figures(asked: _Asked) -> Iterator[Figure]:
    cases = [(value, number) for value in asked.values for number in asked.numbers]
    for metric, (value, number) in product(_TIMED, cases):
        size = GoalSize(number, GOALS_FROM, "sources")
        goal = Goal(_GOALS[metric], True, size) if metric in _GOALS and number == asked.numbers[-1] else None
        samples = tuple(asked.samples[metric, (value, number)])
        yield Figure(metric, samples, _make_labels(asked.sources, value, number), goal)
    for case in cases:
        yield Figure(SIGHTINGS, (float(asked.sightings[case]),), _make_labels(asked.sources, *case))
    if len(asked.numbers) > 1:
        for metric in _TIMED:
            for value in asked.values:
                yield _make_slope(asked, metric, value)


def _make_labels(sources: LoadedSources, value: str, number: int) -> dict[str, str]:
    return {"address": value, "sources": str(number), "events": f"{sum(sources.events[:number]):,}"}


def _make_slope(asked: _Asked, metric: Metric, value: str) -> Figure:
    """Makes the figure of what one more source adds."""
    one, all_of_them = asked.numbers[0], asked.numbers[-1]
    few, many = (Figure(metric, tuple(asked.samples[metric, (value, number)])) for number in (one, all_of_them))
    turns = _average_growth(many.samples, few.samples, all_of_them - one)
    (whole,) = _average_growth([many.value], [few.value], all_of_them - one)
    return Figure(PER_SOURCE, turns, {"address": value, "of": metric.title}, derived=whole)


def _average_growth(many: Sequence[float], few: Sequence[float], sources: int) -> tuple[float, ...]:
    return tuple((a - b) / sources for a, b in zip(many, few, strict=True))


EXPERIMENT = Experiment(
    name="find",
    summary="where a value occurs, and its newest events in all sources, by the number of sources",
    metrics=(*_TIMED, PER_SOURCE, SIGHTINGS),
    quick_options=("--sources", "8", "--least", "2000", "--most", "20000", "--turns", "3"),
    quick_seconds=40,
    add_options=add_options,
    run=run,
    heap="512m",
    tserver_heap="3g",
)
