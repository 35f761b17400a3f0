"""Evaluates many filters on the same events, column by column; what filters have in common is computed once.

The logic is that of ``schema/stats/having.py``, which evaluates what has no faster way here. A condition on a string is
tested on each distinct value, and on its lower case, which is made once for a field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import FieldType
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.expressions.lower_case import to_lower
from watchfloor.schema.filter.expressions.nodes import FieldValue, FunctionCall
from watchfloor.schema.stats.having import find_rows

Mask = npt.NDArray[np.bool_]
_CONTAINS = re.compile(r"\*((?:\\.|[^*?\\])+)\*", re.DOTALL)


class RuleEvaluator:
    """Finds the rows of a table that filters hold for. ``types`` are the types of the columns' values, by name."""

    def __init__(self, table: pa.Table, types: Mapping[str, FieldType]) -> None:
        self._table, self._types = table, types
        self._known: dict[f.Filter, Mask] = {}
        self._distinct: dict[tuple[str, bool], pa.Array] = {}
        self._places: dict[str, npt.NDArray[np.int64]] = {}

    def find_rows(self, tree: f.Filter | None) -> Mask:
        """Returns for each row whether a filter holds; None holds for all."""
        if tree is None:
            return np.ones(len(self._table), bool)
        if tree not in self._known:
            self._known[tree] = self._evaluate(tree)
        return self._known[tree]

    def _evaluate(self, tree: f.Filter) -> Mask:
        match tree:
            case f.And(children):
                found = self.find_rows(children[0])
                for child in children[1:]:
                    if not found.any():
                        break
                    found = found & self.find_rows(child)
                return found
            case f.Or(children):
                return np.logical_or.reduce([self.find_rows(child) for child in children])
            case f.Not(child):
                return ~self.find_rows(child)
            case f.ExpressionTest(FunctionCall("lower", FieldValue(name)), test) if self._has_strings(name):
                return self._test_strings(name, True, test)
            case f.Prefix(name) | f.Matches(name) | f.Wildcard(name) if self._has_strings(name):
                return self._test_strings(name, False, tree)
        return find_rows(self._table, tree, self._types)

    def _has_strings(self, name: str) -> bool:
        return pa.types.is_string(self._table.column(name).type)

    def _test_strings(self, name: str, lowered: bool, test: f.Condition) -> Mask:
        """Returns for each row whether a condition holds for the string of a field, or for its lower case."""
        values = self._list_distinct(name, lowered)
        results = np.zeros(len(values) + 1, bool)  # the last is that of null
        results[:-1] = _test_values(values, test, self._types)
        results[-1] = isinstance(test, f.Compare) and test.op == "!="
        return results[self._places[name]]

    def _list_distinct(self, name: str, lowered: bool) -> pa.Array:
        """Returns the distinct strings of a field, or these in lower case."""
        if (name, lowered) not in self._distinct:
            if lowered:
                plain = self._list_distinct(name, False)
                values = pa.array([to_lower(text) for text in plain.to_pylist()], pa.string())
            else:
                encoded = pa.concat_arrays(self._table.column(name).chunks).dictionary_encode()
                values = encoded.dictionary
                places = pc.fill_null(encoded.indices.cast(pa.int64()), len(values))
                self._places[name] = places.to_numpy(zero_copy_only=False)
            self._distinct[name, lowered] = values
        return self._distinct[name, lowered]


def _test_values(values: pa.Array, test: f.Condition, types: Mapping[str, FieldType]) -> Mask:
    """Returns for each string whether a condition holds."""
    if isinstance(test, f.Wildcard):
        literal, ending = _read_wildcard(test.pattern)
        if literal is not None:
            found = pc.ends_with(values, literal) if ending else pc.match_substring(values, literal)
            return found.to_numpy(zero_copy_only=False)
    return find_rows(pa.table({"": values}), replace(test, field=""), {"": FieldType.STRING})


@lru_cache(maxsize=65_536)
def _read_wildcard(pattern: str) -> tuple[str | None, bool]:
    """Returns the literal text that strings contain or end with which fit a wildcard, and whether it is an ending.

    There is none if the wildcard has another form.
    """
    if match := _CONTAINS.fullmatch(pattern):
        return re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL), False
    start, ending, middle = f.find_literal_ends(pattern)
    return (ending, True) if not start and middle == "*" else (None, False)
