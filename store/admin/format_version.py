"""The version of the format of all that a store holds: its tables, keys and values (``docs/keys.md``).

It stands in the catalog from the creation of a store on. A store of before this entry has version 1. Each opener checks
it, so that no program writes or reads what it does not understand.
"""

from __future__ import annotations

from watchfloor.schema.errors import StoreError
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bridge.streams import EntryStream
from watchfloor.store.encoding.ranges import Ranges

from .tables import SOURCES_TABLE

FORMAT = 1
"""The version that this program writes, and the only one that it reads."""
# The row has no source's name, as the costs of reading (``catalog.py``).
_CELL = (b"\x00store", b"format", b"")


def check_format(connection: Connection) -> None:
    """Raises ``StoreError`` with the way out if the store has a format that this program cannot read."""
    if connection.client.tableOperations().exists(SOURCES_TABLE):
        refuse_format(_read_format(connection), "this store's data have")


def write_format(connection: Connection) -> None:
    """Writes the version of the format into a store that has none yet. The table of sources must exist."""
    connection.swap(SOURCES_TABLE, _CELL, None, str(FORMAT).encode())


def refuse_format(found: int, subject: str) -> None:
    """Raises ``StoreError`` with the way out unless ``found`` is the version of this program."""
    if found > FORMAT:
        raise StoreError(
            f"{subject} format {found}, this version of Watchfloor reads format {FORMAT}: use the newer version that "
            "wrote them"
        )
    if found < FORMAT:
        raise StoreError(
            f"{subject} format {found}, this version of Watchfloor reads format {FORMAT}: read them with the older "
            "version that wrote them, and load the log files anew with this one"
        )


def _read_format(connection: Connection) -> int:
    row, family, _ = _CELL
    ranges = Ranges()
    ranges.add_row(row)
    with EntryStream(connection, (), EntryScan(SOURCES_TABLE, ranges)) as stream:
        for batch in stream:
            for entry in batch.to_pylist():
                if entry["family"] == family:
                    return int(entry["value"]) if entry["value"].isdigit() else -1
    return 1
