"""One ``up`` or ``down`` of a stack at a time."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import Settings


@contextlib.contextmanager
def alone(settings: Settings) -> Iterator[None]:
    """Keeps a second ``up`` or ``down`` of the same stack waiting, for ``up_seconds`` at most."""
    deadline = time.monotonic() + settings.up_seconds
    with (settings.home / "run" / "lock").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise StackError(f"another up or down has been at work in {settings.home} for too long") from None
                time.sleep(0.1)
        yield
