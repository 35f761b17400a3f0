"""Drawing values by their shares: a uniform draw is looked up in a table of quantiles.

That costs one random number and one look-up an event, however many values there are and however they are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

TABLE_BITS = 17
"""A table has 2**17 quantiles: a share below 1 in 131,072 is never drawn."""
POOL_SIZE = 1 << 16
"""Values that a field of numbers is drawn from."""

IntArray = npt.NDArray[np.int32]
WeightArray = npt.NDArray[np.float64]


def zipf_weights(n: int, exponent: float) -> WeightArray:
    """Weights of ``n`` values, the first the most frequent (Zipf's law)."""
    return np.power(np.arange(1, n + 1, dtype=np.float64), -exponent)


def prepend_null(share: float, weights: WeightArray) -> WeightArray:
    """``weights`` with an item before them (the null) that has ``share`` of the whole."""
    return np.concatenate(([share], weights / weights.sum() * (1 - share)))


def build_quantile_table(weights: WeightArray | Sequence[float]) -> IntArray:
    """Entry q of 2**TABLE_BITS is the item that a uniform draw of (q + ½) / 2**TABLE_BITS falls on."""
    weights = np.asarray(weights, np.float64)
    size = 1 << TABLE_BITS
    edges = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(edges, (np.arange(size) + 0.5) / size, side="right"), len(weights) - 1).astype(
        np.int32
    )


def draw_indices(rng: np.random.Generator, table: IntArray, size: int) -> IntArray:
    """``size`` items by a table of ``quantiles``."""
    return table[rng.integers(0, 1 << TABLE_BITS, size, dtype=np.uint32)]


def draw_pool_indices(rng: np.random.Generator, size: int) -> npt.NDArray[np.uint32]:
    """``size`` places in an array of ``NUMBERS`` values."""
    return rng.integers(0, POOL_SIZE, size, dtype=np.uint32)


def collect_distinct(make: Callable[[], str], n: int) -> list[str]:
    """``n`` different texts of those that ``make`` gives, in their order."""
    found: dict[str, None] = {}
    while len(found) < n:
        found[make()] = None
    return list(found)
