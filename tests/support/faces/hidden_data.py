"""Sources whose events everybody with the label STAFF may see, and what the label SECRET hides beside them.

``write_shown`` writes the first alone. ``write_hidden`` writes the same again with fields and values in the same events
that only SECRET shows, and sources of which a reader without SECRET sees nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

import numpy as np
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write

from watchfloor.ingest.queue.item import FILE_ID_BYTES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.admin.tables import drop_source
from watchfloor.store.encoding.keys import event_hashes, event_keys
from watchfloor.store.store import Store

STAFF, SECRET = f"staff{RUN}", f"secret{RUN}"
START = datetime(2024, 2, 29, 23, tzinfo=UTC)
EVENTS = 600
SHOWN = {layout: f"walk{RUN}.{layout}" for layout in LAYOUTS}
HIDDEN = f"walk{RUN}.hidden"
NEARLY_HIDDEN = f"walk{RUN}.cells"
NEITHER = f"walk{RUN}.hiden"
"""A name that no source has, near to that of a hidden one."""

_TIME = {"name": "ts", "type": "time"}
_FIELDS = [
    _TIME,
    {"name": "who", "type": "string", "indexed": True, "ecs": "user.name"},
    {"name": "late", "type": "string"},
    {"name": "tags", "type": "list", "items": "string", "indexed": True},
]
_HIDDEN_FIELDS = [
    {"name": "size", "type": "int", "indexed": True, "visibility": SECRET, "ecs": "destination.port"},
    {"name": "memo", "type": "string", "visibility": f"{STAFF}&{SECRET}", "ecs": "user.name"},
]


def make_event(n: int) -> dict[str, Any]:
    """Returns an event of two hours around midnight; in every seventh only hidden fields have a value."""
    seen = bool(n % 7)
    return {
        "ts": START + timedelta(seconds=12 * n),
        "who": "abc"[n % 3] if seen else None,
        "late": f"l{n % 5}" if seen else None,
        "tags": [["x"], ["x", "y"], []][n % 3] if seen else None,
        "size": n % 5,
        "memo": f"m{n}",
    }


def known_keys() -> tuple[str, str]:
    """Returns the keys, in hexadecimal digits, of an event of the shown sources and of one of the hidden ones."""
    file_id = blake2b(b"%d" % 1, digest_size=FILE_ID_BYTES).digest()  # as ``write`` makes it
    hashes = event_hashes(file_id, np.array([0], np.int64))
    moments = (make_event(1)["ts"], START + timedelta(days=9, seconds=1))
    shown, hidden = (event_keys(np.array([to_micros(ts)]), hashes).tobytes().hex() for ts in moments)
    return shown, hidden


def write_shown(store: Store) -> None:
    """Writes the sources that STAFF shows. Their field ``late`` is indexed when there are events already."""
    _write_shown(store, _FIELDS)


def write_hidden(store: Store) -> None:
    """Writes the sources that STAFF shows anew, as the same events with hidden fields, and hidden sources."""
    for name in SHOWN.values():
        drop_source(store.connection, store.catalog.read_sources()[name])
    _write_shown(store, [*_FIELDS[:2], *_HIDDEN_FIELDS, *_FIELDS[2:]])
    events = [{**make_event(n), "ts": START + timedelta(days=9, seconds=n)} for n in range(50)]
    # Nobody without SECRET sees the time of an event of the first, or any cell of one of the second.
    timed = [{**_TIME, "visibility": SECRET}, *_FIELDS[1:]]
    own = [_TIME, *({**field, "visibility": STAFF} for field in _FIELDS[1:])]
    _write(store, _make_source(HIDDEN, "block", timed, STAFF), events)
    _write(store, _make_source(NEARLY_HIDDEN, "cell", own, SECRET), events)


def _write_shown(store: Store, fields: list[dict[str, Any]]) -> None:
    for layout, name in SHOWN.items():
        _write(store, _make_source(name, layout, fields, STAFF), [make_event(n) for n in range(EVENTS)])


def _make_source(name: str, layout: str, fields: list[dict[str, Any]], label: str) -> Source:
    return parse_definition(
        {
            "name": name, "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 2,
            "visibility": label, "layout": layout, "fields": fields,
        }
    )  # fmt: skip


def _write(store: Store, source: Source, events: list[dict[str, Any]]) -> None:
    stored = store.catalog.register(source)
    with store.sink() as sink:
        for item in range(2):
            write(sink, stored, item, batch_of(stored, events[item::2]))
        sink.flush()
    late = [{**field, "indexed": True} if field["name"] == "late" else field for field in source.definition["fields"]]
    store.catalog.register(parse_definition({**source.definition, "fields": late}))
