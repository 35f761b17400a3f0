"""Fields whose values are indexed in reverse too, and what the index must have of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import blake2b
from typing import Any

from block_store import hits_of_blocks

from watchfloor.schema.source import Source

FIELDS: tuple[dict[str, object], ...] = (
    {"name": "domain", "type": "string", "indexed": True, "reversed": True, "visibility": "secret"},
    {"name": "names", "type": "list", "items": "string", "indexed": True, "reversed": True},
)


REVERSED = tuple(str(field["name"]) for field in FIELDS)


LONG = "x" * 1500


VALUES = (
    "", "a", "www.example.com", "mail.example.com", "example.com", "EXAMPLE.com", "com.example", "\x00", "a\x00b",
    "a\x01", "\x01a", "é", "e\u0301", "\u0301e", "👩\u200d👩\u200d👧", "\u202eabc", "ﬃ", "\U0010ffff",
    LONG, f"{LONG}.example.com", f"{LONG}.example.org", f"a{LONG}", f"b{LONG}",
    "y" * 1024, "y" * 1025, "é" * 512, "é" * 513,
)  # fmt: skip


ENDINGS = ("m", ".com", ".example.com", "\x00", "b", "\u0301", "👧", "é", "x" * 1000, LONG, "y" * 1024)


Event = dict[str, Any]


Entry = tuple[bytes, bytes, bytes, bytes]
"""Row, qualifier, visibility, value."""


def as_written(value: str) -> bytes:
    """A value as it stands in the rows of reversed ones."""
    turned = bytes(reversed(value.encode()))
    return turned if len(turned) <= 1024 else turned[:1000] + blake2b(turned, digest_size=16).digest()


def values_of(event: Event, name: str) -> set[str]:
    value = event.get(name)
    return {v for v in (value if isinstance(value, list) else [value]) if v is not None}


def split(row: bytes) -> tuple[bytes, str, bool, bytes]:
    """An index row's shard, field, whether its value is reversed, and that value."""
    end = next(place for place, byte in enumerate(row) if place >= 4 and byte < 2)
    return row[:4], row[4:end].decode(), row[end] == 1, row[end + 1 :]


def assert_mirrored(kind: Source, entries: list[Entry], events: list[Event]) -> None:
    """The index has for each value of a reversed field what it has for the value itself, and that is right."""
    forward: dict[str, Counter[bytes]] = defaultdict(Counter)
    backward: dict[str, Counter[bytes]] = defaultdict(Counter)
    where: dict[bool, Counter[Any]] = {False: Counter(), True: Counter()}
    for row, qualifier, visibility, value in entries:
        shard, field, turned, written = split(row)
        hits = sum(hits_of_blocks(qualifier, value).values()) if kind.layout == "block" else 1
        (backward if turned else forward)[field][written] += hits
        if field in REVERSED:
            assert visibility.decode() == kind.visibility_of(kind.find_field(field))
            where[turned][shard, field, qualifier, visibility, value] += 1
    assert set(backward) <= set(REVERSED)
    assert where[False] == where[True], "the same entries but for the value"
    for name in REVERSED:
        expected = Counter(value for event in events for value in values_of(event, name))
        assert backward[name] == Counter({as_written(value): count for value, count in expected.items()})
        assert forward[name].total() == expected.total()
