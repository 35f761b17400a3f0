"""Sources whose fields are indexed from a later time on, with drawn events."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from block_store import hits_of_blocks

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.field import IndexKind
from watchfloor.schema.source import Source
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import index_table
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.store import Store

SECOND = 1_000_000
COLOUR: dict[str, object] = {"name": "colour", "type": "string"}
TAGS: dict[str, object] = {"name": "tags", "type": "list", "items": "string"}
INDEXED = ({**COLOUR, "indexed": True, "reversed": True}, {**TAGS, "indexed": True})
COLOURS = ("red", "dark red", "blue", "é")
Event = dict[str, Any]


def definition(*fields: dict[str, object]) -> Source:
    shared = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}}
    return parse_definition({"name": "a.b", "fields": [{"name": "ts", "type": "time"}, *fields], **shared})


def covered_from(kind: Source, field: str, index: IndexKind = IndexKind.VALUES) -> int:
    found = kind.find_field(field).find_index(index)
    assert found is not None
    return found.covers_from


def made(draw: random.Random, low: int, high: int, many: int) -> list[Event]:
    """Events at whole seconds of [low, high), in any order."""
    events: list[Event] = []
    for number in range(many):
        event: Event = {"ts": draw.randrange(low, high), "host": f"h{number % 5}", "n": number % 3}
        if draw.random() < 0.8:
            event["colour"] = draw.choice(COLOURS)
        if draw.random() < 0.5:
            event["tags"] = draw.sample(("x", "y", "z"), draw.randrange(3))
        events.append(event)
    return events


def log_of(path: Path, events: list[Event]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def indexed_hits(store: Store, kind: Source, field: str, mark: bytes = b"\x00") -> Counter[bytes]:
    """By value how many events the index says have it; read from its bytes."""
    found: Counter[bytes] = Counter()
    everything = Ranges()
    everything.add_rows(b"", None)
    for batch in store.scan(EntryScan(index_table(kind), everything)):
        columns = (batch.column(name).to_pylist() for name in ("row", "qualifier", "value"))
        for row, key, value in zip(*columns, strict=True):
            if row[4:].startswith(field.encode() + mark):
                hits = sum(hits_of_blocks(key, value).values()) if kind.layout == "block" else 1
                found[row[4 + len(field) + 1 :]] += hits
    return found


def colours_of(events: list[Event]) -> Counter[str]:
    return Counter(event["colour"] for event in events if "colour" in event)


def tags_of(events: list[Event]) -> Counter[str]:
    return Counter(tag for event in events for tag in set(event.get("tags", ())))


def assert_all_indexed(store: Store, kind: Source, events: list[Event]) -> None:
    expected = {value.encode(): count for value, count in colours_of(events).items()}
    assert indexed_hits(store, kind, "colour") == expected
    assert indexed_hits(store, kind, "colour", b"\x01") == {value[::-1]: n for value, n in expected.items()}
    assert indexed_hits(store, kind, "tags") == {tag.encode(): count for tag, count in tags_of(events).items()}
