"""Makes tables cold: no data of a source stays in the caches of the tablet servers or of a local operating system."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import begin_file_compactions, read_table_ids, source_tables
from watchfloor.store.bulk.tablet_files import list_file_names

from .session import BenchSession

_TICK, _PATIENCE = 0.02, 600.0


def make_cold(session: BenchSession, source: Source) -> None:
    """Rewrites all files of a source's tables, so that no cache holds any of them.

    Raises ``StackError`` after ten minutes. The tablet servers cache blocks by the name of their file, and a compaction
    leaves no blocks of its inputs and outputs in the cache. The servers keep running, so their code stays compiled, as
    on a server that has not read a table for a while. Entries that are not yet in files stay in memory; call
    ``compact_source`` first, which leaves none.
    """
    names = source_tables(source)
    before = list_file_names(session.store, source)
    # Accumulo's own way of waiting is too slow: the manager needs half a second per tablet.
    begin_file_compactions(session.store.connection, names)
    until = time.monotonic() + _PATIENCE
    while before & list_file_names(session.store, source):
        if time.monotonic() > until:
            raise StackError(f"the tables of {source.name} are not compacted after {_PATIENCE:.0f} s")
        time.sleep(_TICK)
    if session.settings.is_accumulo_local:
        table_ids = read_table_ids(session.store.connection)
        for name in names:
            drop_pages(session.settings.home / "data/accumulo/tables" / table_ids[name])


def drop_pages(folder: Path) -> None:
    """Tells the operating system to drop its cached pages of all RFiles in a folder; has no effect outside Linux.

    Only the right to read the files is needed. Pages that are not yet on the disk would stay, so they are synced first.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    for path in folder.rglob("*.rf"):
        # Accumulo's collector may remove a file meanwhile.
        with suppress(FileNotFoundError), path.open("rb") as file:
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
