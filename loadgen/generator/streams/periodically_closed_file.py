"""A file that is closed every second while it grows, so that a master notices the lines that were added.

``watchfloor master`` takes a file when its writer has closed it; a file that stays open for hours is taken only then.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import show_path

CLOSE_SECONDS = 1.0


class PeriodicallyClosedFile:
    """A file for writing that is closed and reopened every second. An existing file is emptied.

    Raises UserError if it cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = self._open_file("wb")
        self._closed_at = time.monotonic()

    def write(self, data: memoryview) -> int:
        return self._file.write(data)

    def flush(self) -> None:
        """Flushes the file; closes and reopens it if it was last closed a second ago or earlier."""
        self._file.flush()
        if time.monotonic() - self._closed_at >= CLOSE_SECONDS:
            self._file.close()
            self._file = self._open_file("ab")
            self._closed_at = time.monotonic()

    def _open_file(self, mode: str) -> BinaryIO:
        try:
            return Path(self._path).open(mode)  # type: ignore[return-value]
        except OSError as error:
            raise UserError(f"cannot write {show_path(self._path)}: {error.strerror}") from None

    def __enter__(self) -> PeriodicallyClosedFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
