"""The brute-force oracle of aggregations: groups of events and their statistics in plain Python.

It shares nothing with the language or the store but the tree of ``schema/stats/tree.py``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

from hypothesis import strategies as st
from oracle import Event, holds

from watchfloor.query.stats.sketches import DISTINCT_ERROR, EXACT_VALUES, RANK_ERROR
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.source import Source
from watchfloor.schema.stats.tree import Aggregate, BucketKey, FieldKey, Key, PrefixKey, Stats

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
GroupKey = tuple[Any, ...]


@dataclass(frozen=True)
class RoundedSum:
    """A sum or a mean of floats. Its rounding depends on their order, and is small beside ``scale``."""

    value: float
    scale: float


@dataclass(frozen=True)
class Estimate:
    """A number of distinct values, or with a ``share`` a quantile, of so many values that a sketch may be taken."""

    ordered: tuple[Any, ...]
    share: float | None = None

    def fits(self, found: Any) -> bool:
        """Returns whether a found value is within twice the stated error."""
        if self.share is None:
            return bool(abs(found - len(self.ordered)) <= 2 * DISTINCT_ERROR * len(self.ordered))
        below = sum(value < found for value in self.ordered) / len(self.ordered)
        up_to = sum(value <= found for value in self.ordered) / len(self.ordered)
        return bool(below - 2 * RANK_ERROR <= self.share <= up_to + 2 * RANK_ERROR)


def aggregate_events(stats: Stats, source: Source, events: Iterable[Event]) -> dict[GroupKey, list[Any]]:
    """Returns the values of the aggregates by the values of the keys; the stages of the pipe are left out."""
    groups: dict[GroupKey, list[Event]] = {} if stats.keys else {(): []}
    for event in events:
        for group in itertools.product(*(_values_of_key(key, source, event) for key in stats.keys)):
            groups.setdefault(group, []).append(event)
    return {
        group: [compute_aggregate(aggregate, source, some) for aggregate in stats.aggregates]
        for group, some in groups.items()
    }


def _values_of_key(key: Key, source: Source, event: Event) -> list[Any]:
    """Returns the distinct values of a key that an event has; None alone if it has none."""
    if isinstance(key, BucketKey):
        since = (event[source.time_field] - EPOCH) // timedelta(microseconds=1)
        return [EPOCH + timedelta(microseconds=since // key.width * key.width)]
    values = list(dict.fromkeys(list_values(event, key.field))) or [None]
    if isinstance(key, PrefixKey):
        values = list(dict.fromkeys(None if v is None else find_network(v, key.bits, key.bits6) for v in values))
    return values


def find_network(address: str, bits: int, bits6: int) -> str:
    """Returns the network of an address, such as ``10.1.2.0/24``."""
    parsed = ip_address(address)
    kept = bits if parsed.version == 4 else bits6
    spare = parsed.max_prefixlen - kept
    return f"{type(parsed)(int(parsed) >> spare << spare)}/{kept}"


def list_values(event: Event, name: str) -> list[Any]:
    """Returns the values of a field, several of a list, without nulls."""
    value = event.get(name)
    return [one for one in (value if isinstance(value, list) else [value]) if one is not None]


def compute_aggregate(aggregate: Aggregate, source: Source, events: Sequence[Event]) -> Any:
    """Returns the value of an aggregate over some events."""
    name = aggregate.field
    if name is None:
        return sum(aggregate.where is None or holds(aggregate.where, event) for event in events)
    if aggregate.function == "count":
        return sum(event.get(name) is not None for event in events)
    order = order_of(source.find_field(name))
    values = [value for event in events for value in list_values(event, name)]
    if aggregate.function == "distinct":
        distinct = set(values)
        return len(distinct) if len(distinct) <= EXACT_VALUES else Estimate(tuple(distinct))
    if aggregate.function == "values":
        return sorted(set(values), key=order)
    if not values:
        return None
    if aggregate.function in ("first", "last"):
        timed = [(event[source.time_field], order(v), v) for event in events for v in list_values(event, name)]
        pick = min if aggregate.function == "first" else max
        return pick(timed, key=lambda one: one[:2])[2]
    if aggregate.function == "quantile" and len(set(values)) > EXACT_VALUES:
        return Estimate(tuple(sorted(values)), aggregate.share)
    if aggregate.function == "quantile":
        rank = max(1, math.ceil((aggregate.share or 0) * len(values)))
        return sorted(values, key=order)[rank - 1]
    if aggregate.function in ("sum", "avg"):
        is_sum = aggregate.function == "sum"
        parts = 1 if is_sum else len(values)
        if isinstance(values[0], int):
            return sum(values) if is_sum else sum(values) / parts
        return RoundedSum(sum(values) / parts, sum(map(abs, values)) / parts)
    return (min if aggregate.function == "min" else max)(values, key=order)


def order_of(field: Field) -> Any:
    """Returns the sort key by which values of a field are ordered."""
    if field.scalar is FieldType.STRING:
        return str.encode
    if field.scalar is FieldType.IP:
        return lambda value: (ip_address(value).version, ip_address(value).packed)
    return lambda value: value


def draw_stats(source: Source, filters: st.SearchStrategy[Filter]) -> st.SearchStrategy[Stats]:
    """Returns pipes without stages over all fields of a source, whose counted filters are drawn from ``filters``."""
    fields = list(source.fields)
    numbers = [f for f in fields if f.scalar in (FieldType.INT, FieldType.FLOAT)]
    addresses = [f for f in fields if f.scalar is FieldType.IP]
    any_field, any_number = st.sampled_from(fields), st.sampled_from(numbers or fields)
    shares = st.sampled_from([0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999])
    kinds = [
        st.just(("count", None, None, None)),
        st.tuples(st.just("count"), st.none(), filters, st.none()),
        st.tuples(
            st.sampled_from(["count", "min", "max", "first", "last", "distinct", "values"]),
            any_field.map(lambda f: f.name),
            st.none(),
            st.none(),
        ),
    ]
    if numbers:
        named = any_number.map(lambda f: f.name)
        kinds.append(st.tuples(st.sampled_from(["sum", "avg"]), named, st.none(), st.none()))
        kinds.append(st.tuples(st.just("quantile"), named, st.none(), shares))
    widths = st.sampled_from([1, 60, 3600, 7200, 86_400]).map(lambda seconds: seconds * 1_000_000)
    keys: list[st.SearchStrategy[tuple[Any, ...]]] = [
        any_field.map(lambda f: (FieldKey, f.name)),
        widths.map(lambda width: (BucketKey, width)),
    ]
    if addresses:
        keys.append(
            st.tuples(
                st.just(PrefixKey),
                st.sampled_from(addresses).map(lambda f: f.name),
                st.integers(0, 32),
                st.integers(0, 96),
            )
        )
    return st.builds(
        _make_stats,
        st.lists(st.one_of(kinds), min_size=1, max_size=4),
        st.lists(st.one_of(keys), max_size=3),
    )


def _make_stats(aggregates: Sequence[tuple[Any, ...]], keys: Sequence[tuple[Any, ...]]) -> Stats:
    return Stats(
        tuple(
            Aggregate(function, f"a{number}", field, where, share)
            for number, (function, field, where, share) in enumerate(aggregates)
        ),
        tuple(kind(f"k{number}", *members) for number, (kind, *members) in enumerate(keys)),
    )


def differ(found: Any, wanted: Any) -> bool:
    """Returns whether two values of an aggregate differ by more than rounding and the errors of sketches explain."""
    if isinstance(wanted, Estimate):
        return not wanted.fits(found)
    if isinstance(wanted, RoundedSum):
        if not math.isfinite(wanted.value):
            return str(found) != str(wanted.value)
        return bool(abs(found - wanted.value) > 1e-9 * wanted.scale)
    return bool(found != wanted)


def group_rows(rows: Iterable[Mapping[str, Any]], stats: Stats) -> dict[GroupKey, list[Any]]:
    """Returns the rows of an answer as ``aggregate_events`` has them. Fails if a group comes twice."""
    groups: dict[GroupKey, list[Any]] = {}
    for row in rows:
        group = tuple(row[key.name] for key in stats.keys)
        assert group not in groups, f"{group} comes twice"
        groups[group] = [row[aggregate.name] for aggregate in stats.aggregates]
    return groups
