"""What two runs' figures say about each other: the ratio, how sure it is, and whether it is better, worse or noise.

With many figures some differ by chance. So a figure is judged alone only where its samples are enough to hold for all
figures at once (Bonferroni); the others of an experiment are judged together, by how many of them lie apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from watchfloor.loadgen.harness.measurement.figure import DERIVED, Figure
from watchfloor.loadgen.harness.measurement.metric import Better

from .bootstrap import RESAMPLES, STATISTICS, ResampledRatios, resample_ratios

Verdict = Literal["same", "better", "worse", "changed", "too few samples", "no ratio"]
Key = tuple[str, str, tuple[tuple[str, str], ...]]
"""Experiment, metric, and what the figure is of."""
THRESHOLD = 1.1
"""A change up to this factor is never called better or worse, but for those of ``RIGHT``."""
RISK = 0.05
"""The chance that of two runs of the same anything at all is called better or worse, were all samples independent."""
LEVEL = 0.95
"""Of the intervals that are shown."""
LEAST = 5
"""Samples of each run below which they tell no interval."""
BEYOND = 10
"""As many resamples lie beyond each end of an interval that decides; with fewer it would end where chance has it."""
RIGHT = frozenset({"same_answers", "odd_lines_taken", "right_lines_kept"})
"""``exact`` metrics that tell whether answers are right, not how large files are: any change of one is better or worse.
The same events fill some bytes more in one run than in another."""


@dataclass(frozen=True)
class FigureComparison:
    """A figure of two runs. ``ratio`` is after / before, None where a sample is negative; ``ratios``: resampled, None
    where they tell nothing. ``seed`` is that of the resampling."""

    key: Key
    before: Figure
    after: Figure
    seed: int
    ratio: float | None = None
    ratios: ResampledRatios | None = None

    @property
    def better_direction(self) -> Better | None:
        """Which way is good: by the metric, or by the goal."""
        goal = self.after.goal
        return self.after.metric.better or (None if goal is None else "lower" if goal.at_most else "higher")

    @property
    def is_equal(self) -> bool:
        """The same samples, or one and the same value however often."""
        constant = len({*self.before.samples, *self.after.samples}) == 1
        return self.before.value == self.after.value and (constant or self.before.samples == self.after.samples)

    @property
    def is_dependent(self) -> bool:
        """Whether the samples of a run depend on each other, so that they tell no more than one would."""
        return bool(self.before.at or self.after.at)

    @property
    def sides(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Samples that are independent of each other; the figure alone where they are not, or do not bound it."""
        bounded = not self.is_dependent and (self.after.statistic in STATISTICS or self.after.statistic == DERIVED)
        return (self.before.samples, self.after.samples) if bounded else ((self.before.value,), (self.after.value,))

    @property
    def chance(self) -> float:
        """How likely it is that all samples after exceed all before, if nothing has changed (permutations)."""
        before, after = self.sides
        return 1 / math.comb(len(before) + len(after), len(before))

    @property
    def separation(self) -> float:
        """The factor by which all samples after lie above all before (above 1) or below (under 1); 1: they overlap."""
        before, after = self.sides
        if min(after) > max(before):
            return _divide(min(after), max(before))
        return _divide(max(after), min(before)) if max(after) < min(before) else 1.0

    def resample(self, part: int) -> ResampledRatios:
        """``RESAMPLES`` ratios, others for each part."""
        statistic, key = self.after.metric.statistic, f"{self.key} {part}"
        return resample_ratios(self.before.samples, self.after.samples, statistic, self.seed, key)

    def call_change(self, ratio: float) -> Verdict:
        """What a ratio that is no noise means."""
        if self.better_direction is None:
            return "changed"
        return "better" if (ratio > 1) == (self.better_direction == "higher") else "worse"


def compare_figure(key: Key, before: Figure, after: Figure, seed: int) -> FigureComparison:
    found = FigureComparison(key, before, after, seed)
    if min(*before.samples, *after.samples, before.value, after.value) < 0:
        return replace(found, ratio=1.0) if found.is_equal else found
    drawn = found.resample(0) if _has_interval(found) else None
    return replace(found, ratio=_divide(after.value, before.value), ratios=drawn)


def judge_figures(found: Sequence[FigureComparison]) -> dict[Key, Verdict]:
    """Of each figure; ``found`` are all that two runs have in common."""
    share = RISK / 2 / max(1, len(found))
    told: dict[Key, Verdict] = {}
    by_experiment: dict[str, list[FigureComparison]] = {}
    for each in found:
        if each.ratio is None or (verdict := _judge_alone(each, share)) is None:
            by_experiment.setdefault(each.key[0], []).append(each)
        else:
            told[each.key] = verdict
    for unsure in by_experiment.values():
        told.update(_judge_together(unsure, RISK / 2 / len(by_experiment)))
    return {each.key: told[each.key] for each in found}


def _judge_alone(each: FigureComparison, share: float) -> Verdict | None:
    """None if its samples are too few to be judged alone."""
    assert each.ratio is not None
    if each.is_equal:
        return "same"
    if each.after.metric.exact:
        changed = each.ratio != 1 if each.after.metric.name in RIGHT else _is_far(each.ratio)
        return each.call_change(each.ratio) if changed else "same"
    if each.ratios is None or each.chance > share / 2:
        return None
    return each.call_change(each.ratio) if _is_far(each.ratio) and not _may_be_one(each, share / 2) else "same"


def _may_be_one(each: FigureComparison, tail: float) -> bool:
    """Whether the interval that leaves ``tail`` of all resamples beyond each end holds 1.

    So many of them are wanted that ``BEYOND`` lie there. Once as many are on the other side of 1, the rest need not be
    drawn: only figures for which it is close take them all.
    """
    above = each.after.value > each.before.value
    if each.separation != 1:
        return above != (each.separation > 1)  # as the samples, so all that is drawn from them
    parts = math.ceil(BEYOND / (RESAMPLES * tail))
    other = 0
    for part in range(parts):
        drawn = each.resample(part).values
        other += int((drawn <= 1).sum() if above else (drawn >= 1).sum())
        if other >= RESAMPLES * parts * tail:
            return True
    return False


def _judge_together(unsure: Sequence[FigureComparison], risk: float) -> Mapping[Key, Verdict]:
    """A sign test on the figures of one experiment: do more of them lie apart one way than chance would explain?"""
    told: dict[Key, Verdict] = {e.key: "no ratio" if e.ratio is None else "too few samples" for e in unsure}
    for verdict in ("better", "worse"):
        judged = [each for each in unsure if each.ratio is not None and each.better_direction is not None]
        those = [each for each in judged if _is_far(each.separation) and each.call_change(each.separation) == verdict]
        if those and _chance_of_at_least(len(those), [each.chance for each in judged]) <= risk / 2:
            told.update(dict.fromkeys((each.key for each in those), verdict))
    return told


def _chance_of_at_least(count: int, chances: Sequence[float]) -> float:
    """The chance that so many or more of independent events with these chances come true."""
    exactly = [1.0]
    for chance in chances:
        exactly = [a * (1 - chance) + b * chance for a, b in zip([*exactly, 0.0], [0.0, *exactly], strict=True)]
    return math.fsum(exactly[count:])


def _has_interval(each: FigureComparison) -> bool:
    """Whether the bootstrap tells how sure the figure is."""
    enough = min(len(each.before.samples), len(each.after.samples)) >= LEAST
    return enough and not each.is_dependent and each.after.metric.statistic in STATISTICS


def _is_far(ratio: float) -> bool:
    return not 1 / THRESHOLD <= ratio <= THRESHOLD


def _divide(after: float, before: float) -> float:
    """The ratio; 1 for 0 / 0."""
    if after == before:
        return 1.0
    return after / before if before else math.inf
