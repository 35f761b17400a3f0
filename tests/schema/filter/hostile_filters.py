"""Filters that are meant to hurt, as text and in JSON form.

Short ones are in the files of ``fixtures/hostile_filters``, one a line. Those with a length, a depth or a character
that no line can hold are made here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from watchfloor.schema.filter.patterns import MAX_PATTERN, MAX_PATTERNS
from watchfloor.schema.filter.syntax.limits import MAX_DEPTH, MAX_LENGTH, MAX_TERMS

_FOLDER = Path(__file__).parents[2] / "fixtures" / "hostile_filters"
_ODD_CHARACTERS = (
    "\x00\x01\x08\x0b\x0c\r\x1b\x1f\x7f\x80\x85\xa0\xad\u200b\u200d\u200e\u2028\u202e\u2060\u3000"
    "\ufeff\ufffe\uffff\ud800\udfff\udcc0\U0001f600\U0010ffff"
)


PATTERNS = (
    "a" * MAX_PATTERN,
    "a" * (MAX_PATTERN + 1),
    "|".join("a" * 499),
    "|".join("abcdefghij"[i % 10] * (i % 7 + 1) for i in range(200)),
    "a?" * 20 + "a" * 20,
    "a?" * 300 + "a" * 300,
    "a?" * 400,
    "a*" * 333,
    ".*" * 333,
    "(a" * 300 + ")" * 300 + "b",
    "(" * 499 + ")" * 499,
    "(" * 500,
    "(?:" * 200 + "a" + ")*" * 200,
    "(?:" * 200 + "a" + ")+" * 200 + "b",
    "[a-z]" * 200,
    f"[{'a' * 990}]",
    f"[{'a-z' * 330}]",
    f"(a{{1,{MAX_PATTERN}}})",
    f"a{{{MAX_PATTERN // 2}}}a{{{MAX_PATTERN // 2}}}",
    f"a{{{MAX_PATTERN // 2}}}" * 3,
    "(?:a{10}){100}",
    "(?:a{10}){101}",
    ".{1,400}b",
    "[^b]{1,400}b",
    "(?:[ab]{2}){1,100}c",
    "(?:a|b|[cd]){0,100}e",
    "^" * 900,
    "$" * 900,
    "\\b" * 450,
    "\\B" * 450,
    "()" * 450,
    "|" * 900,
    "(?i)" * 240,
    "\\pL" * 60,
    "\\p{Greek}" * 100,
    "\\x{10ffff}" * 90,
    "[^\\x{0}-\\x{10ffff}]" * 40,
    "[\\x{100}-\\x{1c7f}]" * 50,
    "é" * MAX_PATTERN,
    "😀" * MAX_PATTERN,
    "\\Q" + "*" * 900,
    "(?:)" * 249,
    "a{0}" * 249,
    "(?:(?:a{0,5}){0,5}){0,5}b",
    "(((a{1,5}){1,5}){1,5}b)",
    "(?s).*" * 100,
    "(?m)^a*$" * 100,
)


def hostile_texts() -> list[str]:
    """Returns all hostile filters in text."""
    lines = [line for path in sorted(_FOLDER.glob("*.txt")) for line in path.read_text("utf-8").splitlines()]
    return [*(line for line in lines if line and not line.startswith("## ")), *_make_texts()]


def hostile_forms() -> Iterator[Any]:
    """Yields hostile filters in JSON form, and values that are no filters at all."""
    yield from (None, [], {}, "", 1, True, [{}], {"and": None}, {"and": [None]}, {"or": [[]]}, {"not": []}, {"not": {}})
    nested: Any = {"field": "ok", "op": "exists"}
    for _ in range(5_000):
        nested = {"not": nested}
    yield nested
    yield {"and": [{"field": "ok", "op": "exists"}]}
    yield {"and": [{"field": "ok", "op": "exists"}] * (MAX_TERMS + 1)}
    yield {"or": [{"field": "name", "op": "=", "value": str(i)} for i in range(MAX_TERMS)]}
    for many in (MAX_TERMS, MAX_TERMS + 1, 100_000):
        yield {"field": "count", "op": "in", "values": list(range(many))}
    yield {"field": "name", "op": "in", "values": ["x" * 60_000] * 20}
    yield {"field": "name", "op": "in", "values": [f"{i:04}{'x' * 200}" for i in range(MAX_TERMS)]}
    yield {"field": "name", "op": "=", "value": "x" * 2_000_000}
    yield {"or": [{"field": "name", "op": "~", "value": f"{i:04}" + "x?" * 450} for i in range(40)]}
    odd = (
        None,
        [],
        {},
        0,
        -1,
        1.5,
        True,
        10**30,
        10**5_000,
        -(2**63),
        2**64,
        float("nan"),
        float("inf"),
        -0.0,
        1e308,
        "",
        " ",
        "1",
        "nan",
        "\ud800",
        "\x00",
        "10.0.0.0/8",
        "now",
        "2016-03-01",
        "(",
        "a" * 70_000,
    )
    for field in ("name", "count", "ratio", "ok", "port", "src", "seen", "ts", "tags", "nothing", "", "x" * 70_000):
        for value in odd:
            yield {"field": field, "op": "=", "value": value}
    for op, value in itertools.product(("<", "in", "startswith", "endswith", "contains", "~", "like", "=="), odd):
        yield {"field": "name", "op": op, "value": value}
    for value in odd:
        yield {"field": "src", "op": "in", "value": value}
        yield {"field": "count", "op": "in", "values": [1, value]}
        yield {"field": "ratio", "op": "in", "from": value, "to": 1}
        yield {"field": value, "op": "exists"}
        yield {"field": "name", "op": value, "value": "a"}
        yield {"field": "name", "op": "~", "value": "a", "ignore_case": value}


def _make_texts() -> Iterator[str]:
    yield from _make_deep()
    yield from _make_long()
    yield from _make_lists()
    yield from _make_patterns()
    yield from _make_characters()


def _make_deep() -> Iterator[str]:
    for depth in (20, 2_000, 32_000):
        yield "(" * depth + "ok = true" + ")" * depth
        yield "(" * depth + "ok = true" + ")" * (depth - 1)
        yield "(" * depth
        yield ")" * depth
    for depth in (MAX_DEPTH - 1, MAX_DEPTH, 1_000, 16_000):
        yield "not " * depth + "ok = true"
        yield "not(" * depth + "ok = true" + ")" * depth
    for depth in (MAX_DEPTH // 2 - 1, MAX_DEPTH // 2, MAX_DEPTH // 2 + 1, 500):
        yield "(count = 1 or (size = 1 and " * depth + "ok = true" + "))" * depth
        yield "not (count = 1 and (size = 1 or " * depth + "ok = true" + "))" * depth
    yield " and ".join(["exists name"] * 3_000)
    yield " or ".join([f"count = {i}" for i in range(MAX_TERMS)])
    yield " or ".join([f"a={i % 10}" for i in range(MAX_TERMS + 1)])


def _make_long() -> Iterator[str]:
    for length in (MAX_LENGTH, MAX_LENGTH + 1, 1_000_000):
        yield " " * length
        yield "ok = true" + " " * (length - 9)
        yield "ok = true #" + "x" * (length - 11)
        yield "#" * length
        yield "\n" * length
        yield "x" * length
        yield "name = " + "x" * (length - 7)
        yield 'name = "' + "x" * (length - 9) + '"'
        yield 'name = "' + "x" * (length - 8)
        yield "(" * length
        yield "😀" * length
        yield "\\" * length
    digits = "9" * 60_000
    for value in (
        digits,
        f"{digits}x",
        f"1.{digits}",
        f"1.{digits}x",
        f"1e{digits}",
        f"-{digits}",
        "0" * 60_000 + "1",
        f"0.{'0' * 60_000}1",
    ):
        for field in ("count", "ratio", "port", "ok", "src", "ts", "name"):
            yield f"{field} = {value}"
    yield f"count in {digits}..{digits}"
    yield f"ts > -{'1s' * 20_000}"
    yield f"ts > -{digits}s"
    yield f"ts > 2016-03-01T12:00:00.{digits}"
    yield f"src = {'1.' * 20_000}"
    yield f"src = {':' * 60_000}"
    yield f"src in {'1.' * 20_000}/8"
    yield f"src in 10.0.0.0/{digits}"
    yield f"{'x' * 60_000} = 1"
    yield f"`{'x' * 60_000}` = 1"
    yield f'"{"x " * 30_000}" = 1'
    yield f"exists {'name.' * 10_000}"
    for operator in ("=", "!=", "<", ">=", "startswith", "endswith", "contains", "like", "~"):
        yield f'text {operator} "{"a" * 60_000}"'
        yield f'text {operator} "{"a" * 998}"'
    yield f'name = "{chr(92)}x41{(chr(92) + "x41") * 10_000}"'
    yield f'name = "{"*" * 60_000}"'
    yield f'name = "{"*" * 900}"'
    yield f'text in ("{"a" * 20_000}", "{"b" * 20_000}", "{"a" * 20_000}")'
    yield "name = " + "'" * 60_000
    yield "name = " + '""' * 30_000


def _make_lists() -> Iterator[str]:
    yield f"count in ({','.join(map(str, range(MAX_TERMS)))})"
    yield f"count in ({','.join('1' * (MAX_TERMS + 1))})"
    yield f"count in ({','.join('1' * 32_000)})"
    yield f"count in ({','.join(map(str, range(100_000)))})"
    yield f"name in ({','.join(map(str, range(MAX_TERMS)))})"
    yield f"tags not in ({','.join(map(str, range(MAX_TERMS)))})"
    yield f"src in ({','.join(f'10.{i // 250}.{i % 250}.0/24' for i in range(2_000))})"
    yield f"src in ({','.join(f'10.{i // 250}.{i % 250}.1' for i in range(MAX_TERMS))})"
    yield f"port in ({','.join(map(str, range(0, 65_536, 16)))})"
    yield f"count in ({'1,' * 1_000})"
    yield f"count in ({',' * 1_000})"
    yield f"name in ({'(' * 1_000}a{')' * 1_000})"


def _make_patterns() -> Iterator[str]:
    many = MAX_PATTERN
    for pattern in PATTERNS:
        yield f"text ~ /{pattern}/"
        yield f"text ~ /{pattern}/i"
    for wildcard in (
        "*" * many,
        "*" * (many + 1),
        "?" * many,
        "*a" * 100 + "b",
        "*a" * 400 + "b",
        "*?" * 400,
        "?*" * 400 + "z",
    ):
        yield f"text like {wildcard}"
        yield f"text = {wildcard}"
    each = MAX_PATTERNS // 100
    for count in (100, 101):
        yield " or ".join([f"text ~ /{'x' * each}/"] * count)
    yield " or ".join([f'name contains "{"x" * 990}"'] * 60)
    yield " and ".join([f'not text endswith "{"a" * 400}b"'] * 20)


def _make_characters() -> Iterator[str]:
    # The text's beginning and end, what may look like a space, and what a terminal or a C library takes for an end.
    for odd in _ODD_CHARACTERS:
        yield odd
        yield f"ok = true{odd}"
        yield f"{odd}ok = true"
        yield f"ok{odd}= true"
        yield f"name = a{odd}b"
        yield f'name = "a{odd}b"'
        yield f'name = "{odd}"'
        yield f'name contains "{odd}"'
        yield f"name ~ /{odd}/"
        yield f"name ~ /[^{odd}]/i"
        yield f'name like "?{odd}"'
        yield f"count = {odd}1"
        yield f"src = 10.0.0.1{odd}"
        yield f"`{odd}` = 1"
        yield f"ts > 2016-03-01{odd}"
    for newline in ("\n", "\r\n", "\r", "\v", "\u2028"):
        yield f"ok = true{newline}and{newline}name = a"
        yield f'name = "a{newline}b"'
        yield f"ok = true # {newline} and name = a"
