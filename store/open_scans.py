"""The scans that one query has open, so that they can be ended all at once from outside."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from watchfloor.store.bridge.streams import ScanStream


class OpenScans:
    """Open scans that may be ended together. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[ScanStream] = set()
        self._ended = False

    @contextmanager
    def hold_scan(self, scan: ScanStream) -> Iterator[Iterable[pa.RecordBatch]]:
        """Yields the scan and closes it when the ``with`` block is left.

        ``end_scans`` closes it earlier; if that was called before, the scan is closed at once.
        """
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

    def end_scans(self) -> None:
        """Ends all scans, on the servers too. A thread that waits for a batch of such a scan gets a ``StoreError``."""
        with self._lock:
            self._ended = True
            scans = list(self._open)
        for scan in scans:
            scan.close()
