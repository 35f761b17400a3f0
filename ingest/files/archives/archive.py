"""Tells archives by their first bytes, lists their members and opens one of them."""

from __future__ import annotations

import os
from functools import partial
from io import FileIO

from watchfloor.ingest.files.compressions.blocks import BlockReader
from watchfloor.ingest.files.compressions.table import MAGIC_BYTES, find_compression

from .members import Member, check_name
from .tar_archive import TarMember, TarSource, is_tar, list_tar_members
from .zip_archive import ZIP_MAGICS, ZipMember, list_zip_members

_READ_BYTES = 256 << 10
ARCHIVE_BYTES = 512
"""The first bytes by which an archive is told."""


def find_archive_kind(beginning: bytes) -> str:
    """Returns the kind of the archive whose content begins so, with its article; empty if it is none."""
    if beginning.startswith(ZIP_MAGICS):
        return "a zip archive"
    return "a tar archive" if is_tar(beginning) else ""


def is_archive(file: FileIO) -> bool:
    """Returns whether an open file is an archive, by its beginning."""
    return _begins_as_zip(file) or _open_tar(file) is not None


def list_members(file: FileIO) -> list[Member] | None:
    """Returns the members of an open archive; None if the file is no archive. Raises ``ArchiveFault``."""
    size = os.fstat(file.fileno()).st_size
    if _begins_as_zip(file):
        return list(map(check_name, list_zip_members(file, size)))
    source = _open_tar(file)
    return None if source is None else list(map(check_name, list_tar_members(source, size)))


def open_member(file: FileIO, name: str) -> BlockReader:
    """Opens a member of an open archive, as it is in there. Raises ``ArchiveFault`` if there is no such member."""
    if _begins_as_zip(file):
        return ZipMember(file, name)
    source = _open_tar(file)
    return TarMember(file if source is None else source, name, os.fstat(file.fileno()).st_size)


def _begins_as_zip(file: FileIO) -> bool:
    return os.pread(file.fileno(), MAGIC_BYTES, 0).startswith(ZIP_MAGICS)


def _open_tar(file: FileIO) -> TarSource | None:
    """Returns the content of a tar archive, plain or compressed; None if the file is none."""
    beginning = os.pread(file.fileno(), ARCHIVE_BYTES, 0)
    compression = find_compression(beginning)
    if compression is None:
        return file if is_tar(beginning) else None
    first = next(iter(_unpack(file)), b"")
    return _unpack(file) if is_tar(first) else None


def _unpack(file: FileIO) -> BlockReader:
    """Returns the unpacked blocks of a compressed file."""
    file.seek(0)
    compression = find_compression(os.pread(file.fileno(), MAGIC_BYTES, 0))
    assert compression is not None
    return compression[1](partial(file.read, _READ_BYTES), _READ_BYTES)
