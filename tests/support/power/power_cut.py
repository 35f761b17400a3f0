"""A power cut, simulated: of a folder remains only what processes had forced to the disk.

``recorded`` has processes that are started note what they force (``syncs.c``). ``cut_power`` then takes away what POSIX
does not promise: bytes of a file after its last fsync, and names in a folder after the folder's last fsync. A real file
system would keep some of it. Files may only have been appended to; what was removed stays removed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_SOURCE = Path(__file__).with_name("syncs.c")


@contextmanager
def recorded(folder: Path) -> Iterator[Path]:
    """Yields the file in which processes that are started meanwhile note what they force to the disk."""
    library, notes = folder / "syncs.so", folder / "syncs"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, _SOURCE, "-ldl"], check=True)
    os.environ.update(LD_PRELOAD=str(library), WATCHFLOOR_SYNCS=str(notes))
    try:
        yield notes
    finally:
        del os.environ["LD_PRELOAD"], os.environ["WATCHFLOOR_SYNCS"]


@dataclass
class Disk:
    """What is on the disk by inode: the sizes of files, and the names in folders with their inodes."""

    sizes: dict[int, int] = field(default_factory=dict)
    folders: dict[int, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, notes: Path) -> Disk:
        disk = cls()
        for line in notes.read_bytes().removesuffix(b"\n").split(b"\n"):
            kind, number, *rest = line.split(b" ", 2)
            inode = int(number)
            if kind == b"F":
                disk.sizes[inode] = int(rest[0])
            elif kind == b"D":
                entries = (entry.rsplit(b"/", 1) for entry in rest[0].split(b"\0")[:-1])
                disk.folders[inode] = {os.fsdecode(name): int(number) for name, number in entries}
            else:
                disk.sizes.pop(inode, None)
                disk.folders.pop(inode, None)
        return disk


def cut_end(path: Path, size: int) -> bool:
    """Cuts a file off after ``size`` bytes. Returns whether it was longer."""
    before = path.stat()
    if before.st_size <= size:
        return False
    path.chmod(0o600)
    os.truncate(path, size)
    path.chmod(before.st_mode)
    return True


def cut_power(folder: Path, disk: Disk) -> list[str]:
    """Replaces a folder by what is on the disk of it, and returns the paths of what was lost, whole or at its end.

    All who have files in it open must have ended. The folder itself must be on the disk.
    """
    before = folder.with_name(folder.name + ".before")
    folder.rename(before)
    living = {path.stat().st_ino: path for path in before.rglob("*")}
    kept: set[int] = set()
    lost: list[str] = []

    def restore(inode: int, path: Path) -> None:
        kept.add(inode)
        if living[inode].is_dir():
            path.mkdir()
            for name, entry in disk.folders.get(inode, {}).items():
                if entry in living:
                    restore(entry, path / name)
            return
        size = disk.sizes.get(inode, 0)
        shutil.copy2(living[inode], path)
        if cut_end(path, size):
            lost.append(str(path.relative_to(folder)))

    living[before.stat().st_ino] = before
    restore(before.stat().st_ino, folder)
    lost += [str(path.relative_to(before)) for inode, path in living.items() if inode not in kept]
    shutil.rmtree(before)
    return sorted(lost)
