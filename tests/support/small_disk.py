"""A small file system of a test's own, which the test fills."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_STEP = 1 << 20


@contextmanager
def mount_small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Yields a folder on a file system in memory of ``size`` bytes. Skips the test where mounting is not permitted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a file system of limited size cannot be mounted here: {error}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def count_free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


@contextmanager
def fill_disk(folder: Path, leave: int = 0) -> Iterator[Callable[[], None]]:
    """Fills a file system, but for ``leave`` bytes, until the block is left.

    Yields a function that fills it again: servers may have deleted files since.
    """
    path = folder / "filler"

    def fill() -> None:
        with path.open("ab", buffering=0) as file:
            while (room := count_free(folder) - leave) > 0:
                try:
                    file.write(bytes(min(room, _STEP)))
                except OSError:
                    break

    try:
        fill()
        yield fill
    finally:
        path.unlink()
