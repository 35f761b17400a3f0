"""Reads the members of zip archives."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from io import FileIO

from .members import ArchiveFault, DistinctNames, Member, check_sizes, is_about_macos

ZIP_MAGICS = b"PK\x03\x04", b"PK\x05\x06"
_READ_BYTES = {
    zipfile.ZIP_STORED: 64 << 10,
    zipfile.ZIP_DEFLATED: 64 << 10,
    zipfile.ZIP_BZIP2: 4 << 10,
    zipfile.ZIP_LZMA: 4 << 10,
}
"""The bytes that are read at once by each method; 4 KB of bzip2 become at most 80 MB."""
_ENCRYPTED = 1
_FAULTS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, NotImplementedError)


def list_zip_members(file: FileIO, size: int) -> list[Member]:
    """Returns the files in a zip archive of ``size`` bytes, in their order. Raises ``ArchiveFault``."""
    with _open_zip(file) as archive:
        found = list(_name_files(archive))
    check_sizes(len(found), sum(about.file_size for _, about in found), size)
    return [Member(name, _find_problem(about)) for name, about in found]


class ZipMember:
    """Iterates over the content of a member of a zip archive. ``fault`` says afterwards why it breaks off."""

    breaks_off = True

    def __init__(self, file: FileIO, name: str) -> None:
        """Raises ``ArchiveFault`` if the archive has no such member, or if it cannot be read."""
        self.fault = ""
        self._archive = _open_zip(file)
        about = dict(_name_files(self._archive)).get(name)
        if about is None or (problem := _find_problem(about)):
            raise ArchiveFault("has no such member" if about is None else problem)
        self._about = about

    def __iter__(self) -> Iterator[bytes]:
        expected, found, size = self._about.CRC, 0, 0
        # Without one to compare with, zipfile does not throw away the last bytes when the checksum is wrong.
        del self._about.CRC
        try:
            with self._archive.open(self._about) as member:
                while block := member.read(_READ_BYTES[self._about.compress_type]):
                    found, size = zlib.crc32(block, found), size + len(block)
                    yield block
            if size != self._about.file_size:
                self.fault = "the archive's member ends early"
            elif found != expected:
                self.fault = "the archive's member is damaged (its checksum is wrong)"
        except _FAULTS as error:
            self.fault = f"the archive's member is damaged ({error})"


def _open_zip(file: FileIO) -> zipfile.ZipFile:
    try:
        file.seek(0)
        return zipfile.ZipFile(file)
    except _FAULTS as error:
        raise ArchiveFault(f"is a zip archive that is damaged or cut off ({error}); get it again") from error


def _name_files(archive: zipfile.ZipFile) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    names = DistinctNames()
    for about in archive.infolist():
        if not about.is_dir() and not is_about_macos(about.filename):
            yield names.add(about.filename), about


def _find_problem(about: zipfile.ZipInfo) -> str:
    if about.flag_bits & _ENCRYPTED:
        return "is encrypted; unpack it with its password and load its files"
    if about.compress_type not in _READ_BYTES:
        return f"is packed by a method that is not read here ({about.compress_type}); unpack it and load its files"
    return ""
