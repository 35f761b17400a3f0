"""Sampling of values by weights: a uniform draw is looked up in a table of quantiles (inverse transform sampling).

An event costs one random number and one look-up, whatever the number and the weights of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

TABLE_BITS = 17
"""A table has 2**17 quantiles: a value with a share below 1 in 131,072 may never be drawn."""
POOL_SIZE = 1 << 16
"""The number of values that a numeric field is drawn from."""

IntArray = npt.NDArray[np.int32]
WeightArray = npt.NDArray[np.float64]


def zipf_weights(n: int, exponent: float) -> WeightArray:
    """Returns the weights of ``n`` values by Zipf's law; the first is the most frequent."""
    return np.power(np.arange(1, n + 1, dtype=np.float64), -exponent)


def prepend_null(share: float, weights: WeightArray) -> WeightArray:
    """Returns ``weights`` preceded by the weight of the null, which has ``share`` of the whole."""
    return np.concatenate(([share], weights / weights.sum() * (1 - share)))


def build_quantile_table(weights: WeightArray | Sequence[float]) -> IntArray:
    """Returns a table whose entry q is the item that a uniform draw of (q + ½) / 2**TABLE_BITS falls on."""
    weights = np.asarray(weights, np.float64)
    size = 1 << TABLE_BITS
    edges = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(edges, (np.arange(size) + 0.5) / size, side="right"), len(weights) - 1).astype(
        np.int32
    )


def draw_indices(rng: np.random.Generator, table: IntArray, size: int) -> IntArray:
    """Returns ``size`` items drawn by a quantile table."""
    return table[rng.integers(0, 1 << TABLE_BITS, size, dtype=np.uint32)]


def draw_pool_indices(rng: np.random.Generator, size: int) -> npt.NDArray[np.uint32]:
    """Returns ``size`` uniformly drawn indices into an array of ``POOL_SIZE`` values."""
    return rng.integers(0, POOL_SIZE, size, dtype=np.uint32)


def collect_distinct(make: Callable[[], str], n: int) -> list[str]:
    """Returns the first ``n`` distinct texts that ``make`` returns."""
    texts: dict[str, None] = {}
    while len(texts) < n:
        texts[make()] = None
    return list(texts)
