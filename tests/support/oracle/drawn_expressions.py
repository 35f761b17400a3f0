"""Strategies that draw typed conditions on expressions, over the fields of a source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from expression_oracle import lower, registered_domain
from hypothesis import strategies as st

from watchfloor.schema.errors import FilterError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.expressions.functions import FUNCTIONS
from watchfloor.schema.filter.expressions.nodes import (
    Arithmetic,
    Expression,
    FieldValue,
    FunctionCall,
    Number,
    negate,
    walk,
)
from watchfloor.schema.filter.tree import COMPARISONS, Computed, ExpressionCompare, ExpressionTest, Filter
from watchfloor.schema.filter.type_check import type_filter
from watchfloor.schema.source import Source

Pools = Mapping[str, Sequence[Any]]
MakeTest = Callable[[Expression, FieldType, st.SearchStrategy[Any]], st.SearchStrategy[Filter]]

OPERATORS = ("+", "-", "*", "/")
_INTS = (0, 1, 2, 3, 5, 6, 7, 8, 12, 15, 23, -1, 80, 1_000, 2**63 - 1, -(2**63))
_FLOATS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.25, -1.5, 86_400.0, 1e300, float("inf"))


class DrawnExpressions:
    """Draws expressions of each type; ``make_test`` draws a condition on one."""

    def __init__(self, source: Source, pools: Pools, make_test: MakeTest) -> None:
        self.source, self.make_test = source, make_test
        self.names = {scalar: [field.name for field in source.fields if field.scalar is scalar] for scalar in FieldType}
        self.lists = [field.name for field in source.fields if field.is_list]
        self.strings = self.fields(FieldType.STRING)
        texts = [text for name in self.names[FieldType.STRING] for text in pools.get(name, ())[:60]] or [""]
        self.texts = st.sampled_from([*texts, *map(lower, texts), *filter(None, map(registered_domain, texts))])
        self.numbers = st.recursive(self.leaves(), _join_numbers, max_leaves=3)

    def fields(self, *scalars: FieldType) -> st.SearchStrategy[Expression]:
        names = [name for scalar in scalars for name in self.names[scalar]]
        return st.sampled_from([FieldValue(name) for name in names]) if names else st.nothing()

    def calls(self, function: str) -> st.SearchStrategy[Expression]:
        """Calls of a function, of strings sometimes with another function within."""
        if FUNCTIONS[function].takes is FieldType.TIME:
            return self.fields(FieldType.TIME).map(lambda field: FunctionCall(function, field))
        inner = st.tuples(st.sampled_from(("lower", "registered_domain")), self.strings).map(
            lambda two: FunctionCall(*two)
        )
        taken = [self.strings, self.strings, inner]
        if function == "length" and self.lists:
            taken.append(st.sampled_from([FieldValue(name) for name in self.lists]))
        return st.one_of(taken).map(lambda argument: FunctionCall(function, argument))

    def leaves(self) -> st.SearchStrategy[Expression]:
        """Numbers: of fields, constants, of functions, and the difference of two times."""
        times = st.tuples(self.fields(FieldType.TIME), self.fields(FieldType.TIME))
        return st.one_of(
            self.fields(FieldType.INT, FieldType.PORT, FieldType.FLOAT),
            st.sampled_from([Number(value) for value in (*_INTS, *_FLOATS[:-1])]),
            st.one_of([self.calls(name) for name in ("length", "hour", "weekday", "entropy")]),
            times.map(lambda two: Arithmetic("-", *two)),
        )

    def arithmetic(self, op: str) -> st.SearchStrategy[Expression]:
        return st.tuples(self.numbers, self.numbers).map(lambda two: Arithmetic(op, *two))

    def tests(self, expressions: st.SearchStrategy[Expression], kind: FieldType) -> st.SearchStrategy[Any]:
        """Conditions on expressions, with constants that fit ``kind``."""
        values: Mapping[FieldType, st.SearchStrategy[Any]] = {
            FieldType.STRING: self.texts,
            FieldType.INT: st.sampled_from(_INTS),
            FieldType.FLOAT: st.sampled_from(_FLOATS),
        }
        return expressions.flatmap(lambda expression: self.make_test(expression, kind, values[kind]))

    def pairs(self, *sides: st.SearchStrategy[Expression]) -> st.SearchStrategy[Any]:
        """Comparisons of two sides."""
        return st.tuples(st.one_of(sides), st.sampled_from(COMPARISONS), st.one_of(sides)).map(
            lambda drawn: ExpressionCompare(*drawn)
        )

    def of_each_kind(self) -> dict[str, st.SearchStrategy[Filter]]:
        """Conditions by what they have: each function, each operator, and each type of two sides."""
        made: dict[str, st.SearchStrategy[Any]] = {}
        for name, function in FUNCTIONS.items():
            made[name] = self.tests(self.calls(name), function.gives)
        for op in OPERATORS:
            made[op] = self.tests(self.arithmetic(op), FieldType.FLOAT if op == "/" else FieldType.INT)
            made[f"{op} of floats"] = self.tests(self.arithmetic(op), FieldType.FLOAT)
        texts = st.one_of(self.strings, self.calls("lower"), self.calls("registered_domain"))
        made["two strings"] = self.pairs(texts)
        made["two numbers"] = self.pairs(self.numbers, self.leaves())
        for scalar in (FieldType.BOOL, FieldType.TIME, FieldType.IP, FieldType.PORT, FieldType.STRING):
            made[f"two fields of {scalar.value}"] = self.pairs(self.fields(scalar))
        return {
            name: strategy.map(self.type_tree).filter(lambda tree: tree is not None)
            for name, strategy in made.items()
            if not strategy.is_empty
        }

    def type_tree(self, tree: Computed) -> Filter | None:
        """The typed form of a drawn condition; None if it fits no source, as with two lists on a side."""
        try:
            return type_filter(tree, self.source)
        except FilterError:
            return None


def _join_numbers(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    joined = st.tuples(st.sampled_from(OPERATORS), inner, inner).map(lambda three: Arithmetic(*three))
    return st.one_of(joined, inner.map(negate))


def parts_of(tree: Computed) -> set[str]:
    """The functions and operators in a condition on expressions."""
    expressions = (tree.expression,) if isinstance(tree, ExpressionTest) else (tree.left, tree.right)
    nodes = [node for expression in expressions for node in walk(expression)]
    calls = {node.function for node in nodes if isinstance(node, FunctionCall)}
    return calls | {node.op for node in nodes if isinstance(node, Arithmetic)}
