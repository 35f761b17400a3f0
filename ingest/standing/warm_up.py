"""Has the code for a load compiled before the first one: that of a standing worker, and that of tablet servers.

It parses and encodes lines that it makes up, and writes what they become into a table that it drops at the end.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.json.json_lines import JsonParser
from watchfloor.schema.definition import find_builtin
from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.scratch_table import make_scratch_table
from watchfloor.store.admin.tables import flush_table
from watchfloor.store.layouts.item_writer import ItemWriter
from watchfloor.store.store import Store

from .sample_lines import make_lines

_SOURCE = "proxy.events"
_LINES, _CHUNKS = 8192, 8
"""The chunks of an item make one slab of events."""
_ITEMS = 6
"""After so many, further items take no less processor time."""
log = logging.getLogger("watchfloor.standing")


def warm_up(settings: Settings, name: str, stop: threading.Event) -> None:
    """Works as a load of some items does, until ``stop`` is set.

    ``name`` is the worker's. An error ends it, and is told by the work that meets it.
    """
    items = 0
    try:
        with Store.open(settings) as store, make_scratch_table(store.connection, f"warm_up_{name}") as table:
            while items < _ITEMS and not stop.is_set():
                _write_item(store, table, items, stop.is_set)
                items += 1
            if not stop.is_set():
                flush_table(store.connection, table)
    except WatchfloorError as error:
        log.info("the warm-up has ended early: %s", error)


def _write_item(store: Store, table: str, number: int, is_stopped: Callable[[], bool]) -> None:
    """Writes one item's events. What belongs into several tables goes into ``table``."""
    source = find_builtin(_SOURCE)
    parser, chunk = JsonParser(source), Chunk(0, make_lines(source, _LINES))
    with store.sink() as sink:
        writer = ItemWriter(sink, number.to_bytes(8, "big"), bytes(16))
        for part in range(_CHUNKS):
            for known, events in parser.parse(replace(chunk, offset=part * len(chunk.data))).events:
                writes = writer.encode(known, events)
                writer.put_writes([replace(write, table=table) for write in writes])
            if is_stopped():
                return
        writer.put_writes([replace(write, table=table) for write in writer.encode_rest()])
        sink.flush()
