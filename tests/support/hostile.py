"""Filters meant to hurt, and events to ask them of.

Those that are short stand in ``fixtures/hostile_filters.txt``, one a line. Those with a length, a depth or a character
that no line can hold are made here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter.parse import MAX_DEPTH, MAX_LENGTH, MAX_TERMS
from watchfloor.schema.filter.patterns import MAX_PATTERN, MAX_PATTERNS
from watchfloor.schema.source import Source

LONGEST = 65_536
"""Characters of the longest value."""
_FILE = Path(__file__).parents[1] / "fixtures" / "hostile_filters.txt"
_FIELDS = {
    "ts": "time",
    "name": "string*",
    "text": "string",
    "count": "int*",
    "size": "int",
    "ratio": "float*",
    "ok": "bool*",
    "port": "port*",
    "ports": "list of port",
    "src": "ip*",
    "dst": "ip",
    "seen": "time",
    "tags": "list of string*",
    "counts": "list of int*",
    "answers": "list of ip*",
    "and": "string*",
    "in": "int",
    "exists": "string",
    "like": "string",
    "contains": "string",
    "startswith": "string",
    "number": "int",
}
_NAMES = (
    "a",
    "b",
    "",
    "ab",
    "a*b",
    "a*b*c",
    "a*bxc",
    "\\",
    "C:\\dir",
    "GET",
    "and",
    "not",
    "in",
    "größe",
    "GRÖSSE",
    "groſse",
    "K",
    "k",
    "\u212a",
    "S",
    "ſ",
    "ß",
    "ẞ",
    "İ",
    "ı",
    "i",
    "I",
    "Σ",
    "ς",
    "日本語",
    "語",
    "😀",
    "😂",
    "\u202eabc",
    "a\u200bb",
    "\ufffd",
    "\uffff",
    "\U0010ffff",
    "\x00",
    "a\x00b",
    "\n",
    "a\nb",
    "\t",
    " ",
    "a b",
    "#",
    "a#b",
    "/",
    "{",
    "a{",
    "[",
    "]",
    "(",
    "^",
    "$",
    "10.0.0.1",
    "Z\u0351\u036b",
    "e\u0301",
    "é",
    "ǅ",
    "ﬁ",
    "в",
    "В",
    None,
)
_TEXTS = ("a" * 4_000 + "b", "a" * LONGEST, "ab" * 1_000, "x" * 2_000 + "y", "=" * 3_000, "aA1" * 500, "a", "", None)
_NUMBERS = (0, 1, -1, 5, 404, 2**63 - 1, -(2**63), 10**18, None)
_RATIOS = (0.0, 0.1, 0.3, 0.5, -1.0, float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308, None)
_ADDRESSES = (
    "10.0.0.1",
    "10.1.2.3",
    "0.0.0.0",
    "255.255.255.255",
    "::",
    "::1",
    "2001:db8::1",
    "fe80::1",
    "::ffff:a00:1",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    None,
)
_PORTS = (0, 80, 65_535, None)
_ODD = (
    "\x00\x01\x08\x0b\x0c\r\x1b\x1f\x7f\x80\x85\xa0\xad\u200b\u200d\u200e\u2028\u202e\u2060\u3000"
    "\ufeff\ufffe\uffff\ud800\udfff\udcc0\U0001f600\U0010ffff"
)
NEWEST = datetime(2016, 3, 1, 12, tzinfo=UTC)


def hostile_source() -> Source:
    """Fields of every type, some named like keywords."""
    return parse_definition(
        {
            "name": "any.hostile",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "fields": [_field(name, kind) for name, kind in _FIELDS.items()],
        }
    )


def hostile_events() -> list[dict[str, Any]]:
    """An event a name, newest first, an hour apart."""
    pools = {
        "text": _TEXTS,
        "count": _NUMBERS,
        "size": _NUMBERS[::-1],
        "ratio": _RATIOS,
        "ok": (True, False, None),
        "in": (1, 2),
        "port": _PORTS,
        "src": _ADDRESSES,
        "dst": _ADDRESSES[::-1],
        "and": ("and", "a", None),
        "exists": ("a", None),
        "like": ("like", None),
        "contains": ("contains",),
        "startswith": ("startswith",),
    }
    lists = {"tags": ("a", "", "b", "é", None), "counts": _NUMBERS, "answers": _ADDRESSES, "ports": _PORTS}
    events = []
    for number, name in enumerate(_NAMES):
        event: dict[str, Any] = {"ts": NEWEST - timedelta(hours=number), "number": number, "name": name}
        event |= {field: pool[number % len(pool)] for field, pool in pools.items()}
        event["text"] = _TEXTS[number] if number < len(_TEXTS) else "a" * number
        event["seen"] = None if number % 3 == 0 else NEWEST - timedelta(days=400 * number)
        for field, pool in lists.items():
            length = (None, 0, 1, 3)[number % 4]
            event[field] = None if length is None else [pool[(number + i) % len(pool)] for i in range(length)]
        events.append(event)
    return events


def hostile_texts() -> list[str]:
    """All hostile filters in text."""
    lines = _FILE.read_text("utf-8").splitlines()
    return [*(line for line in lines if line and not line.startswith("## ")), *_made()]


def hostile_forms() -> Iterator[Any]:
    """Hostile filters in JSON form, and what is no JSON at all."""
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


def _made() -> Iterator[str]:
    yield from _deep()
    yield from _long()
    yield from _lists()
    yield from _patterns()
    yield from _characters()


def _deep() -> Iterator[str]:
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


def _long() -> Iterator[str]:
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


def _lists() -> Iterator[str]:
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


def _patterns() -> Iterator[str]:
    many = MAX_PATTERN
    for pattern in (
        "a" * many,
        "a" * (many + 1),
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
        f"(a{{1,{many}}})",
        f"a{{{many // 2}}}a{{{many // 2}}}",
        f"a{{{many // 2}}}" * 3,
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
        "é" * many,
        "😀" * many,
        "\\Q" + "*" * 900,
        "(?:)" * 249,
        "a{0}" * 249,
        "(?:(?:a{0,5}){0,5}){0,5}b",
        "(((a{1,5}){1,5}){1,5}b)",
        "(?s).*" * 100,
        "(?m)^a*$" * 100,
    ):
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


def _characters() -> Iterator[str]:
    # The text's beginning and end, what may look like a space, and what a terminal or a C library takes for an end.
    for odd in _ODD:
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


def _field(name: str, kind: str) -> dict[str, Any]:
    scalar = kind.rstrip("*").removeprefix("list of ")
    typed = {"type": "list", "items": scalar} if kind.startswith("list of ") else {"type": scalar}
    return {"name": name, **typed, "indexed": kind.endswith("*")}
