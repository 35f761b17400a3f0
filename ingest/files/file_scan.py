"""Finds a log file's identity in one pass over it, and the line-aligned ranges that become work items.

A file's identity is the BLAKE2b of its content, unpacked: a log that is renamed, compressed by its rotation, or put
into an archive is still the same file. A plain file is cut at line boundaries into ranges of about ``split`` bytes; any
other is one range, because nothing can be read from its middle. Row IDs and counts are pure functions of identity and
ranges, so a file that comes again must be cut the same way: by the ``split`` and from the ``base`` that its work items
remember.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO

from watchfloor.ingest.queue.item import FILE_ID_BYTES, WorkItem
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path

from .compressions.blocks import BlockReader
from .content import open_content
from .open_file import FileOrPath, OpenLog, name_log, open_file_or_path, read_state
from .remote.remote_systems import RemoteState

WHOLE = 0
"""The value of ``split`` for a file that is not cut: all of it is one range."""
_DAMAGED = b"\x00damaged"
_BLOCK_BYTES = 1 << 20
_CLOCK_TICK_NS = 20_000_000
"""More than the steps of the clock by which Linux stamps changes of files (a tick of the kernel, at most 10 ms)."""


@dataclass(frozen=True)
class QueuedMark:
    """The part of a file that was queued earlier.

    It is the first ``length`` uncompressed bytes, whose identity is ``file_id``.
    """

    file_id: bytes
    length: int


@dataclass(frozen=True)
class FileScan:
    """The result of one pass over a file.

    ``size`` counts the bytes on disk that were read, ``length`` the uncompressed bytes. ``inode``, ``mtime_ns`` and
    ``ctime_ns`` are those of the file before the pass. ``ranges`` begin at the offset ``base``. If the file begins with
    the part that a ``QueuedMark`` describes, the ranges hold only the lines after that part, and ``before`` is the
    mark's identity as hex; otherwise ``before`` is empty. ``damaged`` is true if what the content is packed in breaks
    off or lacks a part. ``member`` is the name of the log in its archive, or empty.
    """

    file_id: bytes
    size: int
    inode: int
    mtime_ns: int
    ctime_ns: int
    length: int
    compressed: bool
    damaged: bool
    split: int
    base: int
    before: str
    ranges: tuple[tuple[int, int], ...]
    member: str = ""


def scan_file(
    file_or_path: FileOrPath,
    split: int,
    mark: QueuedMark | None = None,
    cut_like: WorkItem | None = None,
    upto: int | None = None,
) -> FileScan:
    """Returns identity and ranges of a file, found in bounded memory. Raises ``InputFileError``.

    ``mark`` describes the part of the file that was queued earlier. ``cut_like`` is an item of a file with the same
    content: this file is cut in the same way. A plain file that grows during the pass is read up to its size at the
    beginning, or only its first ``upto`` bytes.
    """
    with open_file_or_path(file_or_path) as file:
        before = _await_clock_tick(file)
        size = before.st_size if upto is None else min(upto, before.st_size)
        content = open_content(file, _BLOCK_BYTES, size)
        if content is not None:
            split = WHOLE
        base = 0
        if cut_like is not None:
            split, base, mark = cut_like.split, cut_like.base, None
        stream = _Stream(file, content, size)
        digest = hashlib.blake2b(digest_size=FILE_ID_BYTES)
        whole, rest = _Cutter(split, base), None
        length = 0
        for block in stream:
            if mark is not None and length < mark.length <= length + len(block):
                stop = mark.length - length
                if _begins_with(mark, digest, block[:stop]):
                    # The writer may not have finished the last line of that part: a line without its end is read again.
                    found = block.rfind(b"\n", 0, stop)
                    rest = _Cutter(split, length + found + 1 if found >= 0 else whole.last_line)
            digest.update(block)
            whole.feed(length, block)
            if rest is not None:
                rest.feed(length, block)
            length += len(block)
        _add_damage(digest, stream)
        after = read_state(file)
    _check_state(file, before, after)
    came_before = cut_like.before if cut_like is not None else ""
    if rest is not None and mark is not None and digest.digest() != mark.file_id:
        whole, came_before = rest, mark.file_id.hex()
    return FileScan(
        digest.digest(),
        size,
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
        length,
        content is not None,
        stream.is_damaged,
        split,
        whole.base,
        came_before,
        whole.finish(length),
        file.member if isinstance(file, OpenLog) else "",
    )


def _check_state(file: FileIO, before: os.stat_result | RemoteState, after: os.stat_result | RemoteState) -> None:
    """Raises ``InputFileError`` if a file that was read has changed meanwhile, other than by growing."""
    if after.st_size < before.st_size or (after.st_mtime_ns != before.st_mtime_ns and after.st_size == before.st_size):
        name = show_path(name_log(file))
        raise InputFileError(f"{name}: changed while it was read; give it again when its writer is done")


def items_of(scan: FileScan, path: str, feed: str, header: bytes, ticket: str) -> tuple[WorkItem, ...]:
    """Returns the work items of a scanned file, in the order of its ranges."""
    return tuple(
        WorkItem(
            path=path,
            file_id=scan.file_id,
            start=start,
            end=end,
            feed=feed,
            header=header,
            size=scan.size,
            inode=scan.inode,
            mtime_ns=scan.mtime_ns,
            ctime_ns=scan.ctime_ns,
            length=scan.length,
            split=scan.split,
            base=scan.base,
            before=scan.before,
            compressed=scan.compressed,
            ticket=ticket,
            member=scan.member,
        )
        for start, end in scan.ranges
    )


def check_unchanged(item: WorkItem, file: FileIO) -> None:
    """Raises ``InputFileError`` if an open file no longer begins with the queued content.

    Costs one ``stat`` if inode, size, modification and change time are those of the file that was hashed: the time of
    change is the kernel's, nobody can set it back. Otherwise the bytes are hashed. A file that has only grown counts as
    unchanged.
    """
    now = read_state(file)
    if (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns) == (
        item.inode,
        item.size,
        item.mtime_ns,
        item.ctime_ns,
    ):
        return
    file.seek(0)
    content = open_content(file, _BLOCK_BYTES, now.st_size) if item.compressed else None
    stream = _Stream(file, content, now.st_size)
    digest = hashlib.blake2b(digest_size=FILE_ID_BYTES)
    left = item.length
    for block in stream:
        digest.update(block[:left])
        left -= min(left, len(block))
        if not left and not item.compressed:
            break
    _add_damage(digest, stream)
    if left or digest.digest() != item.file_id:
        raise InputFileError(f"{show_path(item.log_path)}: its content changed after it was queued; queue it again")


def _await_clock_tick(file: FileIO) -> os.stat_result | RemoteState:
    """Returns the file's state as of a moment from which on each change gives it a new time of change.

    Two changes within one step of the kernel's clock have the same time. After a younger change this waits for the
    next step.
    """
    age = time.time_ns() - read_state(file).st_ctime_ns
    if age < _CLOCK_TICK_NS:
        time.sleep(min(_CLOCK_TICK_NS - age, _CLOCK_TICK_NS) / 1e9)
    return read_state(file)


def _begins_with(mark: QueuedMark, digest: hashlib.blake2b, rest: bytes) -> bool:
    """Returns true if ``digest`` followed by ``rest`` gives the mark's identity, also that of a damaged stream."""
    prefix = digest.copy()
    prefix.update(rest)
    if prefix.digest() == mark.file_id:
        return True
    prefix.update(_DAMAGED)
    return prefix.digest() == mark.file_id


def _add_damage(digest: hashlib.blake2b, stream: _Stream) -> None:
    if stream.is_damaged:
        # The bytes that could be read may equal an undamaged file's content, which must have another identity.
        digest.update(_DAMAGED)


class _Cutter:
    """Cuts the blocks that it is fed into ranges, from ``base`` on. ``last_line`` is the offset of the last line."""

    def __init__(self, split: int, base: int) -> None:
        self._split = split
        self._start = base
        self._ranges: list[tuple[int, int]] = []
        self.base = base
        self.last_line = base

    def feed(self, offset: int, block: bytes) -> None:
        """Takes the block at ``offset``, which follows the block before."""
        last = block.rfind(b"\n")
        if last < 0:
            return
        self.last_line = offset + last + 1
        while self._split != WHOLE:
            # A range ends after the first line end at or beyond its size, so one line longer than that is one range.
            found = block.find(b"\n", max(self._start + self._split - 1 - offset, 0))
            if found < 0:
                return
            self._ranges.append((self._start, offset + found + 1))
            self._start = offset + found + 1

    def finish(self, length: int) -> tuple[tuple[int, int], ...]:
        """Returns all ranges of a file that is ``length`` bytes long."""
        if self._start < length:
            self._ranges.append((self._start, length))
        return tuple(self._ranges)


class _Stream:
    """Iterates over the blocks of an open file's ``content``, or over its first ``size`` bytes if that is None.

    A damaged content ends early; ``is_damaged`` is true afterwards.
    """

    def __init__(self, file: FileIO, content: BlockReader | None, size: int) -> None:
        self._file, self._content, self._left = file, content, size

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from iter(self._read, b"") if self._content is None else self._content
        except OSError as error:
            raise InputFileError(f"{show_path(name_log(self._file))}: cannot be read: {error.strerror}") from error

    @property
    def is_damaged(self) -> bool:
        return self._content is not None and bool(self._content.fault)

    def _read(self) -> bytes:
        block = self._file.read(min(_BLOCK_BYTES, self._left))
        self._left -= len(block)
        return block
