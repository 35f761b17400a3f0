"""Supplies ingest clients with work: the items of one generated file again and again, for as long as a run lasts.

Each lap through the file gives it another identity, so that to a worker it is another file: its events get rows of
their own, and the ledger does not know its items yet.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import count
from pathlib import Path

from watchfloor.ingest.files.file_scan import items_of, scan_file
from watchfloor.ingest.files.open_file import resolve_path
from watchfloor.ingest.queue.item import FILE_ID_BYTES, WorkItem
from watchfloor.loadgen.generator.generate import DEFAULT_END, generate_events

ITEM_EVENTS = {"block": 16_000, "cell": 2_000}
"""The number of events of an item, by layout; it takes a client some tenths of a second.

In blocks the events nearly fill one block: smaller items would make smaller blocks, and more entries of the index.
"""
FILE_ITEMS, FILE_DAYS = 15, 3.0
"""Items of a file, and the days of its events. An item then has the events of some hours, as a log file has, and few
items have events of two days, which would need a block for each day.
"""


class WorkSupply:
    """A file of generated proxy events of the days before ``end``, cut into items of ``item_events`` each."""

    def __init__(self, folder: Path, item_events: int, seed: int, end: datetime = DEFAULT_END) -> None:
        self._path = folder / "work.json"
        # One more item takes the bytes that the cuts at line ends leave over, so that the items in use have one size.
        events = item_events * (FILE_ITEMS + 1)
        with self._path.open("wb") as out:
            self.item_bytes = generate_events(out, events, seed, FILE_DAYS, end).bytes // (FILE_ITEMS + 1)
        self._scan = scan_file(self._path, self.item_bytes)
        self.item_events = item_events

    def make_items(self, feed: str) -> Iterator[WorkItem]:
        """Yields items without end, for a new source."""
        lap_items = items_of(self._scan, resolve_path(self._path), feed, b"", secrets.token_hex(8))[:FILE_ITEMS]
        for lap in count():
            file_id = hashlib.blake2b(self._scan.file_id + lap.to_bytes(4, "big"), digest_size=FILE_ID_BYTES).digest()
            yield from (replace(item, file_id=file_id) for item in lap_items)
