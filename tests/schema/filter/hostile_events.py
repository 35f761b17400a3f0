"""A source and events with values that hostile filters are asked of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source

LONGEST = 65_536
"""Characters of the longest value."""
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
NEWEST = datetime(2016, 3, 1, 12, tzinfo=UTC)


def hostile_source() -> Source:
    """Returns a source with fields of every type, some named like keywords."""
    return parse_definition(
        {
            "name": "any.hostile",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "fields": [_field(name, kind) for name, kind in _FIELDS.items()],
        }
    )


def hostile_events() -> list[dict[str, Any]]:
    """Returns an event for each name, newest first, an hour apart."""
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


def _field(name: str, kind: str) -> dict[str, Any]:
    scalar = kind.rstrip("*").removeprefix("list of ")
    typed = {"type": "list", "items": scalar} if kind.startswith("list of ") else {"type": scalar}
    return {"name": name, **typed, "indexed": kind.endswith("*")}
