"""The brute-force oracle: a typed filter evaluated on events in plain Python.

It shares nothing with the language, the planner or the store: only the semantics that ``schema/filter/tree.py`` states.
An event is a mapping of field names to the values that ``RecordBatch.to_pylist`` gives: addresses as text, times as
aware datetimes, lists as lists, None for a field that the event lacks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from expression_oracle import pair_holds, values_of

from watchfloor.schema.filter.tree import (
    And,
    Between,
    Cidr,
    Compare,
    Exists,
    ExpressionCompare,
    ExpressionTest,
    Filter,
    In,
    Matches,
    Not,
    Or,
    Prefix,
    Wildcard,
    list_fields,
)

Event = Mapping[str, Any]


def holds(tree: Filter, event: Event, addresses: Collection[str] = ()) -> bool:
    """Returns whether ``tree`` is true of ``event``.

    ``addresses`` are the names of the fields of addresses, which expressions do not tell from strings.
    """
    if isinstance(tree, And):
        return all(holds(child, event, addresses) for child in tree.children)
    if isinstance(tree, Or):
        return any(holds(child, event, addresses) for child in tree.children)
    if isinstance(tree, Not):
        return not holds(tree.child, event, addresses)
    if isinstance(tree, ExpressionCompare):
        if tree.op == "!=":
            return not pair_holds(tree.left, "=", tree.right, event, addresses)
        return pair_holds(tree.left, tree.op, tree.right, event, addresses)
    if isinstance(tree, ExpressionTest):
        # The condition is on a field without a name.
        return holds(tree.condition, {"": values_of(tree.expression, event, addresses) or None})
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
        return _fits(tree.pattern, value)
    raise AssertionError(f"no oracle for {tree}")


def _compares(value: Any, op: str, wanted: Any) -> bool:
    left, right = rank(value, wanted), rank(wanted, wanted)
    return {
        "=": left == right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[op]


def rank(value: Any, like: Any) -> Any:
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
def _parts(wildcard: str) -> list[tuple[re.Pattern[str], int]]:
    """Returns the parts before, between and after the stars: characters or any ones, and how many."""
    parts: list[list[str]] = [[]]
    for sign in re.findall(r"\\.|[^\\]", wildcard, re.DOTALL):
        if sign == "*":
            parts.append([])
        else:
            parts[-1].append("." if sign == "?" else re.escape(sign[-1]))
    return [(re.compile("".join(part), re.DOTALL), len(part)) for part in parts]


def _fits(wildcard: str, value: str) -> bool:
    """Takes each part where it is first found behind the one before: no wildcard takes long."""
    *others, (last, length) = _parts(wildcard)
    if not others:
        return last.fullmatch(value) is not None
    at = 0
    for number, (part, _) in enumerate(others):
        found = part.search(value, at) if number else part.match(value)
        if found is None:
            return False
        at = found.end()
    end = len(value) - length
    return end >= at and last.fullmatch(value, end) is not None


class Rows:
    """Events by column. Tells of all of them at once whether a filter holds; each distinct value is asked once."""

    def __init__(self, names: Sequence[str], events: Sequence[Event], addresses: Collection[str] = ()) -> None:
        self._addresses = addresses
        self._columns: dict[str, tuple[list[Any], np.ndarray]] = {}
        for name in names:
            known: dict[Any, int] = {}
            codes = [known.setdefault(_hashable(event.get(name)), len(known)) for event in events]
            values = [list(value) if isinstance(value, tuple) else value for value in known]
            self._columns[name] = values, np.array(codes)

    def holding(self, tree: Filter) -> np.ndarray:
        """Of each event whether ``tree`` is true of it."""
        if isinstance(tree, And):
            return np.logical_and.reduce([self.holding(child) for child in tree.children])
        if isinstance(tree, Or):
            return np.logical_or.reduce([self.holding(child) for child in tree.children])
        if isinstance(tree, Not):
            return ~self.holding(tree.child)
        if isinstance(tree, (ExpressionTest, ExpressionCompare)):
            return self._holding_computed(tree)
        values, codes = self._columns[tree.field]
        return np.array([holds(tree, {tree.field: value}) for value in values])[codes]

    def _holding_computed(self, tree: ExpressionTest | ExpressionCompare) -> np.ndarray:
        """Asks each distinct combination of the values of the fields in ``tree`` once."""
        names = sorted(list_fields(tree))
        codes = np.stack([self._columns[name][1] for name in names])
        distinct, which = np.unique(codes, axis=1, return_inverse=True)
        pools = [self._columns[name][0] for name in names]
        events = [{n: pool[c] for n, pool, c in zip(names, pools, row, strict=True)} for row in distinct.T]
        return np.array([holds(tree, event, self._addresses) for event in events])[which.reshape(-1)]


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
