"""Strategies that draw typed filters: single conditions by field and operator, and trees of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from drawn_expressions import DrawnExpressions
from hypothesis import strategies as st
from oracle import Event, rank

from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.filter.expressions.nodes import Expression
from watchfloor.schema.filter.patterns import check_regex
from watchfloor.schema.filter.tree import (
    COMPARISONS,
    And,
    Between,
    Cidr,
    Compare,
    Computed,
    Condition,
    Exists,
    ExpressionTest,
    Filter,
    In,
    Matches,
    Not,
    Or,
    Prefix,
    Wildcard,
    make_contains,
    make_ends_with,
)
from watchfloor.schema.source import Source

Pools = Mapping[str, Sequence[Any]]

STRING_OPERATORS = ("startswith", "endswith", "contains", "like", "~", "~ i")
AROUND = ("{}", "^{}", "{}$", "{}|^$", "[^a]{}", "{}.*[0-9]", "(?:{})+", "\\b{}", "(?s)^.{{2,5}}{}")
"""Of patterns around a piece of a value."""


def operators_of(scalar: FieldType) -> tuple[str, ...]:
    """The operators that fit a type, in the words that ``operator_of`` has for them."""
    ordered = ("=", "!=") if scalar is FieldType.BOOL else (*COMPARISONS, "..")
    networks = ("in network",) if scalar is FieldType.IP else ()
    return (*ordered, "in", "exists", *networks, *(STRING_OPERATORS if scalar is FieldType.STRING else ()))


def operator_of(condition: Condition) -> str:
    match condition:
        case Compare(_, op, _):
            return op
        case In():
            return "in"
        case Between():
            return ".."
        case Cidr():
            return "in network"
        case Prefix():
            return "startswith"
        case Matches():
            return "~ i" if condition.ignore_case else "~"
        case Wildcard(_, pattern):
            stars = re.fullmatch(r"(\*?)(?:\\.|[^*?\\])*(\*?)", pattern, re.DOTALL)
            return {("*", ""): "endswith", ("*", "*"): "contains"}.get(stars.groups() if stars else ("", ""), "like")
        case Exists():
            return "exists"


def conditions_of(tree: Filter) -> Iterator[Condition | Computed]:
    """The leaves of a filter."""
    if isinstance(tree, (And, Or)):
        for child in tree.children:
            yield from conditions_of(child)
    elif isinstance(tree, Not):
        yield from conditions_of(tree.child)
    else:
        yield tree


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
    on_fields = st.one_of([leaves(field, pools.get(field.name, ())) for field in source.fields])
    computed = st.one_of(list(expressions(source, pools).values()))
    return trees(st.one_of(on_fields, on_fields, computed), max_leaves)


def expressions(source: Source, pools: Pools) -> dict[str, st.SearchStrategy[Filter]]:
    """Typed conditions on expressions, by what they have."""
    return DrawnExpressions(source, pools, _test_expression).of_each_kind()


def _test_expression(
    expression: Expression, kind: FieldType, values: st.SearchStrategy[Any]
) -> st.SearchStrategy[Filter]:
    """Conditions on the values of an expression."""
    field = Field("", kind)
    conditions = st.sampled_from(operators_of(kind)).flatmap(lambda operator: condition(field, operator, values))
    return conditions.map(lambda test: ExpressionTest(expression, test))


def trees(leaf: st.SearchStrategy[Filter], max_leaves: int = 6) -> st.SearchStrategy[Filter]:
    """Leaves joined by ``and``, ``or`` and ``not``, as deep as it comes."""
    return st.recursive(leaf, _combined, max_leaves=max_leaves)


def shapes(given: st.SearchStrategy[Filter], other: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    """Filters around one condition: alone, and with others in the shapes that a planner looks for."""
    return st.tuples(st.sampled_from(_SHAPES), given, other, other, other).map(lambda drawn: drawn[0](*drawn[1:]))


_SHAPES: tuple[Callable[[Filter, Filter, Filter, Filter], Filter], ...] = (
    lambda given, a, b, c: given,
    lambda given, a, b, c: And((given, a)),
    lambda given, a, b, c: Or((given, a)),
    lambda given, a, b, c: And((given, Not(a))),
    lambda given, a, b, c: And((Not(given), a)),
    lambda given, a, b, c: Or((a, Not(given))),
    lambda given, a, b, c: And((a, Or((given, b)))),
    lambda given, a, b, c: Or((a, And((given, b)))),
    lambda given, a, b, c: And((a, given, b)),
    lambda given, a, b, c: Not(Or((Not(And((given, a))), b))),
    lambda given, a, b, c: Or((And((given, a)), And((b, c)))),
    lambda given, a, b, c: And((Or((given, a)), Or((b, c)))),
)


def leaves(field: Field, pool: Sequence[Any]) -> st.SearchStrategy[Filter]:
    """Conditions on a field. Equalities most often: they are what the planner and the index deal with."""
    values = values_of(field.scalar, pool)
    known = operators_of(field.scalar)
    return st.one_of([condition(field, operator, values) for operator in ("=", *known)])


def condition(field: Field, operator: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Filter]:
    """Conditions on a field with one operator of ``operators_of``."""
    name = field.name
    if operator in COMPARISONS:
        return values.map(lambda value: Compare(name, operator, value))
    cuts = st.tuples(values, st.integers(0, 20), st.integers(0, 20))
    made: Mapping[str, Callable[[], st.SearchStrategy[Filter]]] = {
        "in": lambda: st.lists(values, min_size=1, max_size=4).map(lambda some: In(name, tuple(some))),
        "..": lambda: st.tuples(values, values).map(
            lambda two: Between(name, *sorted(two, key=lambda value: rank(value, value)))
        ),
        "exists": lambda: st.just(Exists(name)),
        "in network": lambda: st.tuples(values, st.integers(0, 128)).map(lambda drawn: _network(name, *drawn)),
        "startswith": lambda: cuts.map(lambda cut: Prefix(name, cut[0][: cut[1]])),
        "endswith": lambda: cuts.map(lambda cut: make_ends_with(name, cut[0][cut[1] :][:400])),
        "contains": lambda: cuts.map(lambda cut: make_contains(name, cut[0][cut[1] :][: cut[2]])),
        "like": lambda: cuts.map(lambda cut: Wildcard(name, _with_star(*cut))),
        "~": lambda: st.tuples(cuts, st.sampled_from(AROUND)).map(lambda d: _matches(name, *d[0], False, d[1])),
        "~ i": lambda: st.tuples(cuts, st.sampled_from(AROUND)).map(lambda d: _matches(name, *d[0], True, d[1])),
    }
    return made[operator]()


def _combined(children: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    parts = st.lists(children, min_size=2, max_size=4).map(tuple)
    return st.one_of(parts.map(And), parts.map(Or), children.map(Not))


def values_of(scalar: FieldType, pool: Sequence[Any]) -> st.SearchStrategy[Any]:
    """Values of the pool, their neighbours, and some that no event is likely to have."""
    other: st.SearchStrategy[Any]
    match scalar:
        case FieldType.STRING:
            other = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
            tails = st.sampled_from(("", "a", "\x00", "\xff"))
            near = st.tuples(st.sampled_from(list(pool) or [""]), tails).map("".join)
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


def _network(field: str, address: IPv4Address | IPv6Address, bits: int) -> Cidr:
    return Cidr(field, ip_network((address, min(bits, address.max_prefixlen)), strict=False))


def _with_star(value: str, at: int, length: int) -> str:
    """``value`` as a wildcard with a piece of it replaced by a star, and the next character by a question mark."""

    def plain(text: str) -> str:
        return re.sub(r"([*?\\])", r"\\\1", text)

    tail = value[at + length :]
    return f"{plain(value[:at])}*{'?' if len(tail) > 3 else ''}{plain(tail[1:] if len(tail) > 3 else tail)}"[:900]


def _matches(field: str, value: str, at: int, length: int, ignore_case: bool, shape: str) -> Matches:
    """A piece of ``value`` within a pattern; the piece alone is left out where the two may not be together."""
    piece = re.sub(r"([^\w\x00-\x1f])", lambda match: "\\" + match[1] if match[1] < "\x80" else match[1], value[at:])
    pieces = re.findall(r"\\.|[^\\]", piece, re.DOTALL)[:length]
    matches = Matches(field, shape.format("".join(pieces)), ignore_case)
    return Matches(field, shape.format(""), ignore_case) if check_regex(matches.pattern, ignore_case) else matches
