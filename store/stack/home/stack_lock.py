"""The lock of a stack: whoever starts or stops its servers holds it."""

from __future__ import annotations

from contextlib import AbstractContextManager

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.file_lock import hold_file_lock


class StackBusyError(StackError):
    """Another process starts or stops servers of this stack."""


def hold_stack_lock(settings: Settings, seconds: float) -> AbstractContextManager[None]:
    """Returns the lock of a stack, as a context manager that waits for it for ``seconds`` at most.

    ``up`` and ``down`` hold it from their beginning to their end, the supervisor while it starts servers again.
    """
    busy = StackBusyError(f"another up or down has been at work in {show_path(settings.home)} for too long")
    return hold_file_lock(settings.home / "run" / "lock", busy, seconds)
