"""A source, events and drawn filters that tests of the filter language share."""

from __future__ import annotations

from drawn_filters import filters, pools_of

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source
from watchfloor.schema.times import from_micros

NOW = 1_456_833_600_000_000  # 2016-03-01T12:00:00Z


def source_of(**kinds: str) -> Source:
    """A source with these fields; a type may be ``list of X``."""
    return parse_definition(
        {
            "name": "test.events",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "fields": [
                {"name": name, "type": "list", "items": kind.removeprefix("list of ")}
                if kind.startswith("list of ")
                else {"name": name, "type": kind}
                for name, kind in {"ts": "time", **kinds}.items()
            ],
        }
    )


SOURCE = source_of(
    status="int",
    bytes="int",
    ratio="float",
    ok="bool",
    src="ip",
    port="port",
    uri="string",
    method="string",
    seen="time",
    tags="list of string",
    answers="list of ip",
    **{"id.orig_h": "ip", "id.resp_h": "ip", "@version": "string", "user-agent": "string", "and": "string"},
)
EVENTS = [
    {
        "ts": from_micros(NOW + i * 1_000_001),
        "status": (200, 404, None)[i % 3],
        "bytes": i * 1000,
        "ratio": i / 7,
        "ok": i % 2 == 0,
        "src": ("10.0.0.1", "192.168.1.9", "2001:db8::1")[i % 3],
        "port": 443 + i,
        "uri": ("/index.html", "/a?b=c*d", 'x"y\\z', "größe\n", "")[i % 5],
        "method": ("GET", "POST")[i % 2],
        "tags": (["a", "b"], [], None, ["b", None])[i % 4],
        "answers": (["10.0.0.1", "::1"], None)[i % 2],
    }
    for i in range(12)
]
TYPED = filters(SOURCE, pools_of(SOURCE, EVENTS))
