"""Reads the members of tar archives, plain or compressed, in one pass and in bounded memory.

The headers are parsed here, because the standard library's module takes as much memory for a header as it says of
itself.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import FileIO
from typing import Protocol

from watchfloor.ingest.files.compressions.blocks import BlockReader

from .members import ArchiveFault, DistinctNames, Member, check_sizes, is_about_macos

_MARK, _PLACE = b"ustar", 257
_MOST_NAME_BYTES = 64 << 10
_READ_BYTES = 1 << 20
_EXTENSIONS = tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE
"""Types of headers that say more of the next one."""
_IGNORED = tarfile.GNUTYPE_LONGLINK, tarfile.XGLTYPE
_MOST_DIGITS = 19
_SPARSE = "is a sparse file, which is not read here; unpack it and load its files"
TarSource = BlockReader | FileIO
"""The unpacked blocks of a compressed archive, or the open file of a plain one."""


class _TarBreak(ArchiveFault):
    """The archive is damaged or ends where a header should be."""


def is_tar(beginning: bytes) -> bool:
    """Returns true if a file that begins so is a tar archive."""
    return beginning[_PLACE : _PLACE + len(_MARK)] == _MARK


def list_tar_members(source: TarSource, size: int) -> list[Member]:
    """Returns the files in a tar archive, in their order; ``size`` is that of the archive's file.

    If the archive breaks off, the last one stands for the rest and says so. Raises ``ArchiveFault``.
    """
    names, found = DistinctNames(), []
    try:
        for entry in _iterate_entries(_open_bytes(source), size):
            found.append(Member(names.add(entry.name), entry.problem))
            check_sizes(len(found), 0, size)
    except _TarBreak as error:
        if not found:
            raise
        found.append(Member(names.add("…"), str(error)))
    if not isinstance(source, FileIO) and source.fault:
        found.append(Member(names.add("…"), f"{source.fault}; what follows is lost, get it again"))
    return found


class TarMember:
    """Iterates over the content of a member of a tar archive. ``fault`` says afterwards why it breaks off."""

    breaks_off = True

    def __init__(self, source: TarSource, name: str, size: int) -> None:
        """``size`` is that of the archive's file."""
        self._source, self._name, self._archive_size = source, name, size
        self.fault = ""

    def __iter__(self) -> Iterator[bytes]:
        data = _open_bytes(self._source)
        names = DistinctNames()
        try:
            for entry in _iterate_entries(data, self._archive_size):
                if names.add(entry.name) != self._name:
                    continue
                left = entry.size
                while left:
                    if not (block := data.read_some(left)):
                        self.fault = "the tar archive ends early"
                        return
                    left -= len(block)
                    yield block
                return
            self.fault = "the archive has no such member"
        except ArchiveFault as error:
            self.fault = f"the archive {error}"


@dataclass(frozen=True)
class _Entry:
    name: str
    size: int
    problem: str = ""


class _Bytes(Protocol):
    """The bytes of an archive. ``at`` is the number of those before the next."""

    @property
    def at(self) -> int: ...
    def read_some(self, most: int) -> bytes:
        """Returns some of the next ``most`` bytes; none at the end."""

    def skip_to(self, place: int) -> None:
        """Passes over the bytes before ``place``, as far as there are any."""


class _FileBytes:
    """The bytes of a plain archive."""

    def __init__(self, file: FileIO) -> None:
        file.seek(0)
        self._file = file

    @property
    def at(self) -> int:
        return self._file.tell()

    def read_some(self, most: int) -> bytes:
        return self._file.read(min(most, _READ_BYTES))

    def skip_to(self, place: int) -> None:
        self._file.seek(place)


class _StreamBytes:
    """The bytes of a compressed archive."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks, self._rest = iter(blocks), memoryview(b"")
        self.at = 0

    def read_some(self, most: int) -> bytes:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return b""
            self._rest = memoryview(block)
        piece, self._rest = bytes(self._rest[:most]), self._rest[most:]
        self.at += len(piece)
        return piece

    def skip_to(self, place: int) -> None:
        while self.at < place and self.read_some(min(place - self.at, _READ_BYTES)):
            pass


def _open_bytes(source: TarSource) -> _Bytes:
    return _FileBytes(source) if isinstance(source, FileIO) else _StreamBytes(source)


def _read(data: _Bytes, size: int) -> bytes:
    """Returns the next ``size`` bytes; fewer at the end of the archive."""
    pieces = []
    while size and (piece := data.read_some(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _iterate_entries(data: _Bytes, archive_size: int) -> Iterator[_Entry]:
    """Yields the files of an archive; the caller may read an entry's content before it asks for the next."""
    records: dict[bytes, bytes] = {}
    while (header := _read_header(data)) is not None:
        if header.type in _EXTENSIONS:
            text = _read_extension(data, header.size)
            is_name = header.type == tarfile.GNUTYPE_LONGNAME
            records |= {b"path": text.rstrip(b"\0")} if is_name else _read_pax_records(text)
            continue
        if header.type in _IGNORED:
            data.skip_to(data.at + _round_up(header.size))
            continue
        size = _read_number(records.get(b"size", b""), header.size)
        name = records[b"path"].decode("utf-8", "surrogateescape") if b"path" in records else header.name
        end = data.at + _round_up(size)
        check_sizes(0, end, archive_size)
        if header.isreg() and not is_about_macos(name):
            yield _Entry(name, size, _SPARSE if header.type == tarfile.GNUTYPE_SPARSE or _is_sparse(records) else "")
        records = {}
        data.skip_to(end)


def _is_sparse(records: dict[bytes, bytes]) -> bool:
    return any(key.startswith(b"GNU.sparse.") for key in records)


def _read_header(data: _Bytes) -> tarfile.TarInfo | None:
    """Returns the next header; None at the end of the archive. Raises ``ArchiveFault``."""
    block = _read(data, tarfile.BLOCKSIZE)
    if not block.strip(b"\0"):
        return None
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise _TarBreak(f"is damaged or cut off here ({error}); get it again") from error
    if not 0 <= header.size < 1 << 62:
        raise _TarBreak("is damaged (a member's size cannot be right); get it again")
    return header


def _read_extension(data: _Bytes, size: int) -> bytes:
    """Returns the content of a header that belongs to the next one."""
    if size > _MOST_NAME_BYTES:
        raise ArchiveFault(f"has a header of {size:,} bytes; unpack it and load its files")
    return _read(data, _round_up(size))[:size]


def _read_pax_records(text: bytes) -> dict[bytes, bytes]:
    """Returns the records ``LENGTH KEY=VALUE`` of an extended header, as far as they are well formed."""
    records = {}
    while text:
        length, _, _ = text.partition(b" ")
        end = _read_number(length, 0)
        if not 0 < end <= len(text):
            break
        key, found, value = text[len(length) + 1 : end].rstrip(b"\n").partition(b"=")
        if found:
            records[key] = value
        text = text[end:]
    return records


def _read_number(text: bytes, otherwise: int) -> int:
    return int(text) if text.isdigit() and len(text) < _MOST_DIGITS else otherwise


def _round_up(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
