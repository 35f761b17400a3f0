"""Sketches of groups with many values: HLL for numbers of distinct values, KLL for quantiles (Apache DataSketches).

Tablet servers make them with the Java library; here they are merged and read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa

EXACT_VALUES = 4096
"""The number of distinct values of a group up to which an answer is exact (Java's ``ValueSet.EXACT``)."""
LOG2_REGISTERS = 12
DISTINCT_ERROR = 0.032
"""Relative error of a sketch's number of distinct values in 19 of 20 cases: two standard errors of 2^12 registers."""
KLL_ACCURACY = 200
RANK_ERROR = datasketches.kll_doubles_sketch.get_normalized_rank_error(KLL_ACCURACY, False)
"""Error of a quantile's rank, as a share of all values, in 99 of 100 cases."""


def merge_sketches(rows: pa.Table, keys: Sequence[str], *, is_set: bool) -> pa.Table:
    """Returns a row for each group of ``rows``, with the union of its sketches."""
    groups: dict[tuple[bytes, ...], list[bytes]] = {}
    columns = [rows.column(key).to_pylist() for key in keys]
    for *key, sketch in zip(*columns, rows.column("sketch").to_pylist(), strict=True):
        groups.setdefault(tuple(key), []).append(sketch)
    merge = _merge_hll if is_set else _merge_kll
    merged = [sketches[0] if len(sketches) == 1 else merge(sketches) for sketches in groups.values()]
    arrays = {
        key: pa.array([group[i] for group in groups], pa.binary()).dictionary_encode() for i, key in enumerate(keys)
    }
    return pa.table(arrays | {"sketch": pa.array(merged, pa.binary())})


def _merge_hll(sketches: Sequence[bytes]) -> bytes:
    union = datasketches.hll_union(LOG2_REGISTERS)
    for sketch in sketches:
        union.update(datasketches.hll_sketch.deserialize(sketch))
    return bytes(union.get_result(datasketches.tgt_hll_type.HLL_4).serialize_compact())


def _merge_kll(sketches: Sequence[bytes]) -> bytes:
    first, *others = map(datasketches.kll_doubles_sketch.deserialize, sketches)
    for other in others:
        first.merge(other)
    return bytes(first.serialize())


def sketch_values(values: pa.BinaryArray) -> bytes:
    """Returns a sketch of distinct values, which are encoded."""
    return bytes(_update_hll(datasketches.hll_sketch(LOG2_REGISTERS), values).serialize_compact())


def sketch_numbers(numbers: np.ndarray, counts: np.ndarray) -> bytes:
    """Returns a sketch of numbers, each of which occurs ``counts`` times."""
    kll = datasketches.kll_doubles_sketch(KLL_ACCURACY)
    kll.update(np.repeat(numbers, counts))
    return bytes(kll.serialize())


def count_distinct(sketch: bytes, values: pa.BinaryArray) -> int:
    """Returns the approximate number of distinct values of a sketch and of ``values``, which are encoded."""
    return round(_update_hll(datasketches.hll_sketch.deserialize(sketch), values).get_estimate())


def find_quantile(sketch: bytes, numbers: np.ndarray, counts: np.ndarray, share: float) -> float:
    """Returns the approximate quantile of a sketch and of ``numbers``, each of which occurs ``counts`` times."""
    kll = datasketches.kll_doubles_sketch.deserialize(sketch)
    kll.update(np.repeat(numbers, counts))
    return float(kll.get_quantile(share, True))


def _update_hll(hll: Any, values: pa.BinaryArray) -> Any:
    for value in values.to_pylist():
        hll.update(value.decode("latin-1"))  # as Java's ValueSet does: a byte is a character
    return hll
