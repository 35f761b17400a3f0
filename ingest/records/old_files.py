"""Knows the files in the ledger that earlier versions have queued, whose identity is the BLAKE2b of their content.

Hashing a file a second time, by that hash, takes several times as long as the first time. So it is done only if such a
file has the same length. The ledger has a row of each: ``o``, its length and its identity. Whoever first asks writes
these rows; the row ``o`` says that they are all there.
"""

from __future__ import annotations

from collections.abc import Iterator

from watchfloor.ingest.queue.item import BLAKE2B, FILE_ID_BYTES
from watchfloor.store.admin.tables import ITEMS_TABLE
from watchfloor.store.store import Store

from .cells import put_cells, read_prefix, read_row
from .ledger import Ledger

_OLD, _CELL = b"o", "old"
_LENGTH_BYTES = 8


class OldFiles:
    """Finds the identities of old files. Raises ``StoreError``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_indexed = False

    def find_of_length(self, length: int) -> set[bytes]:
        """Returns the identities of the old files that have ``length`` uncompressed bytes."""
        if not self._is_indexed:
            if not read_row(self._store, ITEMS_TABLE, _OLD):
                self.index()
            self._is_indexed = True
        prefix = _length_key(length)
        return {row[len(prefix) :] for row, _ in read_prefix(self._store, ITEMS_TABLE, prefix)}

    def index(self) -> None:
        """Writes a row of each old file in the ledger; needed once, and after an import of rows from a backup."""
        with self._store.sink() as sink:
            put_cells(sink, ITEMS_TABLE, ((row, _CELL, b"") for row in self._list_rows()))
            sink.flush()
            put_cells(sink, ITEMS_TABLE, [(_OLD, _CELL, b"")])
            sink.flush()

    def _list_rows(self) -> Iterator[bytes]:
        last = b""
        for row in Ledger(self._store).read_rows(("queued", "running", "done", "failed")):
            if row.item is None or row.item.digest != BLAKE2B or row.item.file_id == last:
                continue
            last = row.item.file_id
            assert len(last) == FILE_ID_BYTES
            yield _length_key(row.item.length) + last


def _length_key(length: int) -> bytes:
    return _OLD + length.to_bytes(_LENGTH_BYTES, "big")
