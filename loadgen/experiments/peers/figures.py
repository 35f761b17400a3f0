"""Figures of engines beside one another: ratios of their medians, and whether all gave the same answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from watchfloor.loadgen.engines.rounds import AnswerKey, AnswerSamples
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric

SAME = Metric(
    "same_answers",
    "",
    "questions that all engines with these events answered with the same rows / all questions",
    better="higher",
    exact=True,
    title="share of questions that all answered alike",
)


def make_ratio(
    metric: Metric, over: Sequence[float], under: Sequence[float], labels: Mapping[str, str], goal: Goal | None = None
) -> Figure:
    """Makes the figure of the median of ``over`` / that of ``under``; its samples are the ratios turn by turn."""
    turns = tuple(a / b for a, b in zip(over, under, strict=True))
    whole = Figure(metric, tuple(over)).value / Figure(metric, tuple(under)).value
    return Figure(metric, turns, labels, goal, whole)


def compare_engines(
    metric: Metric,
    theirs: tuple[str, Sequence[float]],
    ours: tuple[str, Sequence[float]],
    what: str,
    goal: Goal | None = None,
) -> Figure:
    """Makes the figure of the other engine's seconds or bytes / ours. Its note says which engine is ahead.

    ``theirs`` and ``ours`` each have the name of their engine.
    """
    figure = make_ratio(metric, theirs[1], ours[1], {"engine": theirs[0], "what": what}, goal)
    return replace(figure, note=f"{theirs[0] if figure.value < 1 else ours[0]} is ahead")


def compare_answers(answers: Mapping[AnswerKey, AnswerSamples], events: int, left_out: Sequence[str]) -> Figure:
    """Makes the figure of the share of questions that all engines with ``events`` events answered with the same rows.

    Its note names the questions whose answers differ, and the engines that were left out, with the reasons.
    """
    rows_and_digests: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for (_, engine_events, name), timings in answers.items():
        if engine_events == events:
            rows_and_digests[name].add((timings.rows, timings.digest))
    engines = dict.fromkeys(engine for engine, engine_events, _ in answers if engine_events == events)
    differ = [name for name, different in rows_and_digests.items() if len(different) > 1]
    labels = {"events": f"{events:,}", "engines": ", ".join(engines)}
    alone = ["nothing was compared"] if len(engines) == 1 else []
    note = "; ".join((*differ, *alone, *(f"left out: {why}" for why in left_out)))
    return Figure(SAME, (1 - len(differ) / len(rows_and_digests),), labels, Goal(1, at_most=False), note=note)


def to_milliseconds(seconds: Sequence[float]) -> tuple[float, ...]:
    return tuple(each * 1000 for each in seconds)
