"""The uncertainty of a ratio of two runs, by the percentile bootstrap."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

RESAMPLES = 10_000
STATISTICS: Mapping[str, Callable[..., Any]] = {"median": np.median, "mean": np.mean}
"""The statistics whose bootstrap intervals hold. A maximum's do not: no resample can exceed the largest sample (Bickel
and Freedman, "Some Asymptotic Theory for the Bootstrap", 1981).
"""
_AT_ONCE = 2_000_000
"""The number of drawn samples that are held in memory."""


@dataclass(frozen=True)
class ResampledRatios:
    """The ratio of two statistics in each resampling, ascending."""

    values: np.ndarray

    def compute_interval(self, level: float) -> tuple[float, float]:
        """Returns the interval that holds the share ``level`` in the middle of the ratios."""
        low, high = np.quantile(self.values, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        return float(low), float(high)


def resample_ratios(
    before: Sequence[float], after: Sequence[float], statistic: str, seed: int, key: str
) -> ResampledRatios:
    """Draws each side anew from its own samples, ``RESAMPLES`` times, and returns the ratios ``after`` / ``before``.

    The ratio is that of ``statistic``. This is the percentile bootstrap of Efron and Tibshirani, "An Introduction to
    the Bootstrap" (1993), chapters 13 and 16. The same seed and ``key`` (the figure's name) give the same ratios,
    whichever other figures are compared. 0 / 0 counts as 1.
    """
    rng = np.random.Generator(np.random.PCG64([seed, zlib.crc32(key.encode())]))
    below, above = (
        _resample_statistic(np.asarray(side, float), STATISTICS[statistic], rng) for side in (before, after)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(above == below, 1.0, above / below)
    return ResampledRatios(np.sort(found))


def _resample_statistic(samples: np.ndarray, statistic: Callable[..., Any], rng: np.random.Generator) -> np.ndarray:
    """Returns the statistic of each resampling."""
    step = max(1, _AT_ONCE // len(samples))
    parts = []
    for begin in range(0, RESAMPLES, step):
        shape = (min(step, RESAMPLES - begin), len(samples))
        parts.append(statistic(samples[rng.integers(len(samples), size=shape)], axis=1))
    return np.concatenate(parts)
