"""The figures of ``bench page``, made from its samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from watchfloor.loadgen.engines.rounds import AnswerKey, AnswerProfile, AnswerSamples
from watchfloor.loadgen.experiments.peers.figures import (
    SAME,
    compare_answers,
    compare_engines,
    make_ratio,
    to_milliseconds,
)
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric

from .asking import LoopResult
from .questions import EVERYTHING, THOUSAND, PageQuestion

OURS = "watchfloor"
FRESH_QUERIES = 10
"""The queries after a start that count as its first ones."""

FIRST = Metric(
    "first_row_ms",
    "ms",
    "from sending the question on an open connection to the first line of its answer, which has the newest row",
    title="time to the first row over REST",
)
FIRST_99 = replace(
    FIRST,
    name="first_row_p99_ms",
    statistic="99th percentile",
    title="time to the first row over REST, 99th percentile",
)
PAGE = Metric(
    "page_ms",
    "ms",
    "from the question to all of its rows, newest first: over REST to the end of the JSON lines; of the others until "
    "the caller has them",
    title="time of a whole answer",
)
PAGE_99 = replace(
    PAGE, name="page_p99_ms", statistic="99th percentile", title="time of a whole answer, 99th percentile"
)
PEER = Metric(
    "peer_to_watchfloor",
    "",
    "median page_ms of the other engine / Watchfloor's over REST: below 1 the other is ahead; samples: turn by turn",
    better="higher",
    title="other engine / Watchfloor, ratio of times",
)
CPU = Metric(
    "page_cpu_ms",
    "ms",
    "CPU time, user and system, of a process for an answer: mean of the answers to a question that is asked again and "
    "again",
    "mean",
    title="processor time of an answer",
)
LOOP = Metric(
    "pages_per_second",
    "pages/s",
    "pages of all clients, each of which asks again when it has its answer / seconds; each kind of page is as likely",
    title="pages of many clients",
)
LOOP_CPU = Metric(
    "loop_cpu_ms",
    "ms",
    "CPU time, user and system, of a process while many clients ask / pages of all clients",
    title="processor time of a page of many clients",
)
FRESH = Metric(
    "fresh_to_warm",
    "",
    "page_ms of the first ten pages after a start / the medians of the same pages when warm: sums of both, or one page",
    better="lower",
    title="first pages after a start / warm ones, ratio of times",
)
GROWTH = Metric(
    "first_row_growth",
    "",
    "median first_row_ms with the most events / with the fewest, in turns of their own; samples: turn by turn",
    better="lower",
    title="time to the first row with more events, ratio",
)
METRICS = (FIRST, FIRST_99, PAGE, PAGE_99, PEER, CPU, LOOP, LOOP_CPU, FRESH, GROWTH, SAME)

GOALS_FROM = 5_000_000
"""The number of events from which on the goals apply."""
_FIRST_MS, _FIRST_99_MS, _PAGE_MS, _FRESH, _GROWTH = 12, 40, 20, 2, 1.3
_PEER_GOALS = {("duckdb", THOUSAND): 1.0, ("duckdb", EVERYTHING): 1 / 1.2}
"""The least ratio of another engine's time to ours, by engine and question."""
_AHEAD_OF = "victorialogs"
"""The engine that ours should be ahead of in every question."""


@dataclass
class PageSamples:
    """All that is measured with one number of events.

    ``fresh`` has for each start the names and seconds of its first pages. ``starts`` says what was started, ``clients``
    how many asked in the loops, and ``left_out`` which other engines were not asked, with the reasons.
    """

    events: int
    starts: str
    clients: int
    answers: Mapping[AnswerKey, AnswerSamples] = field(default_factory=dict)
    profiles: dict[str, Mapping[str, AnswerProfile]] = field(default_factory=dict)
    fresh: list[list[tuple[str, float]]] = field(default_factory=list)
    loops: list[LoopResult] = field(default_factory=list)
    left_out: Sequence[str] = ()

    @property
    def engines(self) -> list[str]:
        return list(dict.fromkeys(engine for engine, _, _ in self.answers))

    def read_seconds(self, engine: str, question: str) -> Sequence[float]:
        return self.answers[engine, self.events, question].seconds


def make_figures(samples: PageSamples, questions: Sequence[PageQuestion]) -> list[Figure]:
    """Returns the figures of one number of events."""
    figures = [
        *_make_times(samples, questions),
        *_make_ratios(samples, questions),
        *_make_profiles(samples),
        *_make_loops(samples),
        *_make_starts(samples),
    ]
    told = [replace(figure, labels={**figure.labels, "events": f"{samples.events:,}"}) for figure in figures]
    return [
        *size_goals(told, samples.events, GOALS_FROM, "events"),
        compare_answers(samples.answers, samples.events, samples.left_out),
    ]


def make_growth(
    answers: Mapping[AnswerKey, AnswerSamples], fewest: int, most: int, questions: Sequence[PageQuestion]
) -> list[Figure]:
    """Returns the figures of two numbers of events whose answers were timed in the same turns."""
    figures = []
    for question in questions:
        before, after = (answers[OURS, events, question.name].firsts for events in (fewest, most))
        labels = {"question": question.name, "events": f"{most:,} / {fewest:,}"}
        figures.append(make_ratio(GROWTH, after, before, labels, Goal(_GROWTH, at_most=True)))
    return size_goals(figures, fewest, GOALS_FROM, "events")


def _make_times(samples: PageSamples, questions: Sequence[PageQuestion]) -> Iterator[Figure]:
    for question in questions:
        labels = {"question": question.name, "engine": OURS}
        firsts = to_milliseconds(samples.answers[OURS, samples.events, question.name].firsts)
        yield Figure(FIRST, firsts, labels, Goal(_FIRST_MS, at_most=True))
        yield Figure(FIRST_99, firsts, labels, Goal(_FIRST_99_MS, at_most=True))
    for question in questions:
        for engine in samples.engines:
            labels = {"question": question.name, "engine": engine}
            whole = to_milliseconds(samples.read_seconds(engine, question.name))
            goal = Goal(_PAGE_MS, at_most=True) if engine == OURS and question.is_page else None
            yield Figure(PAGE, whole, labels, goal)
            yield Figure(PAGE_99, whole, labels)


def _make_ratios(samples: PageSamples, questions: Sequence[PageQuestion]) -> Iterator[Figure]:
    for engine in samples.engines:
        for question in questions:
            if engine != OURS:
                theirs, ours = ((name, samples.read_seconds(name, question.name)) for name in (engine, OURS))
                least = 1.0 if engine == _AHEAD_OF else _PEER_GOALS.get((engine, question.name))
                goal = None if least is None else Goal(least, at_most=False)
                yield compare_engines(PEER, theirs, ours, question.name, goal)


def _make_profiles(samples: PageSamples) -> Iterator[Figure]:
    for engine, profiles in samples.profiles.items():
        for question, profile in profiles.items():
            for process, seconds in profile.cpu_seconds.items():
                yield Figure(CPU, (seconds * 1000,), {"question": question, "engine": engine, "process": process})


def _make_loops(samples: PageSamples) -> Iterator[Figure]:
    clients = {"clients": f"{samples.clients} clients"}
    yield Figure(LOOP, tuple(loop.rate for loop in samples.loops), clients)
    for process in samples.loops[0].cpu_seconds:
        milliseconds = to_milliseconds([loop.cpu_seconds[process] for loop in samples.loops])
        yield Figure(LOOP_CPU, milliseconds, {**clients, "process": process})


def _make_starts(samples: PageSamples) -> Iterator[Figure]:
    """Yields the ratios of the first pages of each start, all together and one by one."""
    warm = {
        name: Figure(PAGE, tuple(samples.read_seconds(OURS, name))).value for one in samples.fresh for name, _ in one
    }
    labels = {"started": samples.starts, "pages": "the first ten"}
    sums = tuple(sum(took for _, took in one) / sum(warm[name] for name, _ in one) for one in samples.fresh)
    yield Figure(FRESH, sums, labels, Goal(_FRESH, at_most=True))
    for number in range(len(samples.fresh[0])):
        ratios = tuple(one[number][1] / warm[one[number][0]] for one in samples.fresh)
        yield Figure(FRESH, ratios, {**labels, "pages": f"number {number + 1}"})
