"""The members of archives, and the bounds that keep hostile archives from taking a machine."""

from __future__ import annotations

import os
from dataclasses import dataclass

MAX_MEMBERS = 10_000
MAX_RATIO = 1_100
"""DEFLATE compresses to 1/1032 at best; members that are more than this together lie over each other."""
MOST_NAME_BYTES = 4_096
SMALL_BYTES = 1 << 30
"""Archives whose members are less than this together may have any ratio."""


class ArchiveFault(Exception):
    """An archive, or a member of it, that cannot be read; the text says why and what to do."""


@dataclass(frozen=True)
class Member:
    """A file in an archive. ``problem`` says why it cannot be read; empty if nothing is known to be wrong."""

    name: str
    problem: str = ""


def check_sizes(count: int, unpacked: int, packed: int) -> None:
    """Raises ``ArchiveFault`` for an archive of ``packed`` bytes with more members or bytes in it than are read."""
    if count > MAX_MEMBERS:
        raise ArchiveFault(f"has more than {MAX_MEMBERS:,} members; unpack it and load its files")
    if unpacked > max(SMALL_BYTES, MAX_RATIO * packed):
        raise ArchiveFault(
            f"unpacks to more than {MAX_RATIO:,} times its size; if that is right, unpack it and load its files"
        )


def check_name(member: Member) -> Member:
    """Returns a member as it is, or with the problem that its name is none that the queue can carry."""
    if len(os.fsencode(member.name)) <= MOST_NAME_BYTES and "\0" not in member.name:
        return member
    return Member(
        f"{member.name[:60]}…", "has a name that is too long, or holds a zero byte; unpack it and load its files"
    )


class DistinctNames:
    """Gives names that came before a number behind them, as an archive may hold one name twice."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def add(self, name: str) -> str:
        """Returns the name that stands for the next member, whose own name is ``name``."""
        distinct, number = name, 2
        while distinct in self._seen:
            distinct, number = f"{name}#{number}", number + 1
        self._seen.add(distinct)
        return distinct


def is_about_macos(name: str) -> bool:
    """Returns true for the files that macOS adds to archives, which hold nothing of what was packed."""
    base = name.rpartition("/")[2]
    return name.startswith("__MACOSX/") or base.startswith("._") or base == ".DS_Store"
