"""The brute-force oracle of expressions: their values of an event in plain Python.

It has the semantics that ``schema/filter/expressions/nodes.py`` states, and shares their code in one place only: the
entropy, whose last bits depend on how it is computed. A test of its own compares that with its definition.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from publicsuffixlist import PublicSuffixList

from watchfloor.schema.filter.expressions.entropy import measure_entropy
from watchfloor.schema.filter.expressions.nodes import (
    Arithmetic,
    Expression,
    FieldValue,
    FunctionCall,
    Negative,
    Number,
)

_SUFFIXES = PublicSuffixList(only_icann=True)


def pair_holds(
    left: Expression, op: str, right: Expression, event: Mapping[str, Any], addresses: Collection[str]
) -> bool:
    """Whether ``left op right`` holds for some pair of values; ``addresses`` are the names of fields of addresses."""
    pairs = itertools.product(values_of(left, event, addresses), values_of(right, event, addresses))
    return any(_compares(op, *pair) for pair in pairs)


def _compares(op: str, left: Any, right: Any) -> bool:
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return {"=": left == right, "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def values_of(expression: Expression, event: Mapping[str, Any], addresses: Collection[str] = ()) -> list[Any]:
    """The values of an expression of an event: none, one, or that of each element of a list."""
    match expression:
        case Number(value):
            return [value]
        case FieldValue(name):
            value = event.get(name)
            found = [element for element in (value if isinstance(value, list) else [value]) if element is not None]
            if name in addresses:
                return [(address.version, int(address)) for address in map(ip_address, found)]
            return [element for element in found if element == element]
        case FunctionCall("length", FieldValue(name)) if isinstance(event.get(name), list):
            return [len(event[name])]
        case FunctionCall(function, argument):
            results = [apply(function, value) for value in values_of(argument, event, addresses)]
            return [result for result in results if result is not None]
        case Negative(operand):
            results = [-value for value in values_of(operand, event, addresses)]
        case Arithmetic(op, left, right):
            pairs = itertools.product(values_of(left, event, addresses), values_of(right, event, addresses))
            results = [calculate(op, *pair) for pair in pairs]
    return [
        value
        for value in results
        if value is not None and (not math.isnan(value) if isinstance(value, float) else -(2**63) <= value < 2**63)
    ]


def apply(function: str, value: Any) -> Any:
    """What a function gives of a value; None for no value."""
    match function:
        case "length":
            return len(value)
        case "lower":
            return lower(value)
        case "entropy":
            return measure_entropy(value)
        case "registered_domain":
            return registered_domain(value)
        case "hour":
            return value.hour
        case "weekday":
            return value.isoweekday()
    raise AssertionError(f"no oracle for {function}")


def calculate(op: str, left: Any, right: Any) -> Any:
    """The result of an operator; None for no result."""
    if isinstance(left, datetime):
        micros = (left - right) // timedelta(microseconds=1)
        return float(Fraction(micros, 10**6))
    if op == "/" or isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    return None if right == 0 else left / right


@lru_cache(maxsize=100_000)
def lower(text: str) -> str:
    return "".join("i" if letter == "İ" else letter.lower() for letter in text)


@lru_cache(maxsize=100_000)
def registered_domain(name: str) -> str | None:
    """By the package itself, of what is the name of a host."""
    plain = lower(name)
    last = plain.removesuffix(".").rpartition(".")[2]
    if re.search(r"[^a-z0-9._-]", re.sub(r"[^\x00-\x7f]", "", plain)) or re.fullmatch("[0-9]+", last):
        return None
    return _SUFFIXES.privatesuffix(plain, keep_case=True)
