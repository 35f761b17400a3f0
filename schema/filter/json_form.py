"""Converts filter trees to their JSON form and back; the form is for programs that do not write text.

{"and": [FILTER, …]}    {"or": [FILTER, …]}    {"not": FILTER}
{"field": "status", "op": ">=", "value": 500}           op: = != < <= > >= startswith endswith contains like
{"field": "uri", "op": "~", "value": "x", "ignore_case": true}
{"field": "method", "op": "in", "values": ["GET", "PUT"]}
{"field": "status", "op": "in", "from": 500, "to": 599}
{"field": "src", "op": "in", "value": "10.0.0.0/8"}
{"field": "src", "op": "in", "list": "bad_ips"}
{"field": "uid", "op": "in", "query": {"source": "zeek.notice", "where": FILTER, "column": "uid"}}
{"field": "user", "op": "exists"}
{"left": EXPRESSION, "op": "<", "right": EXPRESSION}    {"left": EXPRESSION, "op": "<", "value": 6}

An expression stands in the place of ``field`` as ``left``, and of ``value`` as ``right``:
{"field": "bytes"}    1000    {"function": "length", "of": EXPRESSION}
{"op": "+", "of": [EXPRESSION, EXPRESSION]}    {"op": "-", "of": [EXPRESSION]}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from watchfloor.schema.errors import FilterError
from watchfloor.schema.text import shorten_value

from . import tree as f
from .expressions.functions import FUNCTIONS, describe_unknown_function
from .expressions.nodes import OPERATORS as ARITHMETIC
from .expressions.nodes import Arithmetic, Expression, FieldValue, FunctionCall, Negative, Number, negate, walk
from .parse import check_is_flat
from .print import format_value
from .syntax.limits import check_depth, check_terms
from .value_list import is_list_name
from .values import parse_network

_MOST_BITS = 1_024
"""The largest number of bits in a whole number; no finite float is larger."""
OPERATORS = (*f.COMPARISONS, "in", "startswith", "endswith", "contains", "~", "like", "exists")
# The keys that an operator allows beside field and op; other operators allow value.
_OTHER_KEYS_OF_IN = {"values", "from", "to", "list", "query"}
_KEYS = {"in": {"value"} | _OTHER_KEYS_OF_IN, "~": {"value", "ignore_case"}, "exists": set[str]()}


def to_json(tree: f.Filter) -> dict[str, Any]:
    """Returns the JSON form of a tree. Times, addresses and infinite floats become strings, as JSON lacks them."""
    match tree:
        case f.And(children):
            return {"and": [to_json(child) for child in children]}
        case f.Or(children):
            return {"or": [to_json(child) for child in children]}
        case f.Not(child):
            return {"not": to_json(child)}
        case f.ExpressionTest(expression, condition):
            return {"left": _to_expression_form(expression)} | _to_test_form(condition)
        case f.ExpressionCompare(left, op, right):
            return {"left": _to_expression_form(left), "op": op, "right": _to_expression_form(right)}
        case _:
            return {"field": tree.field} | _to_test_form(tree)


def _to_test_form(condition: f.Condition) -> dict[str, Any]:
    """Returns the JSON form of a condition without its field."""
    match condition:
        case f.Compare(_, op, value):
            return {"op": op, "value": _to_plain_value(value)}
        case f.In(_, values):
            return {"op": "in", "values": [_to_plain_value(value) for value in values]}
        case f.InList(_, name):
            return {"op": "in", "list": name}
        case f.InQuery(_, source, where, column):
            filtered = {} if where is None else {"where": to_json(where)}
            return {"op": "in", "query": {"source": source, **filtered, "column": column}}
        case f.Between(_, low, high):
            return {"op": "in", "from": _to_plain_value(low), "to": _to_plain_value(high)}
        case f.Cidr(_, network):
            return {"op": "in", "value": str(network)}
        case f.Prefix(_, prefix):
            return {"op": "startswith", "value": prefix}
        case f.Matches(_, pattern, ignore_case):
            return {"op": "~", "value": pattern} | ({"ignore_case": True} if ignore_case else {})
        case f.Wildcard(_, pattern):
            return {"op": "like", "value": pattern}
        case f.Exists():
            return {"op": "exists"}


def _to_expression_form(expression: Expression) -> Any:
    """Returns the JSON form of an expression."""
    match expression:
        case FieldValue(name):
            return {"field": name}
        case Number(value):
            return value
        case FunctionCall(function, argument):
            return {"function": function, "of": _to_expression_form(argument)}
        case Negative(operand):
            return {"op": "-", "of": [_to_expression_form(operand)]}
        case Arithmetic(op, left, right):
            return {"op": op, "of": [_to_expression_form(left), _to_expression_form(right)]}


def from_json(form: Any) -> f.Filter:
    """Returns the untyped tree of a JSON form; raises ``FilterError`` with the place, such as ``filter.and[1].op``."""
    tree, terms = read_filter_form(form, "filter")
    check_terms(terms)
    return tree


def read_filter_form(form: Any, at: str) -> tuple[f.Filter, int]:
    """Returns the untyped tree of a JSON form at the place ``at``, and its number of terms. Raises ``FilterError``."""
    return _read_node(form, at, 1)


def _read_node(form: Any, at: str, depth: int) -> tuple[f.Filter, int]:
    """Returns the tree of ``form`` and its number of terms. ``at`` is the place of ``form``, for errors."""
    check_depth(depth)
    if not isinstance(form, dict):
        raise FilterError(f"{at}: an object was expected, found {describe_kind(form)}")
    for key, kind in (("and", f.And), ("or", f.Or)):
        if key in form:
            reject_other_keys(form, {key}, at)
            parts = form[key]
            if not isinstance(parts, list) or not parts:
                raise FilterError(f"{at}.{key}: a list of one or more filters was expected")
            nodes = [_read_node(part, f"{at}.{key}[{i}]", depth + 1) for i, part in enumerate(parts)]
            tree = kind(tuple(node for node, _ in nodes)) if len(nodes) > 1 else nodes[0][0]
            return tree, sum(terms for _, terms in nodes)
    if "not" in form:
        reject_other_keys(form, {"not"}, at)
        child, terms = _read_node(form["not"], f"{at}.not", depth + 1)
        return f.Not(child), terms
    if "left" in form:
        return _read_computed(form, at, depth)
    if not isinstance(form.get("field"), str):
        raise FilterError(f"{at}: and, or, not, or the name of a field was expected")
    return _read_condition(form, at, "field")


def _read_computed(form: dict[str, Any], at: str, depth: int) -> tuple[f.Filter, int]:
    """Returns the condition of an object with ``left``, an expression, and its number of terms."""
    left = _read_expression(form["left"], f"{at}.left", depth)
    if "right" in form:
        reject_other_keys(form, {"left", "op", "right"}, at)
        op = form.get("op")
        if op not in f.COMPARISONS:
            raise _make_operator_error(op, f.COMPARISONS, at)
        right = _read_expression(form["right"], f"{at}.right", depth)
        return f.ExpressionCompare(left, op, right), _count_nodes(left) + _count_nodes(right)
    test, terms = _read_condition(form, at, "left")
    if isinstance(left, FieldValue):
        return replace(test, field=left.name), terms
    return f.ExpressionTest(left, test), terms + _count_nodes(left)


def _count_nodes(expression: Expression) -> int:
    return sum(1 for _ in walk(expression))


def _read_expression(form: Any, at: str, depth: int) -> Expression:
    """Returns the expression of a form; raises ``FilterError`` with its place."""
    check_depth(depth)
    if isinstance(form, (int, float)) and not isinstance(form, bool):
        return _read_number(form, at)
    if not isinstance(form, dict):
        raise FilterError(f"{at}: an object or a number was expected, found {describe_kind(form)}")
    if "field" in form:
        reject_other_keys(form, {"field"}, at)
        if not isinstance(form["field"], str):
            raise FilterError(f"{at}.field: the name of a field was expected")
        return FieldValue(form["field"])
    if "function" in form:
        reject_other_keys(form, {"function", "of"}, at)
        function = form["function"]
        if not isinstance(function, str):
            raise FilterError(f"{at}.function: the name of a function was expected")
        if function not in FUNCTIONS:
            raise FilterError(f"{at}.function: {describe_unknown_function(function)}")
        return FunctionCall(function, _read_expression(form.get("of"), f"{at}.of", depth + 1))
    reject_other_keys(form, {"op", "of"}, at)
    op, operands = form.get("op"), form.get("of")
    if op not in ARITHMETIC:
        raise _make_operator_error(op, ARITHMETIC, at)
    if not isinstance(operands, list) or len(operands) not in ((1, 2) if op == "-" else (2,)):
        raise FilterError(f"{at}.of: a list of {'one or ' if op == '-' else ''}two expressions was expected")
    parts = [_read_expression(operand, f"{at}.of[{i}]", depth + 1) for i, operand in enumerate(operands)]
    return negate(parts[0]) if len(parts) == 1 else Arithmetic(op, *parts)


def _read_number(value: int | float, at: str) -> Number:
    if isinstance(value, float) and not math.isfinite(value):
        raise FilterError(f"{at}: a finite number was expected")
    return Number(value)


def _make_operator_error(op: Any, known: Sequence[str], at: str) -> FilterError:
    """Returns the error for an operator that is not one of the known ones."""
    found = shorten_value(op) if isinstance(op, str) else describe_kind(op)
    return FilterError(f"{at}.op: one of {' '.join(known)} was expected, found {found}")


def _read_condition(form: dict[str, Any], at: str, subject: str) -> tuple[f.Condition, int]:
    """Returns the condition of an object with ``op``, and its number of terms; its field is empty if that is missing.

    ``subject`` is the key of what the condition is about, ``field`` or ``left``.
    """
    field, op = form.get("field", ""), form.get("op")
    if op not in OPERATORS:
        raise _make_operator_error(op, OPERATORS, at)
    reject_other_keys(form, {subject, "op"} | _KEYS.get(op, {"value"}), at)
    if op == "exists":
        return f.Exists(field), 1
    if op == "in" and form.keys() & _OTHER_KEYS_OF_IN:
        return _read_in(form, at, subject)
    value = _read_value(form.get("value"), f"{at}.value")
    if op in f.COMPARISONS:
        return f.Compare(field, op, value), 1
    if not isinstance(value, str):
        raise FilterError(f"{at}.value: a string was expected, found {describe_kind(value)}")
    if op == "in":
        return f.Cidr(field, _read_network(value, at)), 1
    if op == "startswith":
        return f.Prefix(field, value), 1
    if op == "endswith":
        return f.make_ends_with(field, value), 1
    if op == "contains":
        return f.make_contains(field, value), 1
    if op == "like":
        return f.Wildcard(field, value), 1
    ignore_case = form.get("ignore_case", False)
    if not isinstance(ignore_case, bool):
        raise FilterError(f"{at}.ignore_case: true or false was expected")
    return f.Matches(field, value, ignore_case), 1


def _read_in(form: dict[str, Any], at: str, subject: str) -> tuple[f.Condition, int]:
    """Returns the condition of an object with ``in`` that names no network, as ``_read_condition`` does."""
    field = form.get("field", "")
    if "list" in form:
        reject_other_keys(form, {subject, "op", "list"}, at)
        name = form["list"]
        if not isinstance(name, str) or not is_list_name(name):
            found = shorten_value(name) if isinstance(name, str) else describe_kind(name)
            raise FilterError(f"{at}.list: the name of a list was expected, such as bad_ips, found {found}")
        return f.InList(field, name), 1
    if "query" in form:
        reject_other_keys(form, {subject, "op", "query"}, at)
        return _read_query(field, form["query"], f"{at}.query")
    if "from" in form or "to" in form:
        reject_other_keys(form, {subject, "op", "from", "to"}, at)
        return f.Between(field, _read_value(form.get("from"), f"{at}.from"), _read_value(form.get("to"), f"{at}.to")), 1
    reject_other_keys(form, {subject, "op", "values"}, at)
    values = form.get("values")
    if not isinstance(values, list) or not values:
        raise FilterError(f"{at}.values: a list of one or more values was expected")
    return f.In(field, tuple(_read_value(value, f"{at}.values[{i}]") for i, value in enumerate(values))), len(values)


def _read_query(field: str, form: Any, at: str) -> tuple[f.Condition, int]:
    """Returns the condition with the query that an object describes, and its number of terms."""
    if not isinstance(form, dict):
        raise FilterError(f"{at}: an object was expected, found {describe_kind(form)}")
    reject_other_keys(form, {"source", "where", "column"}, at)
    for key in ("source", "column"):
        if not isinstance(form.get(key), str):
            raise FilterError(f"{at}.{key}: a name was expected, found {describe_kind(form.get(key))}")
    where, terms = (None, 0) if form.get("where") is None else _read_node(form["where"], f"{at}.where", 1)
    if where is not None:
        check_is_flat(where)
    return f.InQuery(field, form["source"], where, form["column"]), 2 + terms


def _read_network(value: str, at: str) -> IPv4Network | IPv6Network:
    network = parse_network(value)
    if network is None:
        raise FilterError(f"{at}.value: {shorten_value(value)} is no network such as 10.0.0.0/8; a list goes in values")
    return network


def _read_value(value: Any, at: str) -> f.Value:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise FilterError(f"{at}: a number of so many digits fits no field")
    if isinstance(value, (str, bool, int, float)):
        return value
    raise FilterError(f"{at}: a string, a number, true or false was expected, found {describe_kind(value)}")


def reject_other_keys(form: dict[str, Any], known: set[str], at: str) -> None:
    """Raises ``FilterError`` if an object has other keys than the known ones."""
    extra = sorted(str(key) for key in form if key not in known)
    if extra:
        raise FilterError(
            f"{at}: {shorten_value(extra[0])} does not belong beside {', '.join(sorted(known - {extra[0]}))}"
        )


def _to_plain_value(value: f.Value) -> str | int | float | bool:
    if isinstance(value, (datetime, IPv4Address, IPv6Address)):
        return format_value(value)
    return repr(value) if isinstance(value, float) and math.isinf(value) else value


def describe_kind(value: Any) -> str:
    """Returns the JSON type of a value in words, for errors."""
    if value is None:
        return "nothing"
    return {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}.get(type(value), "a number")
