"""A lock on a file, which only one process of a machine holds at a time."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from watchfloor.schema.errors import WatchfloorError

from .private_files import make_private_folder, open_private

_POLL_SECONDS = 0.1


@contextmanager
def hold_file_lock(path: Path, busy: WatchfloorError, seconds: float = 0) -> Iterator[None]:
    """Holds the lock on the file ``path`` until the ``with`` block is left or the process ends.

    The file is created if it is missing, and other users cannot open it.

    Raises ``busy`` if another process still holds the lock after ``seconds``.
    """
    make_private_folder(path.parent)
    deadline = time.monotonic() + seconds
    with open_private(path, "w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= deadline:
                    raise busy from None
                time.sleep(_POLL_SECONDS)
        yield
