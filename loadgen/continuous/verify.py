"""Verifies the table: whether an entry was lost or damaged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.workloads.client_process import Record, start_client

from .table import TableRows

MOST_RANGES = 4096


@dataclass(frozen=True)
class Verification:
    """The counts of one verification; ``undefined``, ``unreferenced`` and ``referenced`` are rows."""

    undefined: int
    unreferenced: int
    referenced: int
    corrupt: int
    entries: int
    seconds: float

    @property
    def is_right(self) -> bool:
        """True if nothing was lost or damaged."""
        return self.undefined == 0 and self.corrupt == 0


def verify_table(
    settings: Settings,
    rows: TableRows,
    *,
    threads: int = 4,
    memory: int = 128 << 20,
    heap: str = "512m",
    heard: Callable[[Record], None] = lambda record: None,
) -> Verification:
    """Reads the whole table and returns what is wrong.

    ``memory`` is the number of bytes that are sorted at once; the rest lies in a temporary folder, 32 bytes an entry at
    most. ``heard`` gets a record for each of the first thousand undefined rows and corrupt entries.
    """
    if threads < 1 or memory < 1:
        raise UserError("--threads and --memory are 1 or more")
    with tempfile.TemporaryDirectory(prefix="watchfloor-verify-") as folder:
        options = {
            "table": rows.name,
            "threads": threads,
            "memory": memory,
            "ranges": MOST_RANGES,
            "folder": folder,
        }
        last: Record = {}
        with start_client(settings, "continuous.Verify", options, heap=heap) as client:
            for last in client.read_records():
                heard(last)
    return Verification(
        undefined=last["undefined_rows"],
        unreferenced=last["unreferenced_rows"],
        referenced=last["referenced_rows"],
        corrupt=last["corrupt_entries"],
        entries=last["entries"],
        seconds=last["seconds"],
    )
