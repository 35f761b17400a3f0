"""Hashes a file while the connections are opened that its queueing needs."""

from __future__ import annotations

import threading
from contextlib import suppress
from io import FileIO

from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.addresses import is_address

from .content import open_content
from .file_scan import WHOLE, FileScan, QueuedMark, is_as_known, scan_file
from .open_file import open_log_file, read_state

_PROBE_BYTES = 1 << 20


class ScanAhead:
    """Scans the file ``path``, in a thread of its own, if it is on this host, not packed and under ``below`` bytes."""

    def __init__(self, path: str, below: int) -> None:
        self._path, self._below = path, below
        self._scan: FileScan | None = None
        # The thread ends with the file, or with the process: nothing waits for it that does not need the scan.
        self._thread = threading.Thread(target=self._run, name="scan-ahead", daemon=True)
        if not is_address(path):
            self._thread.start()

    def take(self, file: FileIO, mark: QueuedMark | None) -> FileScan | None:
        """Returns the scan of an open file, as one range, if the file is still as it was then; otherwise None.

        Returns None too if it may have grown from the part that ``mark`` describes, so that it must be compared.
        """
        if file.name != self._path or self._thread.ident is None:
            return None
        self._thread.join()
        scan, self._scan = self._scan, None
        if scan is None or not is_as_known(scan, read_state(file)):
            return None
        is_another = mark is None or mark.length > scan.length
        return scan if is_another or (mark and mark.content == scan.file_id) else None

    def _run(self) -> None:
        with suppress(InputFileError, OSError), open_log_file(self._path) as file:
            size = read_state(file).st_size
            if size < self._below and open_content(file, _PROBE_BYTES, size) is None:
                self._scan = scan_file(file, WHOLE)
