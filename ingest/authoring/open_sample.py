"""Opens the log that a user names to be looked at: a file, or a member of an archive as if that were a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from watchfloor.ingest.files.archives.archive import list_members
from watchfloor.ingest.files.archives.members import ArchiveFault, Member
from watchfloor.ingest.files.open_file import OpenLog, join_member, open_log_file, resolve_path
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.addresses import is_address
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.text import list_names


@contextmanager
def open_sample(path: str | Path) -> Iterator[OpenLog]:
    """Yields the open log that ``path`` names; of an archive without a member's name its first readable member.

    Raises ``InputFileError`` if there is no such file or member, or if no member can be read.
    """
    archive, member = _split_member(resolve_path(path))
    with open_log_file(archive) as file:
        try:
            members = list_members(file)
        except ArchiveFault as error:
            raise InputFileError(f"{show_path(archive)}: {error}") from error
        if members is not None:
            file.member = _choose_member(archive, members, member)
        elif member:
            raise InputFileError(f"{show_path(archive)}: is no archive, so it has no {show_path(member)}")
        yield file


def _split_member(path: str) -> tuple[str, str]:
    """Returns the part of a path that is a file, and what follows it; the path itself if no part of it is one.

    Of a remote archive the first readable member is taken.
    """
    if is_address(path):
        return path, ""
    named = Path(path)
    above = next((part for part in (named, *named.parents) if part.exists()), named)
    return (str(above), path[len(str(above)) + 1 :]) if above.is_file() else (path, "")


def _choose_member(archive: str, members: list[Member], name: str) -> str:
    named = [member for member in members if member.name == name] if name else members
    if not named:
        names = list_names([show_path(member.name) for member in members])
        problem = f"has no member {show_path(name)}; it has {names}" if members else "is an archive without files"
        raise InputFileError(f"{show_path(archive)}: {problem}")
    chosen = next((member for member in named if not member.problem), named[0])
    if chosen.problem:
        raise InputFileError(f"{show_path(join_member(archive, chosen.name))}: {chosen.problem}")
    return chosen.name
