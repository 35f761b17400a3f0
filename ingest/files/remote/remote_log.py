"""Fetches remote files into files of this host that have no name and go with their descriptors (in ``TMPDIR``).

So all that reads log files reads these as well. Of a plain file a worker fetches its item's lines only: the rest of the
file is a hole. Before and after the bytes are fetched the file's state is read, so a file that changes is noticed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable

from watchfloor.schema.errors import InputFileError, UnreachableFileError
from watchfloor.schema.files.addresses import find_fault, find_fault_of_place
from watchfloor.schema.files.paths import describe_error, show_path

from .remote_systems import RemoteState, find_system

HEAD_BYTES = 1 << 20
"""The beginning of a file that is always fetched: it tells what the file is packed in."""
_SPARE_BYTES = 64 << 20


def find_remote_files(pattern: str) -> list[str]:
    """Returns the addresses of the files that a pattern or a folder names. Raises ``InputFileError``."""
    if fault := find_fault_of_place(pattern):
        raise InputFileError(f"{show_path(pattern)}: {fault}")
    return list(find_system(pattern).find_files(pattern))


def read_remote_state(address: str) -> RemoteState:
    """Returns the state of a remote file. Raises ``InputFileError``."""
    if fault := find_fault(address):
        raise InputFileError(f"{show_path(address)}: {fault}")
    return find_system(address).read_state(address)


def fetch_remote(
    address: str, span: tuple[int, int, RemoteState] | None = None, most: int | None = None
) -> tuple[int, RemoteState]:
    """Returns a descriptor of a remote file's bytes, at their places in the file, and the file's state.

    With ``span`` only the beginning and the bytes in [start, end) are fetched, if the file's state is still the given
    one. With ``most`` only so many bytes are fetched, and the file ends there. Raises ``UnreachableFileError`` if the
    file cannot be read, ``InputFileError`` if it changes meanwhile.
    """
    system, state = find_system(address), read_remote_state(address)
    size = state.st_size if most is None else min(most, state.st_size)
    spans: Iterable[tuple[int, int]] = [(0, size)]
    if span is not None and span[2] == state:
        start, end, _ = span
        spans = [(0, HEAD_BYTES), (max(start, HEAD_BYTES), end)] if end > HEAD_BYTES else [(0, HEAD_BYTES)]
    _check_room(address, sum(end - start for start, end in spans))
    try:
        with tempfile.TemporaryFile(buffering=0) as spool:
            spool.truncate(size)
            for start, end in spans:
                system.fetch_range(address, min(start, size), min(end, size), spool.fileno())
            if system.read_state(address) != state:
                raise InputFileError(
                    f"{show_path(address)}: changed while it was fetched; give it again when its writer is done"
                )
            return os.dup(spool.fileno()), state
    except OSError as error:
        raise UnreachableFileError(
            show_path(address), f"it cannot be put into {tempfile.gettempdir()}: {describe_error(error)}"
        ) from error


def _check_room(address: str, needed: int) -> None:
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < needed + _SPARE_BYTES:
        raise UnreachableFileError(
            show_path(address), f"{folder} has no room for {needed:,} bytes of it: set TMPDIR to a folder with more"
        )
