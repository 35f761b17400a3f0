"""Turns Windows event log files (EVTX) into lines of JSON, one for each event, as ``evtx_dump`` writes them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from io import FileIO
from typing import Protocol

from evtx import PyEvtxParser

from watchfloor.ingest.files.compressions.blocks import BlockReader
from watchfloor.schema.text import shorten

EVTX_MAGIC = b"ElfFile\0"
_LINES_AT_ONCE = 1_000
_MEMORY_BYTES = 64 << 20
"""A file that is compressed or in an archive is unpacked into memory up to this size, and above it into a file without
a name, because its parts are read in no fixed order."""


_CHUNK_BYTES, _HEADER_BYTES = 64 << 10, 128
_BLOCK_PLACE, _COUNT_PLACE = 40, 42
"""The places in the header of its length with padding, and of the number of chunks; each has two bytes."""
_FAULTS = (RuntimeError, OSError, ValueError)
_MOST_TEXT = 300


class _SeekableFile(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...
    def seek(self, place: int, whence: int = 0, /) -> int: ...
    def tell(self) -> int: ...


class EvtxRecords:
    """Iterates over the events of an EVTX file as lines of JSON.

    A damaged chunk costs its events only; ``fault`` says afterwards what is lost.
    """

    breaks_off = False

    def __init__(self, source: BlockReader, file: FileIO | None) -> None:
        """``file`` is the open file itself if it is neither compressed nor in an archive; else ``source`` is read."""
        self._source, self._file = source, file
        self.fault = ""

    def __iter__(self) -> Iterator[bytes]:
        if self._file is not None:
            self._file.seek(0)
            yield from self._read(self._file)
            return
        with tempfile.SpooledTemporaryFile(_MEMORY_BYTES) as unpacked:
            for block in self._source:
                unpacked.write(block)
            unpacked.seek(0)
            yield from self._read(unpacked)

    def _read(self, file: _SeekableFile) -> Iterator[bytes]:
        lines: list[bytes] = []
        damages: list[str] = []
        try:
            records = PyEvtxParser(file, number_of_threads=1).records_json()
            while True:
                try:
                    record = next(records, None)
                except _FAULTS as error:
                    damages.append(str(error))
                    continue
                if record is None:
                    break
                # Line ends in texts are escaped; others would only lay the record out.
                lines.append(record["data"].replace("\n", " ").encode() + b"\n")
                if len(lines) == _LINES_AT_ONCE:
                    yield b"".join(lines)
                    lines = []
        except _FAULTS as error:
            damages.append(str(error))
        yield b"".join(lines)
        damages += _find_missing_chunks(file)
        if damages:
            count = f"{len(damages):,} parts" if len(damages) > 1 else "a part"
            self.fault = f"{count} of the EVTX file cannot be read, the others are ({shorten(damages[0], _MOST_TEXT)})"


def _find_missing_chunks(file: _SeekableFile) -> list[str]:
    """Returns the message that the file is shorter than it should be, if it is."""
    file.seek(0)
    header = file.read(_HEADER_BYTES)
    size = file.seek(0, os.SEEK_END) - int.from_bytes(header[_BLOCK_PLACE : _BLOCK_PLACE + 2], "little")
    told = int.from_bytes(header[_COUNT_PLACE : _COUNT_PLACE + 2], "little")
    if size % _CHUNK_BYTES or size // _CHUNK_BYTES < told:
        return [f"it ends early: its header tells of {told} chunks, and there are {max(size, 0) / _CHUNK_BYTES:.1f}"]
    return []
