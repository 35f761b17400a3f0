"""Spares processes what they do not need: commands and workers pandas, workers the return of freed memory."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

WORKER_ENVIRONMENT = {
    # By default glibc gives each thread an arena, and each arena keeps the most memory that it ever had.
    "MALLOC_ARENA_MAX": "2",
    # By default Arrow's allocator soon returns memory that the next chunk needs again, which takes half of a worker's
    # system time.
    "MIMALLOC_PURGE_DELAY": "-1",
    "PYTHONUNBUFFERED": "1",
}
"""Variables with which a worker is started."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of ``mallopt(3)``
_KEPT_BYTES = 128 << 20
_LARGEST_KEPT = 32 << 20
"""Larger pieces are always given back; glibc allows no larger threshold."""


class PandasRefusal:
    """A finder of modules that finds no pandas, and leaves all others to the finders after it."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Returns None for any module but pandas, for which it raises ``ModuleNotFoundError``."""
        if name == "pandas":
            raise ModuleNotFoundError("commands and workers leave pandas out", name=name)
        return None


def leave_out_pandas() -> None:
    """Makes ``import pandas`` fail in this process, unless it is imported already.

    Arrow imports pandas, where it is installed, for the first array that it makes, which takes 0.3 s.
    """
    sys.meta_path.insert(0, PandasRefusal)


def keep_freed_memory() -> None:
    """Makes the process keep up to ``_KEPT_BYTES`` of freed memory, where the C library can (glibc).

    Otherwise each chunk of a file and each column goes back to the system when it is freed, and the next one begins
    with pages that the system has to fill with zeros.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, _KEPT_BYTES)
        set_option(_MMAP_THRESHOLD, _LARGEST_KEPT)
