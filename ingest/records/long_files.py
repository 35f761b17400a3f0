"""Knows the long files in the ledger by their length, among them those whose content is not known yet.

A long file that is new is queued before it was hashed: under an identity that is drawn at random, while its content is
still being found out (``ingest/identity``). The ledger has a row of each long file: ``n``, its length and its identity.
The hash of its content stands in it as soon as it is known. Files of different lengths are different, so a file is new
if its length is. Whoever is about to queue a long file writes its row first and reads the others' then: if two do so at
the same time, one of them at least sees the other's.

Files of earlier versions get their rows once, by whoever asks first; the row ``n`` says that they are all there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import orjson

from watchfloor.ingest.queue.item import DRAWN, FILE_ID_BYTES, WorkItem
from watchfloor.schema.errors import InputFileError, UnsettledFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.store.admin.tables import ITEMS_TABLE
from watchfloor.store.store import Store

from .cells import Cells, put_cells, read_prefix, read_row
from .ledger import Ledger

LONG_BYTES = 256 << 20
"""The least length of a long file. A shorter one is hashed in a tenth of a second."""
LONG_FILE = b"n"
"""The first byte of the rows of long files."""
_FILE, _INDEXED = "file", "indexed"
_LENGTH_BYTES = 8
FILE_ID_OF_LONG = (1 + _LENGTH_BYTES, 1 + _LENGTH_BYTES + FILE_ID_BYTES)
"""Where the identity stands in the key of a row of a long file."""


@dataclass(frozen=True)
class LongFile:
    """A file of ``length`` uncompressed bytes. ``content`` is the hash of its content as hex; empty if not known yet.

    ``by`` is the mark of the process that finds the content out (``ProcessIdentity``), and ``sign`` a number that grows
    with each of its signs of life. ``is_left``: that process has ended, or stood still. ``is_changed``: the file has
    changed before its content was known. ``is_void``: nothing is queued under this identity after all.
    """

    length: int
    file_id: bytes
    content: str = ""
    by: str = ""
    sign: int = 0
    is_left: bool = False
    is_changed: bool = False
    is_void: bool = False

    @property
    def is_settled(self) -> bool:
        """Returns whether there is nothing more to find out."""
        return self.is_void or bool(self.content)

    @property
    def key(self) -> bytes:
        """The row in the ledger."""
        return _length_key(self.length) + self.file_id

    def to_json(self) -> bytes:
        """Returns the value of the row's cell."""
        fields = ("content", "by", "sign", "is_left", "is_changed", "is_void")
        return orjson.dumps({name: getattr(self, name) for name in fields})


class LongFiles:
    """Reads and writes the rows of long files. Every write is durable when it returns. Raises ``StoreError``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_indexed = False

    def read(self, length: int) -> list[LongFile]:
        """Returns the files of a length under which something is queued, or about to be."""
        if not self._is_indexed:
            if not read_row(self._store, ITEMS_TABLE, LONG_FILE):
                self.index()
            self._is_indexed = True
        prefix = _length_key(length)
        rows = read_prefix(self._store, ITEMS_TABLE, prefix)
        found = (_parse(length, row[len(prefix) :], cells) for row, cells in rows)
        return [file for file in found if file is not None and not file.is_void]

    def find(self, length: int, file_id: bytes) -> LongFile | None:
        """Returns one file; None if there is no row of it."""
        return _parse(length, file_id, read_row(self._store, ITEMS_TABLE, _length_key(length) + file_id))

    def find_content(self, item: WorkItem) -> bytes:
        """Returns the hash of the content of the file of an item whose identity was drawn.

        Raises ``UnsettledFileError`` if it is not known yet, and ``InputFileError`` if it never will be.
        """
        found = self.find(item.length, item.file_id)
        if found is not None and found.content:
            return bytes.fromhex(found.content)
        name = show_path(item.log_path)
        if found is None or found.is_changed:
            raise InputFileError(f"{name}: changed before all of it was known; load it again")
        raise UnsettledFileError(f"{name}: has changed since it was queued, and all of it is not known yet")

    def write(self, file: LongFile) -> None:
        """Writes a row, whatever it was."""
        with self._store.sink() as sink:
            put_cells(sink, ITEMS_TABLE, [(file.key, _FILE, file.to_json())])
            sink.flush()

    def swap(self, expected: LongFile, file: LongFile) -> bool:
        """Writes a row if the stored one is still ``expected``. Returns whether it did."""
        return self._store.swap(ITEMS_TABLE, (file.key, b"", _FILE.encode()), expected.to_json(), file.to_json())

    def index(self) -> None:
        """Writes a row of each long file in the ledger that has none.

        Needed once, and after an import of rows from a backup.
        """
        with self._store.sink() as sink:
            put_cells(sink, ITEMS_TABLE, ((file.key, _FILE, file.to_json()) for file in self._list_known()))
            sink.flush()
            put_cells(sink, ITEMS_TABLE, [(LONG_FILE, _INDEXED, b"")])
            sink.flush()

    def _list_known(self) -> Iterator[LongFile]:
        """Yields the long files in the ledger that are known by the hash of their content."""
        last = b""
        for row in Ledger(self._store).read_rows(("queued", "running", "done", "failed")):
            item = row.item
            if item is not None and is_long(item.length) and item.digest != DRAWN and item.file_id != last:
                last = item.file_id
                yield LongFile(item.length, last, last.hex())


def is_long(length: int) -> bool:
    """Returns whether a file of so many uncompressed bytes is a long one."""
    return length >= LONG_BYTES


def make_void(file: LongFile) -> LongFile:
    """Returns the row of a file under whose identity nothing is queued after all."""
    return replace(file, is_void=True)


def _parse(length: int, file_id: bytes, cells: Cells) -> LongFile | None:
    assert len(file_id) == FILE_ID_BYTES
    value = cells.get(_FILE)
    return None if value is None else LongFile(length, file_id, **orjson.loads(value))


def _length_key(length: int) -> bytes:
    return LONG_FILE + length.to_bytes(_LENGTH_BYTES, "big")
