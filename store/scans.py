"""The scans that one query has open, so that they can be ended all at once from outside."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

import pyarrow as pa

NEXT_ROW = b"next row"
"""In the metadata of a batch of ordered blocks, in hexadecimal: no later batch has a row before this one."""
MANY_REQUESTS = 8
"""Requests at once for what may be much: several to a tablet server that has several tablets."""


class Scan(Protocol):
    """Batches that are read ahead until ``close``, which may come from any thread and more than once."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None: ...


class OpenScans:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[Scan] = set()
        self._ended = False

    @contextmanager
    def opened(self, scan: Scan) -> Iterator[Iterable[pa.RecordBatch]]:
        """Closes the scan when it is left, or before that in ``end``; one that is opened after that at once."""
        with self._lock:
            self._open.add(scan)
            ended = self._ended
        try:
            if ended:
                scan.close()
            yield scan
        finally:
            with self._lock:
                self._open.discard(scan)
            scan.close()

    def end(self) -> None:
        """Ends all scans, on the servers too; who waits for a batch of one gets a ``StoreError``."""
        with self._lock:
            self._ended = True
            scans = list(self._open)
        for scan in scans:
            scan.close()
