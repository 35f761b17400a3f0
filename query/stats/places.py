"""Finds the groups of rows by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

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


def split_rows(rows: pa.Table, places: np.ndarray, groups: int) -> Iterator[pa.Table]:
    """Yields the rows of each of the groups 0, 1, …, whose places in ``places`` are those of ``find_places``."""
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(groups + 1))
    sorted_rows = rows.take(pa.array(order[bounds[0] : bounds[-1]]))
    for start, end in pairwise(bounds):
        yield sorted_rows.slice(start - bounds[0], end - start)
