"""Compares the figures of two runs: computes ratios and their uncertainty, and decides if figures are better or worse.

Among many figures some differ by chance. So a figure is judged alone only if it has enough samples for a verdict that
holds with all figures at once (Bonferroni). The other figures of an experiment are judged together, by the number of
them whose samples do not overlap.
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
FigureKey = tuple[str, str, tuple[tuple[str, str], ...]]
"""The experiment, the metric, and the case of a figure."""
THRESHOLD = 1.1
"""A change up to this factor is never called better or worse, except for the ``CORRECTNESS_METRICS``."""
RISK = 0.05
"""The chance that any figure of two equal runs is called better or worse, if all samples are independent."""
INTERVAL_LEVEL = 0.95
"""The level of the intervals that are shown."""
LEAST_SAMPLES = 5
"""The number of samples of each run below which no interval is computed."""
LEAST_BEYOND = 10
"""The least number of resamples beyond each end of an interval that decides; with fewer, chance would set its ends."""
CORRECTNESS_METRICS = frozenset(
    {
        "same_answers",
        "backup_whole",
        "export_complete",
        "continuous_wrong",
        "continuous_broken",
        "odd_lines_taken",
        "right_lines_kept",
        "differences",
        "unfit_lines",
        "ycsb_failed",
    }
)
"""The ``exact`` metrics that tell whether answers are right: any change of one is better or worse. The sizes of files
are ``exact`` too, but the same events fill some bytes more in one run than in another.
"""


@dataclass(frozen=True)
class FigureComparison:
    """A figure of two runs.

    ``ratio`` is after / before; it is None if a sample is negative. ``ratios`` are the resampled ratios; None if there
    can be no interval. ``seed`` is that of the resampling.
    """

    key: FigureKey
    before: Figure
    after: Figure
    seed: int
    ratio: float | None = None
    ratios: ResampledRatios | None = None

    @property
    def better_direction(self) -> Better | None:
        """The direction that is good, by the metric or by the goal; None if neither has one."""
        goal = self.after.goal
        return self.after.metric.better or (None if goal is None else "lower" if goal.at_most else "higher")

    @property
    def is_equal(self) -> bool:
        """True if both have the same samples, or if all samples of both have the same value."""
        constant = len({*self.before.samples, *self.after.samples}) == 1
        return self.before.value == self.after.value and (constant or self.before.samples == self.after.samples)

    @property
    def is_dependent(self) -> bool:
        """True if the samples of a run depend on each other, so that they tell no more than one sample would."""
        return bool(self.before.at or self.after.at)

    @property
    def sides(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The samples of both runs if they are independent and bound the figure; otherwise the figures alone."""
        bounded = not self.is_dependent and (self.after.statistic in STATISTICS or self.after.statistic == DERIVED)
        return (self.before.samples, self.after.samples) if bounded else ((self.before.value,), (self.after.value,))

    @property
    def chance(self) -> float:
        """The chance that all samples after exceed all samples before if nothing has changed (permutations)."""
        before, after = self.sides
        return 1 / math.comb(len(before) + len(after), len(before))

    @property
    def separation(self) -> float:
        """The factor by which all samples after lie above or below all samples before.

        It is over 1 above, under 1 below, and 1 if the samples overlap.
        """
        before, after = self.sides
        if min(after) > max(before):
            return _divide(min(after), max(before))
        return _divide(max(after), min(before)) if max(after) < min(before) else 1.0

    def resample(self, part: int) -> ResampledRatios:
        """Returns ``RESAMPLES`` resampled ratios, different ones for each ``part``."""
        statistic, key = self.after.metric.statistic, f"{self.key} {part}"
        return resample_ratios(self.before.samples, self.after.samples, statistic, self.seed, key)

    def call_change(self, ratio: float) -> Verdict:
        """Returns the verdict of a ratio that is no noise."""
        if self.better_direction is None:
            return "changed"
        return "better" if (ratio > 1) == (self.better_direction == "higher") else "worse"


def compare_figure(key: FigureKey, before: Figure, after: Figure, seed: int) -> FigureComparison:
    """Computes the ratio of a figure in two runs, with its resampled ratios where these tell something."""
    comparison = FigureComparison(key, before, after, seed)
    if min(*before.samples, *after.samples, before.value, after.value) < 0:
        return replace(comparison, ratio=1.0) if comparison.is_equal else comparison
    drawn = comparison.resample(0) if _has_interval(comparison) else None
    return replace(comparison, ratio=_divide(after.value, before.value), ratios=drawn)


def judge_figures(comparisons: Sequence[FigureComparison]) -> dict[FigureKey, Verdict]:
    """Returns the verdict of each figure. ``comparisons`` must be all figures that two runs have in common."""
    share = RISK / 2 / max(1, len(comparisons))
    verdicts: dict[FigureKey, Verdict] = {}
    by_experiment: dict[str, list[FigureComparison]] = {}
    for each in comparisons:
        if each.ratio is None or (verdict := _judge_alone(each, share)) is None:
            by_experiment.setdefault(each.key[0], []).append(each)
        else:
            verdicts[each.key] = verdict
    for unsure in by_experiment.values():
        verdicts.update(_judge_together(unsure, RISK / 2 / len(by_experiment)))
    return {each.key: verdicts[each.key] for each in comparisons}


def _judge_alone(each: FigureComparison, share: float) -> Verdict | None:
    """Returns the verdict of one figure; None if its samples are too few to judge it alone."""
    assert each.ratio is not None
    if each.is_equal:
        return "same"
    if each.after.metric.exact:
        changed = each.ratio != 1 if each.after.metric.name in CORRECTNESS_METRICS else _is_far(each.ratio)
        return each.call_change(each.ratio) if changed else "same"
    if each.ratios is None or each.chance > share / 2:
        return None
    return each.call_change(each.ratio) if _is_far(each.ratio) and not _may_be_one(each, share / 2) else "same"


def _may_be_one(each: FigureComparison, tail: float) -> bool:
    """Returns True if the interval that leaves ``tail`` of all resamples beyond each end holds 1.

    As many resamples are drawn as put ``LEAST_BEYOND`` of them beyond each end. The drawing stops as soon as enough
    ratios lie on the other side of 1, so only figures with a close decision need all of them.
    """
    above = each.after.value > each.before.value
    if each.separation != 1:
        return above != (each.separation > 1)  # if the samples do not overlap, no resample lies on the other side of 1
    parts = math.ceil(LEAST_BEYOND / (RESAMPLES * tail))
    other = 0
    for part in range(parts):
        drawn = each.resample(part).values
        other += int((drawn <= 1).sum() if above else (drawn >= 1).sum())
        if other >= RESAMPLES * parts * tail:
            return True
    return False


def _judge_together(unsure: Sequence[FigureComparison], risk: float) -> Mapping[FigureKey, Verdict]:
    """Judges the figures of one experiment by a sign test.

    Figures whose samples do not overlap are better or worse if more of them differ in one direction than chance
    explains.
    """
    verdicts: dict[FigureKey, Verdict] = {e.key: "no ratio" if e.ratio is None else "too few samples" for e in unsure}
    for verdict in ("better", "worse"):
        judged = [each for each in unsure if each.ratio is not None and each.better_direction is not None]
        those = [each for each in judged if _is_far(each.separation) and each.call_change(each.separation) == verdict]
        if those and _chance_of_at_least(len(those), [each.chance for each in judged]) <= risk / 2:
            verdicts.update(dict.fromkeys((each.key for each in those), verdict))
    return verdicts


def _chance_of_at_least(count: int, chances: Sequence[float]) -> float:
    """Returns the chance that at least ``count`` of independent events with these chances occur."""
    exactly = [1.0]
    for chance in chances:
        exactly = [a * (1 - chance) + b * chance for a, b in zip([*exactly, 0.0], [0.0, *exactly], strict=True)]
    return math.fsum(exactly[count:])


def _has_interval(each: FigureComparison) -> bool:
    """Returns True if the bootstrap can tell the uncertainty of the figure."""
    enough = min(len(each.before.samples), len(each.after.samples)) >= LEAST_SAMPLES
    return enough and not each.is_dependent and each.after.metric.statistic in STATISTICS


def _is_far(ratio: float) -> bool:
    """Returns True if a ratio is farther from 1 than ``THRESHOLD``."""
    return not 1 / THRESHOLD <= ratio <= THRESHOLD


def _divide(after: float, before: float) -> float:
    """Returns the ratio; 1 for 0 / 0."""
    if after == before:
        return 1.0
    return after / before if before else math.inf
