"""Makes the columns of an answer from merged groups."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import UserError
from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source
from watchfloor.schema.stats.tree import Aggregate, BucketKey, Key, PrefixKey
from watchfloor.schema.stats.type_check import TypedStats
from watchfloor.store.encoding.values import decode_scalars
from watchfloor.store.stats.answer import decode_floats, decode_numbers, name_keys
from watchfloor.store.stats.program import StateKind, StatePart, list_states

from .merge import GroupMerger
from .places import find_places, split_rows
from .sketches import EXACT_VALUES, count_distinct, find_quantile
from .stages import apply_stages

_INT64 = 1 << 63


@dataclass(frozen=True)
class StatsTable:
    """The groups of an answer so far. ``approximate`` names the columns of which a group comes from a sketch."""

    table: pa.Table
    approximate: tuple[str, ...]


def finish_groups(merger: GroupMerger, typed: TypedStats, source: Source) -> StatsTable:
    """Returns the answer's rows. Without keys there is one row even if no event matches."""
    groups = merger.read_groups()
    keys = name_keys(merger.program)
    if groups is None:
        if typed.stats.keys:
            return StatsTable(apply_stages(typed.schema.empty_table(), typed.stats, source), ())
        groups = pa.table({keys[0]: pa.array([b""], pa.binary()).dictionary_encode()})
    groups = groups.take(_order_groups(groups, keys))
    columns: list[pa.Array] = [
        _decode_key(key, groups.column(name).combine_chunks(), source)
        for key, name in zip(typed.stats.keys, keys, strict=False)
    ]
    approximate = []
    for aggregate in typed.stats.aggregates:
        column, is_exact = _AggregateReader(merger, groups, keys, source).read_column(aggregate)
        columns.append(column)
        if not is_exact:
            approximate.append(aggregate.name)
    arrays = [column.cast(field.type) for column, field in zip(columns, typed.schema, strict=True)]
    return StatsTable(
        apply_stages(pa.Table.from_arrays(arrays, schema=typed.schema), typed.stats, source), tuple(approximate)
    )


def _order_groups(groups: pa.Table, keys: list[str]) -> pa.Array:
    """Returns the places of the groups in the order of their keys."""
    ranks = []
    for key in keys:
        coded = groups.column(key).combine_chunks().dictionary_encode()
        order = pc.sort_indices(coded.dictionary).to_numpy()
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        ranks.append(rank[coded.indices.to_numpy()])
    return pa.array(np.lexsort(ranks[::-1]))


def _decode_key(key: Key, column: pa.Array, source: Source) -> pa.Array:
    """Returns the values of a key: encoded ones come after the byte 1, and null is empty."""
    dictionary = column.dictionary_encode()
    encoded = pc.binary_slice(dictionary.dictionary, 1, (1 << 31) - 1)
    encoded = pc.if_else(pc.equal(dictionary.dictionary, b""), pa.scalar(None, pa.binary()), encoded)
    if isinstance(key, BucketKey):
        values = decode_scalars(FieldType.TIME, encoded)
    else:
        values = decode_scalars(source.find_field(key.field).scalar, encoded)
    if isinstance(key, PrefixKey):
        bits = pc.if_else(pc.match_substring(values, ":"), str(key.bits6), str(key.bits))
        values = pc.binary_join_element_wise(values, bits, "/")
    return values.take(dictionary.indices)


class _AggregateReader:
    """Reads the columns of aggregates from merged groups, in the order of ``groups``."""

    def __init__(self, merger: GroupMerger, groups: pa.Table, keys: list[str], source: Source) -> None:
        self._merger, self._groups, self._keys, self._source = merger, groups, keys, source

    def read_column(self, aggregate: Aggregate) -> tuple[pa.Array, bool]:
        """Returns the column of an aggregate and whether it is exact in all groups."""
        states = list_states(aggregate, self._source)
        match aggregate.function:
            case "count":
                return self._read_plain(states[0], 0), True
            case "sum" | "avg":
                return self._read_sum(aggregate, *states), True
            case "min" | "max":
                return self._decode_field(aggregate, self._read_plain(states[0], None)), True
            case "first" | "last":
                return self._decode_field(aggregate, self._read_values(states[0])), True
            case "distinct":
                return self._count_distinct(states[0])
            case "values":
                return self._list_values(aggregate, states[0]), True
        return self._find_quantiles(aggregate, states[0])

    def _number(self, state: StatePart) -> int:
        return self._merger.program.states.index(state)

    def _read_plain(self, state: StatePart, missing: Any, suffix: str = "") -> pa.Array:
        """Returns the column of a plain state; without any event there is one group, which has ``missing``."""
        name = f"s{self._number(state)}{suffix}"
        if name not in self._groups.column_names:
            return pa.array([missing] * len(self._groups), pa.binary() if missing is None else None)
        return self._groups.column(name).combine_chunks()

    def _decode_field(self, aggregate: Aggregate, encoded: pa.Array) -> pa.Array:
        return decode_scalars(self._source.find_field(aggregate.field or "").scalar, encoded)

    def _read_sum(self, aggregate: Aggregate, total: StatePart, number: StatePart) -> pa.Array:
        """Returns sums or means; null where no event has a value."""
        counts = self._read_plain(number, 0).to_numpy(zero_copy_only=False)
        if total.kind is StateKind.SUM_FLOAT:
            sums = self._read_plain(total, 0.0).to_numpy(zero_copy_only=False)
        else:
            high, low = (self._read_plain(total, 0, part).to_pylist() for part in ("", "low"))
            sums = np.array([(h << 32) + part for h, part in zip(high, low, strict=True)], dtype=object)
        if aggregate.function == "avg":
            means = [total / max(count, 1) for total, count in zip(sums.tolist(), counts.tolist(), strict=True)]
            return pa.array(means, pa.float64(), mask=counts == 0)
        if total.kind is StateKind.SUM_INT and any(not -_INT64 <= one < _INT64 for one in sums):
            most = max(sums, key=abs)
            raise UserError(f"{aggregate.name}: a sum of {Decimal(most):.3e} does not fit into 64 bits; use avg")
        return pa.array(sums.tolist(), pa.float64() if sums.dtype != object else pa.int64(), mask=counts == 0)

    def _align(self, rows: pa.Table, column: str) -> pa.Array:
        """Returns a column of ``rows``, which has one row a group at most, in the order of the groups; null without."""
        if not self._merger.program.keys:
            return rows.column(column).combine_chunks() if len(rows) else pa.nulls(1, rows.schema.field(column).type)
        places = self._find_places(rows)
        order = np.full(len(self._groups), -1)
        order[places] = np.arange(len(rows))
        taken = pa.array(np.maximum(order, 0), mask=order < 0)
        return rows.column(column).combine_chunks().take(taken)

    def _find_places(self, rows: pa.Table) -> np.ndarray:
        """Returns the place among the groups of each row's group."""
        if not self._merger.program.keys:
            return np.zeros(len(rows), np.int64)
        return find_places(rows, self._groups, self._keys)

    def _read_values(self, state: StatePart) -> pa.Array:
        rows = self._merger.read_values(self._number(state))
        return pa.nulls(len(self._groups), pa.binary()) if rows is None else self._align(rows, "value")

    def _list_rows(self, state: StatePart) -> tuple[pa.Table | None, dict[int, bytes]]:
        """Returns the values of a state, and the sketches of groups by the place of the group."""
        number = self._number(state)
        rows, sketches = self._merger.read_values(number), self._merger.read_sketches(number)
        if sketches is None or not len(sketches):
            return rows, {}
        places = self._find_places(sketches).tolist()
        return rows, dict(zip(places, sketches.column("sketch").to_pylist(), strict=True))

    def _count_distinct(self, state: StatePart) -> tuple[pa.Array, bool]:
        rows, sketches = self._list_rows(state)
        counts = np.zeros(len(self._groups), np.int64)
        beside: dict[int, pa.Table] = {}
        if rows is not None and len(rows):
            places = self._find_places(rows)
            counts += np.bincount(places, minlength=len(counts))
            if sketches:
                beside = dict(enumerate(split_rows(rows.select(["value"]), places, len(counts))))
        for place, sketch in sketches.items():
            more = beside[place].column("value") if place in beside else pa.array([], pa.binary())
            counts[place] = count_distinct(sketch, more)
        return pa.array(counts), not sketches

    def _list_values(self, aggregate: Aggregate, state: StatePart) -> pa.Array:
        """Returns the sorted distinct values of each group."""
        rows, sketches = self._list_rows(state)
        kind = self._source.find_field(aggregate.field or "").scalar
        if rows is None:
            return pa.array([[]] * len(self._groups), pa.list_(decode_scalars(kind, pa.array([], pa.binary())).type))
        places = self._find_places(rows)
        counts = np.bincount(places, minlength=len(self._groups))
        if sketches or counts.max(initial=0) > EXACT_VALUES:
            raise UserError(f"{aggregate.name}: a group has more values than a list holds; use distinct to count them")
        rows = pa.table({"place": places, "value": rows.column("value").cast(pa.binary())})
        rows = rows.sort_by([("place", "ascending"), ("value", "ascending")])
        offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
        return pa.ListArray.from_arrays(offsets, decode_scalars(kind, rows.column("value").combine_chunks()))

    def _find_quantiles(self, aggregate: Aggregate, state: StatePart) -> tuple[pa.Array, bool]:
        """Returns the least value of each group that at least the share of the group's values does not exceed."""
        rows, sketches = self._list_rows(state)
        kind = self._source.find_field(aggregate.field or "").scalar
        share = aggregate.share or 0.0
        if rows is None:
            return pa.nulls(len(self._groups), pa.float64()), True
        rows = rows.append_column("place", pa.array(self._find_places(rows)))
        rows = rows.sort_by([("place", "ascending"), ("value", "ascending")])
        places, counts = (rows.column(name).to_numpy() for name in ("place", "count"))
        numbers = rows.column("value").to_numpy()
        totals = np.bincount(places, counts, len(self._groups)).astype(np.int64)
        # The rank of the quantile within all rows: the groups before it, and its rank in its own group.
        ranks = np.cumsum(totals) - totals + np.maximum(1, np.ceil(share * totals)).astype(np.int64)
        found = np.searchsorted(np.cumsum(counts), ranks)
        taken = np.where(totals > 0, found, 0)
        picked = numbers[taken] if len(numbers) else np.zeros(len(taken), np.uint64)
        quantiles = decode_numbers(kind is FieldType.FLOAT, picked).to_pylist()
        for place, sketch in sketches.items():
            mine = places == place
            quantile = find_quantile(sketch, decode_floats(kind is FieldType.FLOAT, numbers[mine]), counts[mine], share)
            quantiles[place] = quantile if kind is FieldType.FLOAT else round(quantile)
            totals[place] = 1
        quantile_type = pa.float64() if kind is FieldType.FLOAT else pa.int64()
        return pa.array(quantiles, quantile_type, mask=totals == 0), not sketches
