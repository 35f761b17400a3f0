"""Reads the ledger again and again: which files are done, and when items ended."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from watchfloor.ingest.records.ledger import Ledger, LedgerRow
from watchfloor.schema.errors import OperatorError
from watchfloor.store.store import Store

_READ_SECONDS = 1.0


class LedgerWatch:
    """The latest reading of the ledger. It may be older than a pause of the store: what was done stays done."""

    def __init__(self, store: Store) -> None:
        self._ledger = Ledger(store)
        self._lock = threading.Lock()
        self._rows: tuple[LedgerRow, ...] = ()
        self._read_at = 0.0
        self._ended = threading.Event()
        # A daemon, because a read waits for as long as the store is down.
        self._thread = threading.Thread(target=self._read_again, daemon=True)

    def __enter__(self) -> LedgerWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(10)

    @property
    def rows(self) -> tuple[LedgerRow, ...]:
        with self._lock:
            return self._rows

    @property
    def read_at(self) -> float:
        """The time at which the latest reading began, in epoch seconds."""
        with self._lock:
            return self._read_at

    def find_done_files(self, sizes: Mapping[Path, int]) -> set[Path]:
        """Returns those of the files, given with their sizes in bytes, all of whose items are done."""
        done: dict[Path, int] = defaultdict(int)
        for row in self.rows:
            if row.item is not None and row.state == "done":
                done[Path(row.path)] += row.item.end - row.item.start
        return {path for path, size in sizes.items() if done[path] == size}

    def last_end(self) -> float:
        """Returns when the latest item became done, in epoch seconds; 0 if none has."""
        return max((row.end.at for row in self.rows if row.end is not None and row.state == "done"), default=0.0)

    def _read_again(self) -> None:
        while not self._ended.wait(_READ_SECONDS):
            began = time.time()
            try:
                rows = tuple(self._ledger.read_rows())
            except OperatorError:
                continue
            with self._lock:
                self._rows, self._read_at = rows, began
