"""Opens the file or pipe that the data of a command goes to."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import show_path


@contextmanager
def open_output(path: str | None) -> Iterator[BinaryIO]:
    """Opens the file of this name, or standard output for None and ``-``.

    Raises ``UserError`` if the file cannot be written.
    """
    if path is None or path == "-":
        with _buffer_writes(sys.stdout.buffer) as out:
            yield out
        return
    try:
        stream = Path(path).open("wb")  # noqa: SIM115 (closed below; only opening it may be the user's mistake)
    except OSError as error:
        raise UserError(f"cannot write {show_path(path)}: {error.strerror}") from None
    with stream:
        yield stream


@contextmanager
def _buffer_writes(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Yields ``stream`` with a buffer if it has none.

    Standard output has no buffer under ``python -u``: there a write that a signal interrupts would end early.
    """
    if not isinstance(stream, io.RawIOBase):
        yield stream
        return
    buffered = io.BufferedWriter(stream)
    try:
        yield buffered
    finally:
        buffered.detach()  # flushes it, and leaves standard output open
