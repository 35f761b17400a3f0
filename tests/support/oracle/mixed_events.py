"""Events with fields of every type, indexed and not, single and in lists, and with what is odd about each type.

A few hundred events hold values from small pools, some common and most rare, so that drawn conditions are met by none,
by few and by most of them. Fields may be missing, lists empty, and elements of lists null.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

from loaded import Loaded, batch_of

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source

SCALARS = ("string", "int", "float", "bool", "time", "ip", "port")
FIRST = datetime(2016, 2, 28, 22, tzinfo=UTC)
"""The oldest event is of this moment; the leap day lies among the others."""

_STRINGS = (
    "www.example.com", "mail.example.com", "mail.example.org", "example.com", "WWW.EXAMPLE.COM", "a.b.example.com.evil",
    "/index.html", "/static/app.js", "/static/app.css", "/wp-login.php", "/a?b=c*d&e=[1]", "GET", "POST", "-", "", " ",
    "a", "ab", "abc", "b", "x" * 1_500 + "1", "x" * 1_500 + "2", 'say "hi"\\', "tab\tnew\nline", "nul\x00byte",
    "größe", "GRÖSSE", "groſse", "\u212aelvin", "İstanbul", "日本語", "😀 smile", "e\u0301", "é", "\uffff", "\x7f\x80",
)  # fmt: skip
_INTS = (0, 1, -1, 2, 200, 204, 301, 302, 404, 500, 503, 599, 65_536, -(2**63), 2**63 - 1, 10**12, 255, 256, -256)
_FLOATS = (0.0, 0.5, 1.0, -1.0, 1.5, 1e-300, -1e300, float("inf"), float("-inf"), 5e-324, 2.5, 100.25, 3.0)
_IPS = (
    "10.0.0.1", "10.0.0.2", "10.0.255.255", "10.1.0.0", "9.255.255.255", "192.168.1.9", "192.168.1.255", "0.0.0.0",
    "255.255.255.255", "127.0.0.1", "::", "::1", "2001:db8::1", "2001:db8::ffff", "2001:db8:0:1::", "fe80::1",
    "::ffff:10.0.0.1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
)  # fmt: skip
# As the store gives them back, whatever this Python makes of the last.
_ADDRESSES = tuple(str(ip_address(text)) for text in _IPS)
_PORTS = (0, 22, 53, 80, 443, 8080, 65_535, 49_152, 1024)
_TIMES = tuple(FIRST + timedelta(hours=7 * i, microseconds=i) for i in range(12))
POOLS: dict[str, Sequence[Any]] = {
    "string": _STRINGS,
    "int": _INTS,
    "float": _FLOATS,
    "bool": (True, False),
    "time": _TIMES,
    "ip": _ADDRESSES,
    "port": _PORTS,
}


def mixed_source(name: str = "zeek.mixed") -> Source:
    """The fields ``int_indexed``, ``int_plain``, ``ints_indexed``, ``ints_plain`` …, the time, and a ``number``."""
    fields: list[dict[str, Any]] = [{"name": "ts", "type": "time"}, {"name": "number", "type": "int"}]
    for scalar in SCALARS:
        for suffix, indexed in (("indexed", True), ("plain", False)):
            fields.append({"name": f"{scalar}_{suffix}", "type": scalar, "indexed": indexed})
            fields.append({"name": f"{scalar}s_{suffix}", "type": "list", "items": scalar, "indexed": indexed})
    return parse_definition(
        {"name": name, "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields}
    )


def mixed_events(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """``count`` events over five days, newest first, numbered from 0; some are of the same microsecond."""
    drawn = random.Random(seed)
    moments = sorted((FIRST + timedelta(seconds=drawn.randrange(5 * 86_400)) for _ in range(count)), reverse=True)
    return [{"ts": ts, "number": number, **_fields(drawn)} for number, ts in enumerate(moments)]


def mixed(count: int) -> Loaded:
    """The events as a source that can be stored in any layout."""
    source, events = mixed_source(), mixed_events(count)
    return Loaded(source, events, batch_of(source, events))


def _fields(drawn: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {}
    for scalar in SCALARS:
        pool = POOLS[scalar]
        for suffix in ("indexed", "plain"):
            event[f"{scalar}_{suffix}"] = _value(drawn, pool)
            length = drawn.choice((None, 0, 1, 1, 2, 4))
            elements = None if length is None else [_value(drawn, pool) for _ in range(length)]
            event[f"{scalar}s_{suffix}"] = elements
    return event


def _value(drawn: random.Random, pool: Sequence[Any]) -> Any:
    """A value of the pool, the first ones far more often than the last ones; seldom none."""
    return None if drawn.random() < 0.12 else pool[int(len(pool) * drawn.random() ** 3)]
