"""Evaluates many filters on the same events, column by column; what filters have in common is computed once.

The literal texts of all conditions on a field are looked for at once in its distinct strings (``literals.py``), which
decides most conditions. A condition that has no literals, such as a pattern, is tested only where the others of its
``and`` hold. What has no faster way here is evaluated by ``schema/stats/having.py``, whose logic this is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Union

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import FieldType
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.expressions.lower_case import to_lower
from watchfloor.schema.stats.having import find_rows

from .literals import Literal, LiteralFinder, Numbers
from .text_tests import StringTest, find_needs, read_string_test

Mask = npt.NDArray[np.bool_]
Rows = Union[Mask, bool]
"""For each row whether a filter holds; True or False if it holds for all or for none."""
Types = Mapping[str, FieldType]
_FEW = 4
"""A condition is tested on chosen rows alone if these are at most this fraction (1 / _FEW) of all."""


@dataclass
class _Subject:
    """The strings of a field, or their lower case, with the literals that are looked for in them, by number."""

    numbers: dict[Literal, int] = field(default_factory=dict)
    finder: LiteralFinder | None = None


@dataclass(frozen=True, eq=False)
class RuleNode:
    """A filter that is prepared. ``number`` is that of its condition; nodes of ``and``, ``or`` and ``not`` have none.

    The children of ``and`` come in the order in which they are evaluated. ``choices`` are the numbers of the literals
    of which a string must have those of one choice; ``is_exact`` says that this is enough. A node is quick if literals
    or the values of a column decide it.
    """

    tree: f.Filter
    children: tuple[RuleNode, ...] = ()
    number: int = -1
    asked: StringTest | None = None
    choices: tuple[tuple[int, ...], ...] | None = None
    is_exact: bool = True
    is_quick: bool = True


class RuleProgram:
    """Filters that are prepared for evaluation; a filter's number is its place in ``trees``, and None holds for all.

    ``types`` are the types of the values of columns, by name.
    """

    def __init__(self, trees: Iterable[f.Filter | None], types: Types) -> None:
        self.types = types
        self._subjects: dict[tuple[str, bool], _Subject] = {}
        self._prepared: dict[f.Filter, RuleNode] = {}
        self.nodes = [None if tree is None else self._prepare(tree) for tree in trees]

    def _prepare(self, tree: f.Filter) -> RuleNode:
        if tree not in self._prepared:
            self._prepared[tree] = self._make_node(tree)
        return self._prepared[tree]

    def _make_node(self, tree: f.Filter) -> RuleNode:
        match tree:
            case f.And(children) | f.Or(children):
                nodes = tuple(map(self._prepare, children))
                if isinstance(tree, f.And):
                    nodes = tuple(sorted(nodes, key=lambda node: not node.is_quick))
                return RuleNode(tree, nodes, is_quick=all(node.is_quick for node in nodes))
            case f.Not(child):
                node = self._prepare(child)
                return RuleNode(tree, (node,), is_quick=node.is_quick)
        asked, number = read_string_test(tree), len(self._prepared)
        needs = None if asked is None else find_needs(asked.test)
        if asked is None or self.types.get(asked.field) is not FieldType.STRING or needs is None:
            is_quick = isinstance(tree, (f.Compare, f.In, f.Between, f.Exists))
            return RuleNode(tree, number=number, asked=asked, is_quick=is_quick)
        numbers = self._subjects.setdefault((asked.field, asked.lowered), _Subject()).numbers
        choices = tuple(
            tuple(numbers.setdefault(literal, len(numbers)) for literal in choice) for choice in needs.choices
        )
        return RuleNode(tree, (), number, asked, choices, needs.exact)

    def count_subjects(self) -> int:
        """Returns the number of strings of an event in which literals are looked for."""
        return len(self._subjects)

    def find_literals(self, name: str, lowered: bool, values: pa.StringArray) -> dict[int, Numbers]:
        """Returns the indices of the values that have each literal of a subject; without those that none has."""
        subject = self._subjects[name, lowered]
        if subject.finder is None:
            subject.finder = LiteralFinder(list(subject.numbers))
        return subject.finder.find(values)


class RuleEvaluator:
    """Finds the rows of a table that filters of a set hold for."""

    def __init__(self, rules: RuleProgram, table: pa.Table) -> None:
        self._rules, self._table = rules, table
        self._known: dict[int, Rows] = {}
        self._columns: dict[str, _StringColumn | None] = {}
        self._found: dict[tuple[str, bool], dict[int, Numbers]] = {}

    def find_matches(self, number: int) -> Numbers:
        """Returns the rows that a filter holds for, ascending."""
        node = self._rules.nodes[number]
        found = True if node is None else self._find_rows(node, True)
        if isinstance(found, bool):
            return np.arange(len(self._table) if found else 0)
        return np.flatnonzero(found)

    def _find_rows(self, node: RuleNode, within: Rows) -> Rows:
        """Returns for each row of ``within`` whether a filter holds; of other rows the answer means nothing."""
        match node.tree:
            case f.And():
                for child in node.children:
                    if (within := _join_all(within, self._find_rows(child, within))) is False:
                        break
                return within
            case f.Or():
                found: Rows = False
                for child in node.children:
                    found = _join_any(found, self._find_rows(child, within))
                return found
            case f.Not():
                found = self._find_rows(node.children[0], within)
                return not found if isinstance(found, bool) else ~found
        if node.number not in self._known:
            is_few = within is not True and np.count_nonzero(within) * _FEW <= len(self._table)
            if is_few and not node.is_quick:
                return self._test_some(node, np.flatnonzero(within))
            self._known[node.number] = self._test_all(node)
        return self._known[node.number]

    def _test_all(self, node: RuleNode) -> Rows:
        """Returns for each row whether a condition holds."""
        column = None if node.asked is None else self._read_column(node.asked.field)
        if node.asked is not None and node.choices is not None and column is not None:
            return self._test_literals(node.asked, node.choices, node.is_exact, column)
        return _simplify_rows(self._test_rows(node, None))

    def _test_some(self, node: RuleNode, rows: Numbers) -> Rows:
        """Returns whether a condition holds for some rows, and False for all others."""
        found = np.zeros(len(self._table), bool)
        found[rows] = self._test_rows(node, rows)
        return _simplify_rows(found)

    def _test_rows(self, node: RuleNode, rows: Numbers | None) -> Mask:
        """Returns for each row, or for each of some, whether a condition holds."""
        column = None if node.asked is None else self._read_column(node.asked.field)
        if node.asked is None or column is None:
            table = self._table.select(sorted(f.list_fields(node.tree)))
            return find_rows(table if rows is None else table.take(rows).combine_chunks(), node.tree, self._rules.types)
        places = column.places if rows is None else column.places[rows]
        is_used = np.zeros(column.count + 1, bool)  # the last is that of null
        is_used[places] = True
        used = np.flatnonzero(is_used[:-1])
        values = column.list_values(node.asked.lowered).take(pa.array(used))
        results = np.zeros(column.count + 1, bool)
        results[used] = _test_values(values, node.asked.test)
        results[-1] = isinstance(node.asked.test, f.Compare) and node.asked.test.op == "!="
        return results[places]

    def _test_literals(
        self, asked: StringTest, choices: tuple[tuple[int, ...], ...], is_exact: bool, column: _StringColumn
    ) -> Rows:
        """Returns for each row whether a condition holds whose literals are looked for with those of all others."""
        key = asked.field, asked.lowered
        if key not in self._found:
            self._found[key] = self._rules.find_literals(*key, column.list_values(asked.lowered))
        found = self._found[key]
        present = [choice for choice in choices if all(number in found for number in choice)]
        if not present:
            return False
        results = np.zeros(column.count + 1, bool)  # the last is that of null
        for first, *others in present:
            places = found[first]
            for number in others:
                places = np.intersect1d(places, found[number], assume_unique=True)
            results[places] = True
        if not is_exact:
            maybe = np.flatnonzero(results)
            results[maybe] = _test_values(column.list_values(asked.lowered).take(pa.array(maybe)), asked.test)
        return results[column.places] if results.any() else False

    def _read_column(self, name: str) -> _StringColumn | None:
        """Returns the distinct strings of a field; None if it has values of another type."""
        if name not in self._columns:
            column = self._table.column(name)
            self._columns[name] = _StringColumn(column) if pa.types.is_string(column.type) else None
        return self._columns[name]


class _StringColumn:
    """The distinct strings of a column, and for each row the place of its string there; null has the place behind."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        encoded = pa.concat_arrays(column.chunks).dictionary_encode() if column.num_chunks else None
        self._plain = pa.array([], pa.string()) if encoded is None else encoded.dictionary
        self._lowered: pa.StringArray | None = None
        self.count = len(self._plain)
        indices = pa.array([], pa.int32()) if encoded is None else encoded.indices
        self.places: npt.NDArray[np.int32] = pc.fill_null(indices, self.count).to_numpy(zero_copy_only=False)

    def list_values(self, lowered: bool) -> pa.StringArray:
        """Returns the distinct strings, or these in lower case."""
        if not lowered:
            return self._plain
        if self._lowered is None:
            self._lowered = _lower_strings(self._plain)
        return self._lowered


def _lower_strings(values: pa.StringArray) -> pa.StringArray:
    if pc.all(pc.string_is_ascii(values)).as_py() is not False:
        return pc.ascii_lower(values)
    return pa.array([to_lower(text) for text in values.to_pylist()], pa.string())


def _test_values(values: pa.StringArray, test: f.Condition) -> Mask:
    """Returns for each string whether a condition on a field without a name holds."""
    return find_rows(pa.table({"": values}), test, {"": FieldType.STRING})


def _simplify_rows(found: Mask) -> Rows:
    return found if found.any() else False


def _join_all(left: Rows, right: Rows) -> Rows:
    if left is False or right is False:
        return False
    if left is True or right is True:
        return right if left is True else left
    return _simplify_rows(left & right)


def _join_any(left: Rows, right: Rows) -> Rows:
    if left is True or right is True:
        return True
    if left is False or right is False:
        return right if left is False else left
    return left | right
