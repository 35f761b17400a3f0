"""Writes a table for look-ups: sorted files, each of a tablet, which the table imports whole."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bulk.import_folders import find_import_folder, name_import_folder
from watchfloor.store.workloads.client_process import run_client

from .options import LookupTable, check_writers


@dataclass(frozen=True)
class BulkWrite:
    """A table that was written.

    ``seconds`` are those until all files were written, ``import_seconds`` those of their import.
    """

    table: LookupTable
    writers: int
    seconds: float
    import_seconds: float
    bytes: int
    table_id: str

    @property
    def row_rate(self) -> float:
        """Rows a second until all files were written."""
        return self.table.rows / self.seconds

    @property
    def bytes_per_row(self) -> float:
        return self.bytes / self.table.rows


def write_table(settings: Settings, table: LookupTable, writers: int, *, again: bool = False) -> BulkWrite:
    """Makes the table and writes all its rows, by so many threads. ``again`` replaces a table of this suite.

    Raises ``UserError`` if there is a table of this name, and ``StoreError``.
    """
    check_writers(writers)
    options = {
        "table": table.name,
        "again": again,
        "properties": table.list_properties(),
        "policy": table.policy,
        "rows": table.rows,
        "seed": table.seed,
        "tablets": table.tablets,
        "writers": writers,
        "folder": find_import_folder(settings, name_import_folder(secrets.token_hex(4), table.name)),
    }
    written, imported = run_client(settings, "lookups.WriteRows", options)
    return BulkWrite(table, writers, written["seconds"], imported["seconds"], written["bytes"], imported["id"])
