"""Hashes the bytes of an item as they are read: of a file that was not hashed before, nothing else tells them later."""

from __future__ import annotations

import os
from io import FileIO

from watchfloor.ingest.files.content_hash import ContentHash
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.queue.item import BLAKE3, WorkItem
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path

_READ_BYTES = 1 << 20


class RangeHash:
    """The hash of an item's bytes so far. ``file`` is the item's, open, and is not packed."""

    def __init__(self, item: WorkItem, file: FileIO) -> None:
        self._item, self._file = item, file
        self._hash, self._at = ContentHash(BLAKE3), item.start

    def add(self, chunk: Chunk) -> None:
        """Takes a chunk of the item. Chunks come in their order; lines that are too long may be left out of them."""
        if chunk.data:
            self._read_until(chunk.offset)
            self._update(memoryview(chunk.data)[: self._item.end - self._at])

    def finish(self) -> str:
        """Returns the hash of all of the item's bytes, as hex."""
        self._read_until(self._item.end)
        return self._hash.identify().hex()

    def _read_until(self, offset: int) -> None:
        while self._at < offset:
            block = os.pread(self._file.fileno(), min(_READ_BYTES, offset - self._at), self._at)
            if not block:
                raise InputFileError(f"{show_path(self._item.log_path)}: was cut off while it was read; load it again")
            self._update(memoryview(block))

    def _update(self, block: memoryview) -> None:
        self._hash.update(block)
        self._at += len(block)
