"""Knows a long file again by its content, if its identity was drawn.

A load may break off before it knows the content of what it has queued. Whoever offers a file of the same length next
finds that out: by the file itself if it is still as it was, and otherwise by what was read of it. Each item that is
done has the hash of its bytes in the ledger. If the offered file has these bytes in all items that are done, it takes
the place of the other: nothing is in the store that it lacks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import FileIO

from watchfloor.ingest.files.content import open_content
from watchfloor.ingest.files.file_scan import WHOLE, FileScan, QueuedMark, hash_ranges, is_as_known, scan_file
from watchfloor.ingest.files.open_file import open_log_file, read_state
from watchfloor.ingest.queue.item import BLAKE3, DRAWN, WorkItem
from watchfloor.ingest.records.ledger import Ledger, LedgerRow, SeenFile
from watchfloor.ingest.records.long_files import LongFile, LongFiles, make_void
from watchfloor.schema.errors import InputFileError
from watchfloor.store.runtime.process_identity import ProcessIdentity

SILENT_SECONDS = 15.0
"""A process of another host that gives no sign of life for so long finds no content out any more."""
_LOOK_SECONDS = 0.3
_PROBE_BYTES = 1 << 20


class LongFileFinder:
    """Finds the identities of long files. Raises ``StoreError``, and ``InputFileError`` if an offered file changes."""

    def __init__(self, long_files: LongFiles, ledger: Ledger) -> None:
        self._long_files, self._ledger = long_files, ledger

    def identify(self, file: FileIO, scan: FileScan) -> bytes | None:
        """Returns the identity that was drawn for the content of an open long file; None if none was.

        If none was, the file has a row in the ledger afterwards, under the hash of its content.
        """
        own = LongFile(scan.length, scan.file_id, scan.file_id.hex())
        rows = self._long_files.read(scan.length)
        if own not in rows:
            self._long_files.write(own)
            rows = self._long_files.read(scan.length)
        for row in rows:
            if not row.content:
                row = self._settle(row, file, lambda: scan.file_id)
            if row.content == own.content and row.file_id != own.file_id:
                self._long_files.swap(own, make_void(own))
                return row.file_id
        return None

    def make_mark(self, file: FileIO, seen: SeenFile) -> QueuedMark | None:
        """Returns the mark of the part of an open file that was queued as ``seen``; None if that is not in it."""
        file_id = bytes.fromhex(seen.file_id)
        if seen.digest != DRAWN:
            return QueuedMark(file_id, seen.length, seen.digest)
        row = self._long_files.find(seen.length, file_id)
        if row is not None and not row.is_settled and _has_part(file, seen.length):
            row = self._settle(row, file, lambda: scan_file(file, WHOLE, upto=seen.length).file_id)
        if row is None or not row.content:
            return None
        return QueuedMark(file_id, seen.length, BLAKE3, bytes.fromhex(row.content))

    def _settle(self, row: LongFile, file: FileIO, hash_file: Callable[[], bytes]) -> LongFile:
        """Returns the row of a file with its content, if that is known or can be found out with the open ``file``.

        ``hash_file`` returns the hash of the beginning of ``file`` that is as long as the other file.
        """
        row = self._await_other(row)
        items = [] if row.is_settled else [one for one in self._ledger.read_files([row.file_id]) if one.item]
        if not items or items[0].item is None:
            return row
        content = _hash_as_queued(items[0].item)
        if content is None and _agree(items, file):
            content = hash_file()
        if content is None:
            self._long_files.swap(row, replace(row, is_changed=True))
            return row
        known = replace(row, content=content.hex())
        return known if self._long_files.swap(row, known) else self._find_again(row)

    def _await_other(self, row: LongFile) -> LongFile:
        """Waits while another process finds the content out, and returns the row as it is afterwards."""
        sign, since = row.sign, time.monotonic()
        while not row.is_settled and not row.is_left:
            if row.sign != sign:
                sign, since = row.sign, time.monotonic()
            left = replace(row, is_left=True)
            is_silent = time.monotonic() - since > SILENT_SECONDS
            if (is_silent or ProcessIdentity.of_mark(row.by).is_gone()) and self._long_files.swap(row, left):
                return left
            time.sleep(_LOOK_SECONDS)
            row = self._find_again(row)
        return row

    def _find_again(self, row: LongFile) -> LongFile:
        return self._long_files.find(row.length, row.file_id) or make_void(row)


def _has_part(file: FileIO, length: int) -> bool:
    """Returns whether an open file is not packed and has as many bytes."""
    size = read_state(file).st_size
    return size >= length and open_content(file, _PROBE_BYTES, size) is None


def _hash_as_queued(item: WorkItem) -> bytes | None:
    """Returns the hash of the file of an item; None if it is not as it was when it was queued."""
    try:
        with open_log_file(item.path) as file:
            return scan_file(file, WHOLE).file_id if is_as_known(item, read_state(file)) else None
    except InputFileError:
        return None


def _agree(rows: Sequence[LedgerRow], file: FileIO) -> bool:
    """Returns whether an open file has the bytes of all items that are done."""
    done = [(row.item, row.end) for row in rows if row.item and row.end and row.end.state == "done"]
    done.sort(key=lambda one: one[0].start)
    return hash_ranges(file, [(item.start, item.end) for item, _ in done]) == [end.content for _, end in done]
