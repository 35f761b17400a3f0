"""Keeps the rows of an answer that a filter over its columns holds for.

The logic is that of filters (``filter/tree.py``): two-valued, null satisfies no condition, and a condition on a list
holds if any element satisfies it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import ARROW_TYPES, FieldType
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.expressions.evaluate import compare_values, evaluate
from watchfloor.schema.filter.expressions.functions import find_type
from watchfloor.schema.filter.values import rank_value

Types = Mapping[str, FieldType]
_Test = Callable[[f.Value], bool]
_ADDRESSES = (IPv4Address, IPv6Address)
_COMPARE = {"<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal, "=": pc.equal}
_RANK = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


def filter_rows(table: pa.Table, where: f.Filter, types: Types) -> pa.Table:
    """Returns the rows of ``table`` that a filter holds for; the filter is typed against the columns of ``table``.

    ``types`` are the types of the columns' values, by name.
    """
    return table.filter(pa.array(find_rows(table, where, types)))


def find_rows(table: pa.Table, tree: f.Filter, types: Types) -> np.ndarray:
    """Returns for each row whether a filter holds; as ``filter_rows`` otherwise."""
    match tree:
        case f.And(children):
            return np.logical_and.reduce([find_rows(table, child, types) for child in children])
        case f.Or(children):
            return np.logical_or.reduce([find_rows(table, child, types) for child in children])
        case f.Not(child):
            return ~find_rows(table, child, types)
        case f.Compare(field, "!=", value):
            return ~find_rows(table, f.Compare(field, "=", value), types)
        case f.ExpressionCompare(left, "!=", right):
            return ~find_rows(table, f.ExpressionCompare(left, "=", right), types)
        case f.ExpressionCompare(left, op, right):
            rows = table.select(sorted(f.list_fields(tree))).to_pylist()
            return np.array([compare_values(left, op, right, row, types) for row in rows], bool)
        case f.ExpressionTest():
            names = f.list_fields(tree)
            is_plain = len(names) == 1 and pa.types.is_string(table.column(*names).type)
            return (_test_distinct_rows if is_plain else _test_expression)(table, tree, types)
    column = table.column(tree.field)
    if isinstance(tree, f.Exists):
        return _to_mask(pc.is_valid(column))
    if not pa.types.is_list(column.type):
        return _to_mask(_test_values(column, tree))
    found = np.zeros(len(column), bool)
    start = 0
    for chunk in column.chunks:
        rows = pc.list_parent_indices(chunk).to_numpy(zero_copy_only=False)
        found[start + rows[_to_mask(_test_values(pc.list_flatten(chunk), tree))]] = True
        start += len(chunk)
    return found


def _test_expression(table: pa.Table, tree: f.ExpressionTest, types: Types) -> np.ndarray:
    """Returns for each row whether a condition holds for the value of an expression."""
    rows = table.select(sorted(f.list_fields(tree))).to_pylist()
    values = [list(evaluate(tree.expression, row, types)) or None for row in rows]
    kind = ARROW_TYPES[find_type(tree.expression, types)]
    # The condition is on a field without a name.
    return find_rows(pa.table({"": pa.array(values, pa.list_(kind))}), tree.condition, types)


def _test_distinct_rows(table: pa.Table, tree: f.ExpressionTest, types: Types) -> np.ndarray:
    """Returns as ``_test_expression`` does, for an expression on one field of strings; tests each distinct one once."""
    (name,) = f.list_fields(tree)
    encoded = table.column(name).combine_chunks().dictionary_encode()
    # The last one stands for rows without a value, for which a condition such as != holds.
    distinct = pa.concat_arrays([encoded.dictionary, pa.nulls(1, encoded.dictionary.type)])
    results = _test_expression(pa.table({name: distinct}), tree, types)
    return results[pc.fill_null(encoded.indices, len(distinct) - 1).to_numpy(zero_copy_only=False)]


def _to_mask(values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Returns truth values with False for null."""
    filled = pc.fill_null(values, False)
    return filled.to_numpy() if isinstance(filled, pa.ChunkedArray) else filled.to_numpy(zero_copy_only=False)


def _test_values(values: pa.Array | pa.ChunkedArray, tree: f.Condition) -> pa.Array | pa.ChunkedArray:
    """Returns for each value, all of one type, whether a condition holds; null where the value is null."""
    if (test := _make_address_test(tree)) is not None:
        return _test_distinct(values, test)
    if pa.types.is_floating(values.type):
        values = pc.add(values, 0.0)  # -0.0 becomes 0.0, which a list of values would tell apart
    match tree:
        case f.Compare(_, op, value):
            return _COMPARE[op](values, pa.scalar(value, values.type))
        case f.In(_, members):
            return pc.is_in(values, pa.array(members, values.type))
        case f.Between(_, low, high):
            above = pc.greater_equal(values, pa.scalar(low, values.type))
            return pc.and_(above, pc.less_equal(values, pa.scalar(high, values.type)))
        case f.Prefix(_, prefix):
            return pc.starts_with(values, prefix)
        case f.Matches(_, pattern, ignore_case):
            return pc.match_substring_regex(values, pattern, ignore_case=ignore_case)
        case f.Wildcard(_, pattern):
            return pc.match_substring_regex(values, _to_regex(pattern))
    raise TypeError(f"no values are tested with {type(tree).__name__}")


def _make_address_test(tree: f.Condition) -> _Test | None:
    """Returns the test of an address for a condition on addresses; None for other conditions."""
    match tree:
        case f.Cidr(_, network):
            return lambda address: address in network
        case f.Compare(_, op, value) if isinstance(value, _ADDRESSES):
            compare, rank = _RANK[op], rank_value(value)
            return lambda address: compare(rank_value(address), rank)
        case f.In(_, values) if isinstance(values[0], _ADDRESSES):
            members = frozenset(values)
            return lambda address: address in members
        case f.Between(_, low, high) if isinstance(low, _ADDRESSES):
            least, most = rank_value(low), rank_value(high)
            return lambda address: least <= rank_value(address) <= most  # type: ignore[operator]
    return None


def _test_distinct(values: pa.Array | pa.ChunkedArray, test: _Test) -> pa.Array:
    """Returns for each address whether a test holds; each distinct one is parsed and tested once."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    encoded = array.dictionary_encode()
    results = pa.array([test(ip_address(text)) for text in encoded.dictionary.to_pylist()], pa.bool_())
    return results.take(encoded.indices)


@lru_cache(maxsize=256)
def _to_regex(wildcard: str) -> str:
    """Returns the RE2 pattern that finds the strings that fit a wildcard."""
    signs = {"*": ".*", "?": "."}
    parts = re.findall(r"\\.|[^\\]", wildcard, re.DOTALL)
    return "".join(["(?s)\\A", *(signs.get(part) or _quote_character(part[-1]) for part in parts), "\\z"])


def _quote_character(character: str) -> str:
    """Returns the RE2 pattern of one character; those that have a meaning in patterns, by their number."""
    plain = character.isalnum() or character > "\x7f"
    return character if plain else f"\\x{{{ord(character):x}}}"
