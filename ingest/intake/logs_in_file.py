"""Recognises the logs in a file: the file itself, or the members of an archive, each as a log of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watchfloor.ingest.files.archives.archive import list_members
from watchfloor.ingest.files.archives.members import ArchiveFault
from watchfloor.ingest.files.content import can_be_told_by_beginning
from watchfloor.ingest.files.open_file import OpenLog, join_member, open_log_file
from watchfloor.ingest.parsing.format import SniffResult
from watchfloor.ingest.parsing.sample import SAMPLE_BYTES
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

from .sniff import sniff_file

SNIFFED_BYTES = SAMPLE_BYTES + (4 << 20)
"""The beginning of a remote file that is fetched to recognise it: more than formats read of a file."""
_MOST_PROBLEMS = 5


@dataclass(frozen=True)
class LogsInFile:
    """The logs in a file, by member (empty for the file itself), and why other members are left out, a line each."""

    logs: dict[str, SniffResult]
    left_out: tuple[str, ...] = ()


def sniff_logs_at(path: str, feed: str | None, known: Mapping[str, Source]) -> LogsInFile:
    """Recognises the logs in the file at a path or an address, as ``sniff_logs`` does.

    Of a large remote file it fetches the beginning alone, if that tells.
    """
    with open_log_file(path, most=SNIFFED_BYTES) as file:
        if not file.is_cut or can_be_told_by_beginning(file):
            return sniff_logs(file, feed, known)
    with open_log_file(path) as file:
        return sniff_logs(file, feed, known)


def sniff_logs(file: OpenLog, feed: str | None, known: Mapping[str, Source]) -> LogsInFile:
    """Recognises the logs in an open file, as ``sniff_file`` does one.

    Members that are no logs are left out. Raises ``InputFileError`` also if no member is a log.
    """
    path = str(file.name)
    try:
        members = list_members(file)
    except ArchiveFault as error:
        raise InputFileError(f"{show_path(path)}: {error}") from error
    if members is None:
        return LogsInFile({"": sniff_file(file, feed, known)})
    logs: dict[str, SniffResult] = {}
    problems: list[str] = []
    for member in members:
        file.member = member.name
        try:
            if member.problem:
                raise InputFileError(f"{show_path(join_member(path, member.name))}: {member.problem}")
            logs[member.name] = sniff_file(file, feed, known)
        except InputFileError as error:
            problems.append(str(error))
    file.member = ""
    if not logs:
        raise InputFileError(_describe_problems(path, problems))
    return LogsInFile(logs, tuple(problems))


def _describe_problems(path: str, problems: list[str]) -> str:
    """Returns why an archive without a log is refused."""
    if not problems:
        return f"{show_path(path)}: is an archive without files; leave it out"
    more = len(problems) - _MOST_PROBLEMS
    return "; ".join(problems[:_MOST_PROBLEMS]) + (f"; and {more} more members like these" if more > 0 else "")
