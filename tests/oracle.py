"""The brute-force oracle: a typed filter evaluated on one event in plain Python, and strategies that draw filters.

It shares nothing with the language, the planner or the store: only the semantics that ``schema/filter.py`` states.
An event is a mapping of field names to the values that ``RecordBatch.to_pylist`` gives: addresses as text, times as
aware datetimes, lists as lists, None for a field that the event lacks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from watchfloor.schema.filter import (
    COMPARISONS,
    And,
    Between,
    Cidr,
    Compare,
    Exists,
    Filter,
    In,
    Matches,
    Not,
    Or,
    Prefix,
    Wildcard,
)
from watchfloor.schema.source import Field, FieldType, Source

Event = Mapping[str, Any]
Pools = Mapping[str, Sequence[Any]]


def holds(tree: Filter, event: Event) -> bool:
    """Whether ``tree`` is true of ``event``."""
    if isinstance(tree, And):
        return all(holds(child, event) for child in tree.children)
    if isinstance(tree, Or):
        return any(holds(child, event) for child in tree.children)
    if isinstance(tree, Not):
        return not holds(tree.child, event)
    value = event.get(tree.field)
    if isinstance(tree, Exists):
        return value is not None
    if isinstance(tree, Compare) and tree.op == "!=":
        return not holds(Compare(tree.field, "=", tree.value), event)
    elements = value if isinstance(value, list) else [value]
    return any(_satisfies(tree, element) for element in elements if element is not None)


def _satisfies(tree: Filter, value: Any) -> bool:
    if isinstance(tree, Compare):
        return _compares(value, tree.op, tree.value)
    if isinstance(tree, In):
        return any(_compares(value, "=", wanted) for wanted in tree.values)
    if isinstance(tree, Between):
        return _compares(value, ">=", tree.low) and _compares(value, "<=", tree.high)
    if isinstance(tree, Cidr):
        return _address(value) in tree.network
    if isinstance(tree, Prefix):
        return value.startswith(tree.prefix)
    if isinstance(tree, Matches):
        return _regex_finds(tree.pattern, tree.ignore_case, value)
    if isinstance(tree, Wildcard):
        return _wildcard(tree.pattern).fullmatch(value) is not None
    raise AssertionError(f"no oracle for {tree}")


def _compares(value: Any, op: str, wanted: Any) -> bool:
    left, right = _rank(value, wanted), _rank(wanted, wanted)
    return {
        "=": left == right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[op]


def _rank(value: Any, like: Any) -> Any:
    """``value`` as something that sorts as its type does: strings by UTF-8 bytes, IPv4 before IPv6."""
    if isinstance(like, (IPv4Address, IPv6Address)):
        address = _address(value)
        return address.version, int(address)
    return value.encode() if isinstance(like, str) else value


@lru_cache(maxsize=100_000)
def _address(value: Any) -> IPv4Address | IPv6Address:
    return ip_address(value)


@lru_cache(maxsize=100_000)
def _regex_finds(pattern: str, ignore_case: bool, value: str) -> bool:
    # RE2 itself, not Python's re: the two differ in $, \s and more.
    return pc.match_substring_regex(pa.array([value]), pattern, ignore_case=ignore_case)[0].as_py()


@lru_cache(maxsize=10_000)
def _wildcard(pattern: str) -> re.Pattern[str]:
    special = {"*": ".*", "?": "."}
    return re.compile(
        "".join(
            re.escape(part[1]) if part[0] == "\\" else special.get(part) or re.escape(part)
            for part in re.findall(r"\\.|[^\\]", pattern, re.DOTALL)
        ),
        re.DOTALL,
    )


def pools_of(source: Source, events: Sequence[Event], most: int = 200) -> dict[str, list[Any]]:
    """Up to ``most`` distinct values of each field, in the order of their first event; elements for lists."""
    pools: dict[str, dict[Any, None]] = {field.name: {} for field in source.fields}
    for event in events:
        for name, pool in pools.items():
            value = event.get(name)
            for element in value if isinstance(value, list) else [value]:
                if element is not None and len(pool) < most:
                    pool[element] = None
    return {name: list(pool) for name, pool in pools.items()}


def filters(source: Source, pools: Pools, max_leaves: int = 6) -> st.SearchStrategy[Filter]:
    """Typed filters for ``source`` whose values are mostly from ``pools`` (field name → values of its events)."""
    by_field = [_conditions(field, pools.get(field.name, ())) for field in source.fields]
    return st.recursive(st.one_of(by_field), _combined, max_leaves=max_leaves)


def _combined(children: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    parts = st.lists(children, min_size=2, max_size=4).map(tuple)
    return st.one_of(parts.map(And), parts.map(Or), children.map(Not))


def _conditions(field: Field, pool: Sequence[Any]) -> st.SearchStrategy[Filter]:
    scalar = field.scalar
    values = _values(scalar, pool)
    ordered = ("=", "!=") if scalar is FieldType.BOOL else COMPARISONS
    kinds: list[st.SearchStrategy[Filter]] = [
        # Equalities most often: they are what the planner and the index deal with.
        st.builds(Compare, st.just(field.name), st.just("="), values),
        st.builds(Compare, st.just(field.name), st.sampled_from(ordered), values),
        st.builds(In, st.just(field.name), st.lists(values, min_size=1, max_size=4).map(tuple)),
        st.just(Exists(field.name)),
    ]
    if scalar is not FieldType.BOOL:
        kinds.append(
            st.tuples(values, values).map(lambda two: Between(field.name, *sorted(two, key=lambda v: _rank(v, v))))
        )
    if scalar is FieldType.IP:
        kinds.append(st.builds(_cidr, st.just(field.name), values, st.integers(0, 128)))
    if scalar is FieldType.STRING:
        cuts = st.tuples(values, st.integers(0, 20), st.integers(0, 20))
        kinds.append(cuts.map(lambda cut: Prefix(field.name, cut[0][: cut[1]])))
        kinds.append(cuts.map(lambda cut: Wildcard(field.name, _with_star(*cut))))
        kinds.append(
            st.tuples(cuts, st.booleans(), st.sampled_from(("{}", "^{}", "{}$", "{}|^$", "[^a]{}", "{}.*[0-9]"))).map(
                lambda drawn: _matches(field.name, *drawn[0], drawn[1], drawn[2])
            )
        )
    return st.one_of(kinds)


def _values(scalar: FieldType, pool: Sequence[Any]) -> st.SearchStrategy[Any]:
    """Values of the pool, their neighbours, and some that no event is likely to have."""
    other: st.SearchStrategy[Any]
    match scalar:
        case FieldType.STRING:
            other = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
            near = st.sampled_from(("", "a", "\x00", "\xff")).flatmap(
                lambda tail: st.sampled_from(list(pool) or [""]).map(lambda value: value + tail)
            )
        case FieldType.INT:
            other = st.integers(-(2**63), 2**63 - 1)
            near = _shifted(pool, -1, 1, lambda value: -(2**63) <= value < 2**63)
        case FieldType.PORT:
            other = st.integers(0, 65_535)
            near = _shifted(pool, -1, 1, lambda value: 0 <= value < 65_536)
        case FieldType.FLOAT:
            other = st.floats(allow_nan=False).map(lambda value: value + 0.0)
            near = _shifted(pool, -0.5, 0.5, lambda value: True)
        case FieldType.BOOL:
            other = near = st.booleans()
        case FieldType.TIME:
            moment = datetime.fromisoformat("2016-03-01T00:00:00+00:00")
            other = st.integers(0, 10**15).map(lambda micros: moment + timedelta(microseconds=micros))
            near = _shifted(pool, timedelta(microseconds=-1), timedelta(microseconds=1), lambda value: True)
        case _:
            other = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))
            near = other
            pool = [ip_address(value) for value in pool]
    if not pool:
        return other
    # Three to one for values that occur, else hardly any drawn filter would match an event.
    known = st.sampled_from(list(pool))
    return st.one_of(known, known, known, near, other)


def _shifted(pool: Sequence[Any], low: Any, high: Any, fits: Any) -> st.SearchStrategy[Any]:
    values = [value + step for value in pool for step in (low, high) if fits(value + step)]
    return st.sampled_from(values) if values else st.nothing()


def _cidr(field: str, address: IPv4Address | IPv6Address, bits: int) -> Cidr:
    return Cidr(field, ip_network((address, min(bits, address.max_prefixlen)), strict=False))


def _with_star(value: str, at: int, length: int) -> str:
    """``value`` as a wildcard with a piece of it replaced by a star, and the next character by a question mark."""

    def plain(text: str) -> str:
        return re.sub(r"([*?\\])", r"\\\1", text)

    tail = value[at + length :]
    return f"{plain(value[:at])}*{'?' if len(tail) > 3 else ''}{plain(tail[1:] if len(tail) > 3 else tail)}"[:900]


def _matches(field: str, value: str, at: int, length: int, ignore_case: bool, shape: str) -> Matches:
    piece = re.sub(r"([^\w\x00-\x1f])", lambda match: "\\" + match[1] if match[1] < "\x80" else match[1], value[at:])
    pieces = re.findall(r"\\.|[^\\]", piece, re.DOTALL)[:length]
    return Matches(field, shape.format("".join(pieces)), ignore_case)
