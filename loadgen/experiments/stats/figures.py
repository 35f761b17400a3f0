"""The figures of ``bench stats``, made from its samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from watchfloor.loadgen.experiments.peers.figures import SAME, make_ratio, to_milliseconds
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, GoalSize, Metric

from .answers import IN_PROCESS, REST
from .questions import StatsQuestion

ANSWER = Metric(
    "answer_ms",
    "ms",
    "from the question to its last row in the caller's hands: JSON lines over REST (watchfloor), or Arrow (the others)",
    title="time of a whole answer",
)
FIRST = Metric(
    "first_part_ms",
    "ms",
    "over REST, from the question to the first line of its stream, which has an answer for the newest events",
    title="time to the first part of an answer",
)
RATIO = Metric(
    "watchfloor_to_peer",
    "",
    "median answer_ms of Watchfloor, over REST or in the process / the other engine's: above 1 the other is ahead; "
    "samples: turn by turn",
    better="lower",
    title="Watchfloor / other engine, ratio of times",
)
METRICS = (ANSWER, FIRST, RATIO, SAME)

GOALS_FROM = 10_000_000
"""The number of events from which on the goals apply."""
_COUNTS_MS, _FIRST_MS = 20, 150
_MOST_RATIO = {"chdb": 1.0, "duckdb": 1.5}


@dataclass
class StatsSamples:
    """The seconds of answers by engine and question, and of first parts by question.

    ``whole`` names the questions whose first part was the whole answer, and ``left_out`` the other engines that were
    not asked, with the reasons.
    """

    events: int
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    firsts: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    whole: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)


def make_figures(samples: StatsSamples, questions: Sequence[StatsQuestion]) -> Iterator[Figure]:
    engines = list(dict.fromkeys(engine for engine, _ in samples.seconds))
    for question in questions:
        for engine in engines:
            goal = _make_goal(samples, _COUNTS_MS) if question.from_counts and engine == REST else None
            yield _make_answer(samples, question, engine, goal)
    for question in questions:
        if question.name in samples.firsts:
            note = "the whole answer" if question.name in samples.whole else ""
            milliseconds = to_milliseconds(samples.firsts[question.name])
            yield Figure(FIRST, milliseconds, {"question": question.name}, _make_goal(samples, _FIRST_MS), note=note)
    for question in questions:
        for peer in engines:
            if peer not in (REST, IN_PROCESS):
                yield from _compare_engines(samples, question, peer)
    alone = [] if set(engines) - {REST, IN_PROCESS} else ["nothing was compared"]
    note = "; ".join((*alone, *(f"left out: {why}" for why in samples.left_out)))
    labels = {"events": f"{samples.events:,}", "engines": ", ".join(engines)}
    # An answer that differs ends the experiment.
    yield Figure(SAME, (1.0,), labels, Goal(1, at_most=False), note=note)


def _make_answer(samples: StatsSamples, question: StatsQuestion, engine: str, goal: Goal | None) -> Figure:
    labels = {"question": question.name, "engine": engine}
    return Figure(ANSWER, to_milliseconds(samples.seconds[engine, question.name]), labels, goal)


def _compare_engines(samples: StatsSamples, question: StatsQuestion, peer: str) -> Iterator[Figure]:
    """Yields our ratios to another engine. Those over REST have goals, except for answers from counts."""
    theirs = samples.seconds[peer, question.name]
    for ours in (REST, IN_PROCESS):
        labels: Mapping[str, str] = {"question": question.name, "engine": peer, "ours": ours}
        goal = None if question.from_counts or ours != REST else _make_goal(samples, _MOST_RATIO[peer])
        ratio = make_ratio(RATIO, samples.seconds[ours, question.name], theirs, labels, goal)
        yield replace(ratio, note=f"{peer if ratio.value > 1 else ours} is ahead") if ours == REST else ratio


def _make_goal(samples: StatsSamples, limit: float) -> Goal:
    return Goal(limit, True, GoalSize(samples.events, GOALS_FROM, "events"))
