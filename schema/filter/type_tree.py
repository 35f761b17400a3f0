"""Types the conditions of a filter tree: names become names of fields, and values get their fields' types."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import replace

from watchfloor.schema.errors import FilterError, ListError, TimeRangeError, UserError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.source import Source
from watchfloor.schema.text import shorten

from . import tree as f
from .expressions.functions import find_type
from .expressions.nodes import Expression, FieldValue, Number, list_names, measure_depth, walk
from .expressions.print import format_expression
from .expressions.type_check import NUMBERS, ExpressionTyper
from .names import find_fields, find_single_field, resolve_name
from .parse import ConditionPlace, check_is_flat
from .patterns import MAX_PATTERNS, check_regex, check_wildcard, match_network, measure_pattern
from .print import format_query, format_value, to_text
from .syntax.limits import check_depth, check_terms
from .value_list import MAX_LISTS, FilterCatalog, ValueList
from .values import convert_value, parse_network, rank_value

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
MAX_VALUES = 1_048_576
"""The largest number of characters in all values of a filter together; only a filter in JSON can have more."""


class TreeTyper:
    """Types a tree in one walk, left to right as in its text, in which each condition takes the next of ``places``.

    It may type several trees one after another, which are then bounded together.
    """

    def __init__(
        self,
        source: Source,
        text: str,
        places: tuple[ConditionPlace, ...],
        now: int,
        catalog: FilterCatalog | None = None,
    ) -> None:
        self.source, self.text, self.now, self.catalog = source, text, now, catalog
        self.places = iter(places)
        self.terms = self.patterns = self.characters = 0
        self._meanings: dict[str, dict[str, None]] = {}
        self._lists: dict[str, ValueList] = {}
        self._listed: set[str] = set()

    def find_list(self, name: str) -> ValueList:
        """Returns a named list, which is looked up once. Raises ``UserError`` if there is none."""
        if self.catalog is None:
            raise UserError("a named list does not go here")
        self.count_list(f"@{name}")
        if name not in self._lists:
            self._lists[name] = self.catalog.find_list(name)
        return self._lists[name]

    def count_list(self, text: str) -> None:
        """Counts a list or a query within the filter, each once; raises ``UserError`` over the limit."""
        self._listed.add(text)
        if len(self._listed) > MAX_LISTS:
            raise UserError(f"a filter has at most {MAX_LISTS} lists and queries within it; join some lists")

    def type_query(self, tree: f.InQuery, place: ConditionPlace | None) -> tuple[f.InQuery, Field]:
        """Returns the typed form of a query within the filter, and its column. Raises ``UserError``."""
        if self.catalog is None:
            raise UserError("a query within a filter does not go here")
        self.count_list(format_query(tree))
        source = self.catalog.find_source(tree.source)
        inner = TreeTyper(source, self.text, place.inner if place else (), self.now, self.catalog)
        inner.terms, inner.patterns, inner.characters = self.terms, self.patterns, self.characters
        where = None if tree.where is None else inner.type_node(tree.where, 1)
        self.terms, self.patterns, self.characters = inner.terms, inner.patterns, inner.characters
        text, position = (self.text, place.values[1]) if place else ("", 0)
        column = find_single_field(source, tree.column, text, position)
        return f.InQuery(tree.field, source.name, where, column.name, tree.values), column

    def type_node(self, tree: f.Filter, depth: int) -> f.Filter:
        """Returns the typed form of a node; raises ``FilterError`` if it is too deep or does not fit the source."""
        check_depth(depth)
        if isinstance(tree, (f.And, f.Or)):
            return type(tree)(tuple(self.type_node(child, depth + 1) for child in tree.children))
        if isinstance(tree, f.Not):
            return f.Not(self.type_node(tree.child, depth + 1))
        place = next(self.places, None)
        if isinstance(tree, f.ExpressionCompare):
            return self.type_comparison(tree, place, depth)
        if isinstance(tree, f.ExpressionTest):
            return self.type_test(tree, place, depth)
        text, position = (self.text, place.field) if place else ("", 0)
        fields = resolve_name(self.source, tree.field, text, position)
        if isinstance(tree, f.Compare) and self.is_field(tree.value, {field.scalar for field in fields}):
            parts = ConditionPlace(position, parts=(position, *place.values)) if place else None
            left, right = FieldValue(tree.field), FieldValue(str(tree.value))
            return self.type_comparison(f.ExpressionCompare(left, tree.op, right), parts, depth)
        typed = self.type_condition(tree, fields, place)
        if isinstance(typed, (f.And, f.Or)):
            check_depth(depth + 1, text, position)
        return typed

    def is_field(self, value: f.Value, scalars: Collection[FieldType]) -> bool:
        """Returns whether the right side of a comparison is a field: no value of any of some types, but a field's name.

        A string is a value of every field of strings.
        """
        if not isinstance(value, str) or FieldType.STRING in scalars:
            return False
        for scalar in scalars:
            try:
                convert_value(value, scalar, self.now)
            except (ValueError, TimeRangeError):
                continue
            return False
        return bool(find_fields(self.source, value))

    def type_comparison(self, tree: f.ExpressionCompare, place: ConditionPlace | None, depth: int) -> f.Filter:
        """Returns the typed form of a comparison of expressions; a field is compared with a number as with a value."""
        typer = self.open_expressions((tree.left, tree.right), place, depth)
        left, right = typer.type_side(tree.left), typer.type_side(tree.right)
        typer.check_comparison(left, tree.op, right, place.field if place else None)
        if isinstance(left, Number) and isinstance(right, FieldValue):
            left, right, op = right, left, _MIRRORED[tree.op]
        else:
            op = tree.op
        if isinstance(left, FieldValue) and isinstance(right, Number):
            try:
                scalar = self.source.find_field(left.name).scalar
                return f.Compare(left.name, op, convert_value(right.value, scalar, self.now))
            except ValueError:
                pass  # The field cannot have the number, which is compared with all the same.
        return f.ExpressionCompare(left, op, right)

    def type_test(self, tree: f.ExpressionTest, place: ConditionPlace | None, depth: int) -> f.Filter:
        """Returns the typed form of a condition on an expression."""
        typer = self.open_expressions((tree.expression,), place, depth)
        expression = typer.type_side(tree.expression)
        kind = find_type(expression, typer.types)
        test = tree.condition
        if isinstance(test, f.InQuery):
            reason = "a query within a filter goes with a field, not with an expression"
            raise typer.make_error(reason, expression, place.field if place else None)
        if isinstance(test, f.Compare) and self.is_field(test.value, {kind}):
            parts = ConditionPlace(place.field, parts=(*place.parts, *place.values)) if place else None
            other = FieldValue(str(test.value))
            return self.type_comparison(f.ExpressionCompare(tree.expression, test.op, other), parts, depth)
        if not list_names(expression):
            raise typer.make_error("a condition needs a field", expression, place.field if place else None)
        subject = shorten(format_expression(expression), 60)
        condition = _ConditionTyper(self, test, Field("", kind), place, subject)
        self.count_values(condition, 1)
        typed = condition.type_condition()
        self.count_patterns(condition, test)
        assert not isinstance(typed, (f.And, f.Or, f.Not, f.ExpressionTest, f.ExpressionCompare))
        return f.ExpressionTest(expression, typed)

    def open_expressions(
        self, expressions: Collection[Expression], place: ConditionPlace | None, depth: int
    ) -> ExpressionTyper:
        """Returns a typer for the expressions of a condition; raises ``FilterError`` if they are too large or deep."""
        self.terms += sum(1 for expression in expressions for _ in walk(expression))
        check_terms(self.terms)
        for expression in expressions:
            check_depth(depth - 1 + measure_depth(expression), self.text if place else "", place.field if place else 0)
        return ExpressionTyper(self.source, self.text, place.parts if place else (), self.find_field)

    def find_field(self, name: str, position: int | None) -> Field:
        """Returns the one field that a name in an expression stands for; raises ``FilterError`` at its position."""
        field = find_single_field(self.source, name, "" if position is None else self.text, position or 0)
        self.note_meaning(name, field)
        return field

    def note_meaning(self, name: str, *fields: Field) -> None:
        """Notes the fields that a name stands for, unless it is a field's own."""
        if name not in self.source.fields_by_name:
            self._meanings.setdefault(name, {}).update(dict.fromkeys(field.name for field in fields))

    def list_meanings(self) -> dict[str, tuple[str, ...]]:
        """Returns the fields for which each ECS name and each kind stood in what was typed."""
        return {name: tuple(fields) for name, fields in self._meanings.items()}

    def type_condition(self, tree: f.Condition, fields: tuple[Field, ...], place: ConditionPlace | None) -> f.Filter:
        """Returns the typed form of a condition on ``fields``; raises ``FilterError`` if it fits none of them."""
        typers = {
            field.scalar: _ConditionTyper(self, tree, field, place, f"field {field.name}") for field in reversed(fields)
        }
        first = typers[fields[0].scalar]
        self.count_values(first, 1)
        # A condition is typed once for each type, however many fields there are.
        typed: dict[FieldType, f.Filter] = {}
        faults: list[FilterError] = []
        for scalar in dict.fromkeys(field.scalar for field in fields):
            try:
                typed[scalar] = typers[scalar].type_condition()
            except ListError:
                raise
            except FilterError as fault:
                faults.append(fault)
        if not typed:
            raise faults[0]
        fitting = [field for field in fields if field.scalar in typed]
        self.note_meaning(tree.field, *fitting)
        self.count_values(first, len(fitting) - 1)
        self.count_patterns(first, first.tree)
        renamed = [_rename_field(typed[field.scalar], field.name) for field in fitting]
        if len(renamed) == 1:
            return renamed[0]
        if isinstance(tree, f.Compare) and tree.op == "!=":
            return f.And(tuple(renamed))
        # A list with networks is an ``or`` already; its parts stand beside those of the other fields.
        return f.Or(tuple(part for one in renamed for part in (one.children if isinstance(one, f.Or) else (one,))))

    def count_values(self, condition: _ConditionTyper, fields: int) -> None:
        """Counts the values of a condition once for each of ``fields`` fields; raises ``FilterError`` over a limit."""
        tree = condition.tree
        self.terms += fields * (len(tree.values) if isinstance(tree, f.In) else 1)
        check_terms(self.terms)
        self.characters += fields * sum(len(value) for value in f.list_values(tree) if isinstance(value, str))
        if self.characters > MAX_VALUES:
            raise condition.make_error(f"with it the filter's values have more than {MAX_VALUES:,} characters")

    def count_patterns(self, condition: _ConditionTyper, tree: f.Condition) -> None:
        """Counts the pattern of ``tree``, however many fields it is on; raises ``FilterError`` over the limit."""
        self.patterns += measure_pattern(tree)
        if self.patterns > MAX_PATTERNS:
            raise condition.make_error(
                f"with it the filter's patterns have {self.patterns:,} characters, counted repeats written out; "
                f"at most {MAX_PATTERNS:,} are allowed"
            )


def _rename_field(tree: f.Filter, name: str) -> f.Filter:
    """Returns a typed condition, or an ``or`` of conditions on one field, with another field."""
    if isinstance(tree, f.Or):
        return f.Or(tuple(_rename_field(child, name) for child in tree.children))
    assert not isinstance(tree, (f.And, f.Not, f.ExpressionTest, f.ExpressionCompare))
    return replace(tree, field=name)


class _ConditionTyper:
    """Types one condition on a field, or on ``subject``; its errors point to the condition's place in the text."""

    def __init__(
        self, typer: TreeTyper, tree: f.Condition, field: Field, place: ConditionPlace | None, subject: str
    ) -> None:
        self.typer, self.tree, self.field, self.place, self.subject = typer, tree, field, place, subject

    def type_condition(self) -> f.Filter:
        """Returns the typed condition; raises ``FilterError`` if it does not fit the field."""
        tree, field = self.tree, self.field
        match tree:
            case f.Compare(_, op, value):
                return f.Compare(field.name, self.check_operator(op), self.convert_value(value, 0))
            case f.In():
                return self.type_members(tree)
            case f.InList():
                return self.type_list(tree)
            case f.InQuery():
                return self.type_query(tree)
            case f.Between(_, low, high):
                return self.type_range(self.convert_value(low, 0), self.convert_value(high, 1))
            case f.Cidr(_, network):
                return self.type_network(network)
            case f.Prefix(_, prefix):
                self.require_type(FieldType.STRING, "startswith fits strings only")
                self.convert_value(prefix, 0)
            case f.Matches(_, pattern, ignore_case):
                self.require_type(FieldType.STRING, "a pattern fits strings only")
                self.convert_value(pattern, 0)
                self.raise_reason(check_regex(pattern, ignore_case))
            case f.Wildcard(_, pattern):
                self.require_type(FieldType.STRING, "wildcards, endswith and contains fit strings only")
                self.convert_value(pattern, 0)
                self.raise_reason(check_wildcard(pattern))
            case f.Exists():
                pass
        return tree

    def type_members(self, tree: f.In) -> f.Filter:
        """Returns the typed list of values; networks in a list of addresses become conditions of their own."""
        if self.field.scalar is not FieldType.IP and not self.may_be_address:
            return f.In(tree.field, tuple(self.convert_value(value, i) for i, value in enumerate(tree.values)))
        networks: list[f.Filter] = []
        addresses: list[f.Value] = []
        for i, value in enumerate(tree.values):
            network = parse_network(value)
            if network is None:
                addresses.append(self.convert_value(value, i))
            else:
                networks.append(self.type_network(network))
        parts = [*networks, *([f.In(tree.field, tuple(addresses))] if addresses else [])]
        return parts[0] if len(parts) == 1 else f.Or(tuple(parts))

    @property
    def may_be_address(self) -> bool:
        """True if the field has texts that are addresses or names of hosts."""
        return self.field.scalar is FieldType.STRING and self.field.kind == "ip"

    def type_network(self, network: f.Network) -> f.Filter:
        """Returns the condition on a network; raises ``FilterError`` if the field has no addresses."""
        if self.may_be_address:
            matches = match_network(self.field.name, network)
            self.typer.count_patterns(self, matches)
            return matches
        self.require_type(FieldType.IP, "a network fits addresses only")
        return f.Cidr(self.field.name, network)

    def type_list(self, tree: f.InList) -> f.InList:
        """Returns the condition with the values of its list; raises ``FilterError`` if they do not fit the field."""
        try:
            values = tree.values or self.typer.find_list(tree.name)
        except UserError as error:
            raise self.make_list_error(error) from None
        if values.scalar is not self.field.scalar:
            raise self.make_error(f"the list @{tree.name} is of the type {values.scalar.value}")
        return f.InList(self.field.name, tree.name, values)

    def type_query(self, tree: f.InQuery) -> f.InQuery:
        """Returns the typed condition; raises ``FilterError`` if its query cannot be run or does not fit the field."""
        if tree.where is not None:
            check_is_flat(tree.where)
        try:
            typed, column = self.typer.type_query(tree, self.place)
        except UserError as error:
            raise self.make_list_error(error) from None
        if column.scalar is not self.field.scalar:
            raise self.make_error(f"{column.name} of {typed.source} has values of the type {column.scalar.value}")
        return replace(typed, field=self.field.name)

    def make_list_error(self, error: UserError) -> ListError:
        """Returns the error for a list or a query that cannot be used, at its place in the text."""
        if isinstance(error, FilterError):
            where = f" (in: {format_query(self.tree)[:200]})" if isinstance(self.tree, f.InQuery) else ""
            return ListError(error.message + ("" if error.text else where), error.text, error.position)
        if self.place is None:
            return ListError(f"{error} (in: {to_text(self.tree)[:200]})")
        return ListError(str(error), self.typer.text, self.place.values[0])

    def type_range(self, low: f.Value, high: f.Value) -> f.Filter:
        """Returns a typed range; raises ``FilterError`` if the field has no order or the range is empty."""
        if self.field.scalar is FieldType.BOOL:
            raise self.make_error("a bool has no order, so a range does not fit")
        if rank_value(low) > rank_value(high):  # type: ignore[operator]
            raise self.make_error(f"the range is empty: {format_value(low)} is above {format_value(high)}")
        return f.Between(self.field.name, low, high)

    def check_operator(self, op: str) -> str:
        """Returns ``op``; raises ``FilterError`` if the field's type does not have it."""
        if op not in f.COMPARISONS:
            raise self.make_error(f"unknown operator {op!r}; known are {' '.join(f.COMPARISONS)}")
        if self.field.scalar is FieldType.BOOL and op not in ("=", "!="):
            raise self.make_error(f"a bool has no order, so {op} does not fit")
        return op

    def convert_value(self, value: f.Value, index: int) -> f.Value:
        """Returns a value as the field's type; ``index`` is its number in the condition, for errors."""
        try:
            return convert_value(value, self.field.scalar, self.typer.now)
        except (ValueError, TimeRangeError) as error:
            raise self.make_error(f"{error}{self.suggest_field(value)}", index) from None

    def suggest_field(self, value: f.Value) -> str:
        """Returns the end of an error: the field or the operator that the right side of a comparison probably means."""
        if not isinstance(self.tree, f.Compare):
            return ""
        if self.field.scalar in NUMBERS and re.search(r"\w[*/+]\w", str(value)):
            return "; operators stand between spaces, as in a + b"
        names = list(self.typer.source.fields_by_name)
        near = difflib.get_close_matches(str(value)[:200], names, n=1, cutoff=0.75)
        return f"; did you mean the field {near[0]}?" if near else ""

    def require_type(self, scalar: FieldType, reason: str) -> None:
        """Raises ``FilterError`` with ``reason`` unless the field's values are of type ``scalar``."""
        if self.field.scalar is not scalar:
            raise self.make_error(reason)

    def raise_reason(self, reason: str) -> None:
        """Raises ``FilterError`` with ``reason`` unless it is empty."""
        if reason:
            raise self.make_error(reason)

    def make_error(self, reason: str, index: int = 0) -> FilterError:
        """Returns the error for a reason, at the place of the condition's value ``index``."""
        kind = self.field.type_name
        message = f"{self.subject} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}: {reason}"
        if self.place is None:
            shown = self.tree if self.field.name else replace(self.tree, field=self.subject)
            return FilterError(f"{message} (in: {to_text(shown)[:200]})")
        return FilterError(message, self.typer.text, self.place.values[index])
