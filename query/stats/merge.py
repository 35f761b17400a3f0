"""Merges the groups that tablet servers send. A row of each table is a group, or a value of a group."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import UserError
from watchfloor.store.stats.answer import PartialGroups, decode_floats, name_keys
from watchfloor.store.stats.program import StateKind, StatsProgram

from .places import find_places, split_rows
from .sketches import EXACT_VALUES, merge_sketches, sketch_numbers, sketch_values

MAX_VALUES = 8_000_000
"""The largest number of distinct values that are kept for all groups of a state together."""
KEPT_VALUES = 4_000_000
"""The number of distinct values of all groups together up to which no group of a set becomes a sketch here."""
_LEAST_ROWS = 1 << 16
"""Rows that may wait until they are merged; more may wait if as many are merged already."""
_ORDERS = {StateKind.FIRST: "ascending", StateKind.LAST: "descending"}


class _MergedTable:
    """Rows that are merged when there are twice as many as after the last merging."""

    def __init__(self, merge: Callable[[pa.Table], pa.Table], limit: int, error: str) -> None:
        """Raises ``UserError(error)`` if more than ``limit`` rows are left after merging."""
        self.merge, self._limit, self._error = merge, limit, error
        self._merged: pa.Table | None = None
        self._waiting: list[pa.Table] = []

    def add_rows(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        merged = 0 if self._merged is None else self._merged.num_rows
        if sum(table.num_rows for table in self._waiting) > max(_LEAST_ROWS, merged):
            self.read_rows()

    def copy(self, merge: Callable[[pa.Table], pa.Table]) -> _MergedTable:
        """Returns a table with the same rows, which are merged by ``merge``."""
        other = _MergedTable(merge, self._limit, self._error)
        other._merged, other._waiting = self._merged, [*self._waiting]
        return other

    def read_rows(self) -> pa.Table | None:
        """Returns all rows, merged; None if none were ever added."""
        if self._waiting:
            parts = [] if self._merged is None else [self._merged]
            self._merged = self.merge(pa.concat_tables([*parts, *self._waiting]).unify_dictionaries())
            self._waiting = []
            if self._merged.num_rows > self._limit:
                raise UserError(self._error)
        return self._merged


class GroupMerger:
    """The groups of all parts of an answer so far.

    Raises ``UserError`` if there are more than ``max_groups`` groups.
    """

    def __init__(self, program: StatsProgram, max_groups: int) -> None:
        self.program, self.events = program, 0
        self._keys = name_keys(program)
        many = (
            f"there are more than {max_groups:,} groups; narrow the filter or the time range, group by fewer fields, "
            f"or by bucket() or prefix()"
        )
        self._groups = _MergedTable(self._merge_groups, max_groups, many)
        self._values: dict[int, _MergedTable] = {}
        self._sketches: dict[int, _MergedTable] = {}

    def copy(self) -> GroupMerger:
        """Returns a merger with the same groups, to which parts can be added without a change of this one."""
        other = copy.copy(self)
        other._groups = self._groups.copy(other._merge_groups)
        other._sketches, other._values = {}, {}
        for number in self._values:
            other._values[number] = self._values[number].copy(partial(other._merge_values, number))
        for number in self._sketches:
            other._sketches[number] = self._sketches[number].copy(self._sketches[number].merge)
        return other

    def add_part(self, part: PartialGroups) -> None:
        """Adds the groups of some events, which no other part holds."""
        self.events += part.events
        self._groups.add_rows(part.groups)
        for number, rows in part.values.items():
            self._find_values(number).add_rows(rows)
        for number, rows in part.sketches.items():
            self._find_sketches(number).add_rows(rows)

    def read_groups(self) -> pa.Table | None:
        """Returns a row for each group, as ``PartialGroups.groups`` has it; None if there are no events yet."""
        return self._groups.read_rows()

    def read_values(self, number: int) -> pa.Table | None:
        """Returns the values of groups of a state, as ``PartialGroups.values`` has them; None if there are none yet."""
        return self._find_values(number).read_rows()

    def read_sketches(self, number: int) -> pa.Table | None:
        """Returns the sketches of groups of a state; None if there are none yet."""
        return self._find_sketches(number).read_rows()

    def _merge_groups(self, rows: pa.Table) -> pa.Table:
        how = []
        for number, state in enumerate(self.program.states):
            for name in (f"s{number}", f"s{number}low"):
                if name in rows.column_names:
                    least = {StateKind.MIN: "min", StateKind.MAX: "max"}
                    how.append((name, least.get(state.kind, "sum")))
        return self._aggregate(rows, how)

    def _find_values(self, number: int) -> _MergedTable:
        if number not in self._values:
            field = self.program.states[number].field
            many = (
                f"the groups have more than {MAX_VALUES:,} values of {field} together; narrow the filter or the time "
                f"range, or group by fewer fields"
            )
            self._values[number] = _MergedTable(partial(self._merge_values, number), MAX_VALUES, many)
        return self._values[number]

    def _merge_values(self, number: int, rows: pa.Table) -> pa.Table:
        kind = self.program.states[number].kind
        if kind in _ORDERS:
            rows = rows.sort_by([("time", _ORDERS[kind]), ("value", _ORDERS[kind])])
            return self._aggregate(rows, [("time", "first"), ("value", "first")])
        counts = [] if kind is StateKind.SET else [("count", "sum")]
        return self._sketch_large(number, self._aggregate(rows, counts, [*self._keys, "value"]))

    def _sketch_large(self, number: int, rows: pa.Table) -> pa.Table:
        """Moves the values of groups that have more than ``EXACT_VALUES`` into sketches, and returns the others.

        Distinct values take little room and are cheap to merge, so groups keep them while all have few together.
        """
        kind = self.program.states[number].kind
        if len(rows) <= (KEPT_VALUES if kind is StateKind.SET else EXACT_VALUES):
            return rows
        sizes = rows.group_by(self._keys, use_threads=False).aggregate([("value", "count")])
        large = sizes.filter(pc.greater(sizes.column("value_count"), EXACT_VALUES)).select(self._keys)
        if not len(large):
            return rows
        sketches = []
        places = find_places(rows, large, self._keys)
        for mine in split_rows(rows, places, len(large)):
            if kind is StateKind.SET:
                sketches.append(sketch_values(mine.column("value")))
            else:
                floats = decode_floats(kind is StateKind.HISTOGRAM_FLOAT, mine.column("value").to_numpy())
                sketches.append(sketch_numbers(floats, mine.column("count").to_numpy()))
        self._find_sketches(number).add_rows(large.append_column("sketch", pa.array(sketches, pa.binary())))
        return rows.filter(pa.array(places < 0))

    def _find_sketches(self, number: int) -> _MergedTable:
        if number not in self._sketches:
            kind = self.program.states[number].kind
            many = "the groups have more sketches than fit into memory; group by fewer fields"
            self._sketches[number] = _MergedTable(
                lambda rows: merge_sketches(rows, self._keys, is_set=kind is StateKind.SET), 100_000, many
            )
        return self._sketches[number]

    def _aggregate(self, rows: pa.Table, how: Iterable[tuple[str, str]], keys: list[str] | None = None) -> pa.Table:
        """Returns the rows grouped by ``keys`` (default: those of groups), with their columns' names."""
        how, keys = list(how), keys or self._keys
        merged = rows.group_by(keys, use_threads=False).aggregate(how)
        named = merged.select([*keys, *(f"{name}_{function}" for name, function in how)])
        return named.rename_columns([*keys, *(name for name, _ in how)])
