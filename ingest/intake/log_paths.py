"""Finds the files that a user has named by paths or patterns."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from watchfloor.ingest.files.open_file import open_log_file, resolve_path, stat_log_file
from watchfloor.ingest.files.remote.remote_log import find_remote_files, read_remote_state
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.addresses import is_address
from watchfloor.schema.files.paths import find_path, show_path

_MOST_SHOWN = 20


def expand_paths(paths: Sequence[str | Path]) -> tuple[str, ...]:
    """Returns the files that paths and patterns name, each once, with links in the paths resolved.

    A path may be written as ``show_path`` shows it.

    Raises ``InputFileError``, which names all files that cannot be read.
    """
    found: dict[str, None] = {}
    problems = []
    for path in paths:
        given = os.fspath(path)
        if is_address(given):
            problems += _find_remote(given, found)
            continue
        given = find_path(given)
        names = [given]
        if glob.has_magic(given) and not os.path.lexists(given):
            names = sorted(glob.glob(given, recursive=True))  # noqa: PTH207 - a pattern may be absolute
        if not names:
            problems.append(f"{show_path(given)}: no file fits this pattern")
        for name in names:
            try:
                path = resolve_path(name)
                open_log_file(path).close()
                found[path] = None
            except InputFileError as error:
                problems.append(str(error))
    refuse_files(problems)
    if not found:
        raise InputFileError("no files were named")
    return tuple(found)


def _find_remote(pattern: str, found: dict[str, None]) -> list[str]:
    """Adds the remote files that an address or a pattern names to ``found``; returns what is wrong with others."""
    try:
        names = find_remote_files(pattern)
    except InputFileError as error:
        return [str(error)]
    problems = [] if names else [f"{show_path(pattern)}: no file is there, or fits this pattern"]
    for name in names:
        try:
            read_remote_state(name)
            found[name] = None
        except InputFileError as error:
            problems.append(str(error))
    return problems


def refuse_files(problems: Sequence[str]) -> None:
    """Raises ``InputFileError`` with the problems of files, if there are any."""
    if problems:
        more = f"; and {len(problems) - _MOST_SHOWN:,} more files" if len(problems) > _MOST_SHOWN else ""
        raise InputFileError("; ".join(problems[:_MOST_SHOWN]) + more)


def sum_sizes(paths: Sequence[str]) -> int:
    """Returns the size of all files together."""
    return sum(found.st_size for path in paths if (found := stat_log_file(path)) is not None)
