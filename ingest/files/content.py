"""Opens the content of a file: what is left when compression, archive and container are taken away.

A plain file is read as it is. Everything else is read from its beginning, because nothing can be read from its middle:
offsets count the bytes of the content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import FileIO

from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path

from .archives.archive import ARCHIVE_BYTES, find_archive_kind, is_archive, open_member
from .archives.members import ArchiveFault
from .compressions.blocks import BlockReader
from .compressions.table import MAGIC_BYTES, find_compression
from .containers.container import BEGINNING_BYTES, find_container
from .open_file import OpenLog, name_log

_READ_BYTES = 256 << 10


def open_content(file: FileIO, block_bytes: int, size: int | None = None) -> BlockReader | None:
    """Opens the content of an open file; None if its bytes are lines as they are, then it is at its beginning.

    Blocks are of about ``block_bytes`` bytes. Of a compressed file only the first ``size`` bytes are read. Raises
    ``InputFileError`` for an archive of which no member is named.
    """
    member = file.member if isinstance(file, OpenLog) else ""
    try:
        content = _Peeked(open_member(file, member) if member else _FileBlocks(file, size))
    except ArchiveFault as error:
        raise InputFileError(f"{show_path(name_log(file))}: {error}") from error
    is_plain = not member
    if compression := find_compression(content.peek(MAGIC_BYTES)):
        content, is_plain = _Peeked(compression[1](content.read_block, block_bytes), content), False
    if kind := find_archive_kind(content.peek(ARCHIVE_BYTES)):
        what = "an archive in an archive; unpack it and load its files" if member else "its members are read one by one"
        raise InputFileError(f"{show_path(name_log(file))}: is {kind}: {what}")
    if container := find_container(content.peek(BEGINNING_BYTES), file if is_plain else None):
        return _Peeked(container(content), content)
    if is_plain:
        file.seek(0)
        return None
    return content


def can_be_told_by_beginning(file: FileIO) -> bool:
    """Returns whether the lines at the beginning of an open file can be read without the file's end."""
    beginning = os.pread(file.fileno(), BEGINNING_BYTES, 0)
    return not is_archive(file) and find_container(beginning, None) is None


class _FileBlocks:
    """Iterates over the first ``size`` bytes of a file, or all."""

    fault = ""
    breaks_off = False

    def __init__(self, file: FileIO, size: int | None) -> None:
        self._file, self._size = file, size

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        left = self._size
        while block := self._file.read(_READ_BYTES if left is None else min(_READ_BYTES, left)):
            left = None if left is None else left - len(block)
            yield block


class _Peeked:
    """Iterates over blocks of which the first may be looked at before. ``below`` is what they are read from, if any."""

    def __init__(self, blocks: BlockReader, below: BlockReader | None = None) -> None:
        self._blocks, self._below = blocks, below
        self._rest = iter(blocks)
        self._first: list[bytes] = []
        self._size = 0

    @property
    def fault(self) -> str:
        """The fault of the content, or of the file that it is read from."""
        return self._blocks.fault or (self._below.fault if self._below is not None else "")

    @property
    def breaks_off(self) -> bool:
        return self._blocks.breaks_off if self._blocks.fault or self._below is None else self._below.breaks_off

    def peek(self, size: int) -> bytes:
        """Returns the first ``size`` bytes, or all if there are fewer. Nothing may have been read before."""
        while self._size < size and (block := self._take()):
            self._first.append(block)
            self._size += len(block)
        return b"".join(self._first)[:size]

    def read_block(self) -> bytes:
        """Returns the next block; empty at the end."""
        return self._first.pop(0) if self._first else self._take()

    def _take(self) -> bytes:
        """Returns the next block that is not empty; an empty one stands for the end."""
        return next(filter(None, self._rest), b"")

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.read_block, b"")
