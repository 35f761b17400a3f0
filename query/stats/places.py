"""Finds the groups of rows by their keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def find_places(rows: pa.Table, groups: pa.Table, keys: Sequence[str]) -> np.ndarray:
    """Returns for each row the place in ``groups`` of the group with the same keys, -1 if there is none.

    Keys are columns with dictionaries. No two groups have the same keys.
    """
    both = pa.concat_tables([groups.select(keys), rows.select(keys)]).unify_dictionaries()
    numbers = np.zeros(len(both), np.int64)
    for key in keys:
        column = both.column(key).combine_chunks()
        # The number of a row that is in no group is -1 from here on: no combination with a group's keys is negative.
        numbers = np.where(numbers < 0, -1, numbers * len(column.dictionary) + column.indices.to_numpy())
        known = pc.unique(pa.array(numbers[: len(groups)]))
        found = pc.index_in(pa.array(numbers), value_set=known)
        numbers = pc.fill_null(found, -1).to_numpy().astype(np.int64)
    # Each group is the first that has its number, so numbers are places.
    places: np.ndarray = numbers[len(groups) :]
    return places
