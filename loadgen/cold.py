"""Cold tables: nothing of a source is in the caches of the tablet servers, nor, on a local stack, of the system."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from watchfloor.schema.source import Source
from watchfloor.store.tables import tables_of

from .rig import Rig


def make_cold(rig: Rig, source: Source) -> None:
    """Has all tables of a source written to new files, which no cache has seen.

    The tablet servers keep blocks by the name of their file, and a compaction leaves none of what it reads and writes
    there. They go on running: their code is compiled, as it is on a server that has not read a table for a while.
    """
    operations = rig.store.connection.client.tableOperations()
    names = tables_of(source)
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: operations.compact(name, None, None, True, True), names))
    if rig.settings.local_accumulo:
        table_ids = operations.tableIdMap()
        for name in names:
            drop_pages(rig.settings.home / "data/accumulo/tables" / str(table_ids.get(name)))


def drop_pages(folder: Path) -> None:
    """Has the operating system forget what it holds in memory of all RFiles in a folder; without effect but on Linux.

    That needs no rights but to read the files. Pages that are not yet on the disk would stay, so they go there first.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    for path in folder.rglob("*.rf"):
        with suppress(FileNotFoundError), path.open("rb") as file:  # Accumulo's collector removes those of no use
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
