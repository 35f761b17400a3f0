"""A digest of the entries of a table, or of a part of it, that depends neither on order nor on files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import BatchTransfer, call_java

_WORD = 1 << 64


@dataclass(frozen=True)
class EntryDigest:
    """The number of ``entries``, and two sums of words of their hashes, modulo 2^64 (Java's ``EntryDigest``)."""

    entries: int = 0
    first: int = 0
    second: int = 0

    def to_hex(self) -> str:
        """Returns the sums as 32 hexadecimal digits."""
        return f"{self.first:016x}{self.second:016x}"

    def __add__(self, other: EntryDigest) -> EntryDigest:
        first, second = (self.first + other.first) % _WORD, (self.second + other.second) % _WORD
        return EntryDigest(self.entries + other.entries, first, second)


class DigestCounter:
    """Adds batches of entries to a digest. Not for several threads at once."""

    def __init__(self) -> None:
        self._java: Any = jvm.java_class("watchfloor.bridge.sink.EntryDigest")()

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds entries: ``row``, ``family``, ``qualifier``, ``visibility`` and ``value``."""
        if len(batch):
            transfer = BatchTransfer()
            call_java(self._java.add, *transfer.export_batch(batch))

    @property
    def digest(self) -> EntryDigest:
        java = self._java
        return EntryDigest(int(java.entries()), int(java.first()) % _WORD, int(java.second()) % _WORD)


def digest_batches(batches: Iterable[pa.RecordBatch]) -> EntryDigest:
    """Returns the digest of the entries of all batches."""
    counter = DigestCounter()
    for batch in batches:
        counter.add(batch)
    return counter.digest
