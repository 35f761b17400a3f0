"""A long new file that is queued before it was hashed: draws its identity, and finds its content out afterwards."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from io import FileIO

from watchfloor.ingest.files.content import open_content
from watchfloor.ingest.files.open_file import OpenLog, read_state
from watchfloor.ingest.queue.item import FILE_ID_BYTES
from watchfloor.ingest.records.long_files import LongFile, LongFiles, is_long, make_void
from watchfloor.schema.errors import InputFileError
from watchfloor.store.runtime.process_identity import ProcessIdentity

_BEAT_SECONDS = 2.0
_NICENESS = 10
_PROBE_BYTES = 1 << 20


def can_be_early(file: FileIO) -> bool:
    """Returns whether an open file is long, on this host, and not packed."""
    size = read_state(file).st_size
    is_here = isinstance(file, OpenLog) and file.remote is None and not file.member
    return is_here and is_long(size) and open_content(file, _PROBE_BYTES, size) is None


class EarlyFile:
    """A file whose content this process finds out. ``row`` is its row in the ledger."""

    def __init__(self, long_files: LongFiles, row: LongFile) -> None:
        self._long_files, self.row = long_files, row

    @classmethod
    def draw_identity(cls, long_files: LongFiles, length: int) -> EarlyFile | None:
        """Draws the identity of a file. Returns None if the file may be known, as one of its length is."""
        if long_files.read(length):
            return None
        row = LongFile(length, secrets.token_bytes(FILE_ID_BYTES), by=ProcessIdentity.of_pid().mark)
        long_files.write(row)
        if any(other.file_id != row.file_id for other in long_files.read(length)):
            # Another process queues a file of this length at the same moment. It sees this row, and may wait for it.
            long_files.swap(row, make_void(row))
            return None
        return cls(long_files, row)

    def settle(self, name: str, find_content: Callable[[], bytes]) -> None:
        """Records the content, whose hash ``find_content`` returns, and gives signs of life until then.

        Raises ``InputFileError`` if the file ``name`` has changed, or if another process has taken it over because this
        one stood still.
        """
        with ThreadPoolExecutor(1, "content") as pool:
            finding = pool.submit(_run_gently, find_content)
            try:
                content = self._await_content(name, finding)
            except InputFileError:
                self._long_files.swap(self.row, replace(self.row, is_left=True, is_changed=True))
                raise
        self._replace_row(name, replace(self.row, content=content.hex()))

    def _await_content(self, name: str, finding: Future[bytes]) -> bytes:
        while not wait([finding], _BEAT_SECONDS).done:
            self._replace_row(name, replace(self.row, sign=self.row.sign + 1))
        return finding.result()

    def _replace_row(self, name: str, row: LongFile) -> None:
        if not self._long_files.swap(self.row, row):
            raise InputFileError(f"{name}: another load has taken it over, as this one stood still; load it again")
        self.row = row


def _run_gently(find_content: Callable[[], bytes]) -> bytes:
    """Calls a function in this thread, which leaves the processors to others: nobody waits for a hash."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
    return find_content()
