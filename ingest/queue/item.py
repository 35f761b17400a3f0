"""The work items that the queue carries."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from watchfloor.schema.errors import InternalError
from watchfloor.schema.files.paths import show_path

FILE_ID_BYTES = 16
ITEM_ID_BYTES = 8
BLAKE3, BLAKE2B = "blake3", "blake2b"
"""The hashes that identify files: that of new ones, and that of files which earlier versions have queued."""
DRAWN = "drawn"
"""Stands for a hash where the identity of a file was drawn at random, because its items were queued before it was
hashed. The BLAKE3 of its content stands in the ledger (``records/long_files.py``)."""

_EARLIER: Mapping[str, Any] = {"inode": 0, "ctime_ns": 0, "member": "", "digest": BLAKE2B}
"""What items of before these fields had. Without inode and time of change no file is unchanged without a look at it."""


@dataclass(frozen=True)
class WorkItem:
    """One line-aligned byte range [start, end) of a file, and all that a worker must know to read it.

    ``start`` and ``end`` count uncompressed bytes. ``header`` are the file's own header lines that every range needs.
    ``size``, ``inode``, ``mtime_ns`` and ``ctime_ns`` are the file's as it was queued, and tell cheaply that it has not
    changed since; ``length`` counts the bytes from which ``file_id`` was computed. ``split``, ``base`` and ``before``
    are those of ``FileScan``: how to cut the file the same way again. ``compressed``: its content is not its bytes as
    they are, so it is read from its beginning. ``digest`` names the hash that gives ``file_id``, or is ``DRAWN``; then
    ``content`` is the hash of the range's bytes as hex, where that is known already. ``ticket`` names one act of
    queueing; ``again`` asks for the item to be read although it is done. ``member`` is the log's name in the
    archive ``path``; empty for a file of its own.
    """

    path: str
    file_id: bytes
    start: int
    end: int
    feed: str
    header: bytes
    size: int
    inode: int
    mtime_ns: int
    ctime_ns: int
    length: int
    split: int
    base: int
    before: str
    compressed: bool
    ticket: str
    again: bool = False
    member: str = ""
    digest: str = BLAKE3
    content: str = ""

    @property
    def log_path(self) -> str:
        """The path of the log: that of its file, followed by its name in it if that is an archive."""
        return f"{self.path}/{self.member}" if self.member else self.path

    @property
    def item_id(self) -> bytes:
        """The 8 bytes by which the item's counts are keyed."""
        text = b"%s\x00%s%d-%d" % (self.feed.encode(), self.file_id, self.start, self.end)
        return hashlib.blake2b(text, digest_size=ITEM_ID_BYTES).digest()

    @property
    def name(self) -> str:
        """The file and the range, for log lines."""
        return f"{show_path(self.log_path)} [{self.start:,}, {self.end:,})"

    def to_json(self) -> bytes:
        """Returns the item as JSON, for a message of the queue and for the ledger."""
        fields = asdict(self)
        fields["file_id"] = self.file_id.hex()
        fields["header"] = base64.b64encode(self.header).decode()
        # A path's bytes need not be UTF-8; Python keeps strays as surrogates, which JSON does not allow.
        fields["path"] = base64.b64encode(os.fsencode(self.path)).decode()
        fields["member"] = base64.b64encode(os.fsencode(self.member)).decode()
        return orjson.dumps(fields)

    @classmethod
    def from_json(cls, text: bytes) -> WorkItem:
        """Returns the item that ``to_json`` wrote. Raises ``InternalError`` for anything else."""
        try:
            fields: dict[str, Any] = {**_EARLIER, **orjson.loads(text)}
            fields["file_id"] = bytes.fromhex(fields["file_id"])
            fields["header"] = base64.b64decode(fields["header"], validate=True)
            fields["path"] = os.fsdecode(base64.b64decode(fields["path"], validate=True))
            fields["member"] = os.fsdecode(base64.b64decode(fields["member"], validate=True))
            return cls(**fields)
        except (ValueError, TypeError, KeyError, binascii.Error) as error:
            raise InternalError(f"not a work item: {text[:200]!r}: {error}") from error
