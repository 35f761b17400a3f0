"""Matches as the columns that a correlation looks at, sorted by group and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchfloor.query.texts.columns import format_times
from watchfloor.query.texts.event_ids import ID_COLUMN
from watchfloor.schema.filter.sigma.correlations.model import MemberFields
from watchfloor.schema.source import Source

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MatchTable:
    """Matches: times (µs), the members that match, the events' IDs and sources, and texts of groups and values."""

    times: Numbers
    members: Numbers
    ids: pa.Array
    sources: pa.Array
    groups: Sequence[pa.Array]
    values: Sequence[pa.Array]

    def take(self, rows: Numbers) -> MatchTable:
        """Returns some rows, in this order."""
        chosen = pa.array(rows)
        return MatchTable(
            self.times[rows],
            self.members[rows],
            self.ids.take(chosen),
            self.sources.take(chosen),
            [column.take(chosen) for column in self.groups],
            [column.take(chosen) for column in self.values],
        )


def make_match_table(events: pa.Table, source: Source, fields: MemberFields, member: int) -> MatchTable:
    """Returns events of a source that the member of this number matches."""
    many = len(events)
    return MatchTable(
        _join_chunks(events.column(source.time_field)).cast(pa.int64()).to_numpy(),
        np.full(many, member, np.int64),
        _join_chunks(events.column(ID_COLUMN)),
        pa.repeat(source.name, many),
        [to_texts(_join_chunks(events.column(name))) for name in fields.groups],
        [to_texts(_join_chunks(events.column(name))) for name in fields.values],
    )


def join_tables(tables: Sequence[MatchTable]) -> MatchTable:
    """Returns all matches of some tables, of which there is at least one."""
    return MatchTable(
        np.concatenate([table.times for table in tables]),
        np.concatenate([table.members for table in tables]),
        pa.concat_arrays([table.ids for table in tables]),
        pa.concat_arrays([table.sources for table in tables]),
        [pa.concat_arrays(columns) for columns in zip(*(table.groups for table in tables), strict=True)],
        [pa.concat_arrays(columns) for columns in zip(*(table.values for table in tables), strict=True)],
    )


def find_complete_rows(columns: Sequence[pa.Array], many: int) -> Numbers:
    """Returns those of ``many`` rows that have a value in all columns."""
    complete = np.ones(many, bool)
    for column in columns:
        complete &= column.is_valid().to_numpy(zero_copy_only=False)
    return complete.nonzero()[0]


def number_texts(columns: Sequence[pa.Array], many: int) -> Numbers:
    """Returns a number for each of ``many`` rows; rows have the same if they have the same texts. No text is null."""
    numbers = np.zeros(many, np.int64)
    for column in columns:
        encoded = column.dictionary_encode()
        places = encoded.indices.cast(pa.int64()).to_numpy()
        numbers = np.unique(numbers * len(encoded.dictionary) + places, return_inverse=True)[1].reshape(-1)
    return numbers


def to_texts(column: pa.Array) -> pa.Array:
    """Returns the values of a field as texts, by which those of two sources are compared."""
    if pa.types.is_timestamp(column.type):
        return format_times(column)
    return column.cast(pa.string())


def _join_chunks(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
