"""Makes files and folders that no other user can open, whatever the umask of the process is."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import IO, Any, Literal

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import describe_error, show_path

UMASK = 0o077
"""The umask of every process that writes to the stack's folder by itself, such as a server."""


def open_private(path: Path, mode: Literal["w", "wb", "ab"]) -> IO[Any]:
    """Opens a file for writing like ``open``; a new file can be read by its owner alone from its first moment on."""
    return open(path, mode, opener=_open_owned)


def _open_owned(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def write_private(path: Path, content: str | bytes) -> None:
    """Replaces a file in one step by one that its owner alone can read, and returns when the disk has it.

    Raises ``StackError`` if it cannot be written; the old file then stays.
    """
    temporary = path.with_name(path.name + ".new")
    try:
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StackError(f"{show_path(path)} cannot be written: {describe_error(error)}") from error


def sync_folder(folder: Path) -> None:
    """Returns when the disk has the names of the files in ``folder``."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private_folder(path: Path) -> None:
    """Makes a folder and those above it that do not exist, each of which its owner alone can enter."""
    for folder in (*reversed(path.parents), path):
        folder.mkdir(mode=0o700, exist_ok=True)
