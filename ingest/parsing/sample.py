"""The beginning of a file, by which formats recognise the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import FileIO
from itertools import islice
from pathlib import Path

from watchfloor.ingest.columns.rows import split_rows
from watchfloor.ingest.files.content import open_content
from watchfloor.ingest.files.lines import RejectedLine, read_chunks
from watchfloor.ingest.files.open_file import name_log, read_state

MAGIC_BYTES = 16
SAMPLE_BYTES = 16 << 20
PEEK_BYTES = 256 << 10
_PEEK_LINES = 100


class FileSample:
    """The first lines of an open file, whatever they are packed in.

    Raises ``InputFileError`` if the file cannot be read.
    """

    def __init__(self, file: FileIO) -> None:
        """``file`` must be at its beginning, and stay open."""
        self.file = file
        self.path = Path(name_log(file))
        """The file's path, or the name of a member of an archive as if that were a folder."""
        content = open_content(file, PEEK_BYTES)
        self.compressed = content is not None
        """True if the lines are not the file's bytes as they are."""
        self.magic = (
            os.pread(file.fileno(), MAGIC_BYTES, 0) if content is None else next(iter(content), b"")[:MAGIC_BYTES]
        )
        """The first bytes of the content."""
        self.lines = tuple(islice(self.read_lines(PEEK_BYTES), _PEEK_LINES))
        """The first hundred lines or fewer that are not blank."""

    def read_lines(self, limit: int = SAMPLE_BYTES) -> Iterator[bytes]:
        """Reads the lines that are not blank, of about the first ``limit`` bytes."""
        for chunk in read_chunks(self.file, chunk_bytes=min(limit, 1 << 20)):
            rows = split_rows(chunk)
            yield from map(rows.line_at, range(len(rows)))
            if chunk.offset + len(chunk.data) >= limit:
                return

    def first_rejected(self) -> RejectedLine | None:
        """Returns the first line that cannot be read whole: it is too long, or what it is packed in breaks off."""
        return next((rejected for chunk in read_chunks(self.file) for rejected in chunk.rejected), None)

    @property
    def is_json(self) -> bool:
        """True if the first line begins as a JSON object does."""
        return bool(self.lines) and self.lines[0].lstrip().startswith(b"{")

    @property
    def changed(self) -> int:
        """The time of the file's last change (µs since 1970 UTC)."""
        return read_state(self.file).st_mtime_ns // 1000

    @property
    def beginning(self) -> str:
        """The first line, shortened and quoted, for messages."""
        line = self.lines[0] if self.lines else b""
        text = line[:60].decode(errors="backslashreplace")
        return repr(text + ("…" if len(line) > 60 else ""))
