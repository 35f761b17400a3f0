"""The hashes by which a file is known: BLAKE3, and BLAKE2b for files that earlier versions have queued.

Both are cryptographic: nobody can make a file that is taken for another one. BLAKE3 hashes on all cores but one.
"""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

from blake3 import blake3

from watchfloor.ingest.queue.item import BLAKE2B, FILE_ID_BYTES

_DAMAGED = b"\x00damaged"


class _Hasher(Protocol):
    """The part that ``hashlib`` and ``blake3`` have in common."""

    def update(self, data: memoryview, /) -> object: ...


class ContentHash:
    """The hash of a file's content so far. ``name`` is that of the hash: ``BLAKE3`` or ``BLAKE2B``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._old = hashlib.blake2b(digest_size=FILE_ID_BYTES) if name == BLAKE2B else None
        # What uses the file starts meanwhile, and needs a core; and on two cores a single thread needs less of them.
        self._new = blake3(max_threads=max(1, len(os.sched_getaffinity(0)) - 1))

    def update(self, block: bytes | memoryview) -> None:
        """Adds the block that follows."""
        hasher: _Hasher = self._new if self._old is None else self._old
        hasher.update(memoryview(block))

    def identify(self, is_damaged: bool = False) -> bytes:
        """Returns the identity of a file with the content so far; of one that is damaged after it, another one."""
        # The bytes that could be read of a damaged file may equal an undamaged file's content.
        if self._old is not None:
            old = self._old.copy()
            old.update(_DAMAGED if is_damaged else b"")
            return old.digest()
        new = self._new.copy()
        new.update(_DAMAGED if is_damaged else b"")
        return new.digest(length=FILE_ID_BYTES)
