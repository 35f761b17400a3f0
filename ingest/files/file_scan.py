"""Finds a log file's identity in one pass over it, and the line-aligned ranges that become work items.

A file's identity is the hash of its content, unpacked: a log that is renamed, compressed by its rotation, or put into
an archive is still the same file. A plain file is cut at line boundaries into ranges of about ``split`` bytes; any
other is one range, because nothing can be read from its middle. Row IDs and counts are pure functions of identity and
ranges, so a file that comes again must be cut the same way: by the ``split`` and from the ``base`` that its work items
remember. A file that an earlier version has queued keeps the identity by the hash of that version.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import FileIO

from watchfloor.ingest.queue.item import BLAKE3, DRAWN, WorkItem
from watchfloor.schema.errors import InputFileError, InternalError
from watchfloor.schema.files.paths import show_path

from .compressions.blocks import BlockReader
from .content import open_content
from .content_hash import ContentHash
from .cut_points import cut_at_lines, pass_blocks, read_blocks_at
from .open_file import FileOrPath, OpenLog, name_log, open_file_or_path, read_state
from .remote.remote_systems import RemoteState

WHOLE = 0
"""The value of ``split`` for a file that is not cut: all of it is one range."""
_BLOCK_BYTES = 1 << 20
_PLAIN_BLOCK_BYTES = 4 << 20
"""Blocks of a file that is not packed are so long that several cores have a share of hashing each, and so short that a
block is hashed while it is in the processor's cache."""
_LINE_BYTES = 1 << 16
_CLOCK_TICK_NS = 20_000_000
"""More than the steps of the clock by which Linux stamps changes of files (a tick of the kernel, at most 10 ms)."""


@dataclass(frozen=True)
class QueuedMark:
    """The part of a file that was queued earlier.

    It is the first ``length`` uncompressed bytes, whose identity is ``file_id``. That is their hash by ``digest``,
    unless it was drawn: then ``drawn_for`` is their hash.
    """

    file_id: bytes
    length: int
    digest: str = BLAKE3
    drawn_for: bytes = b""

    @property
    def content(self) -> bytes:
        """The hash of the part."""
        return self.drawn_for or self.file_id


@dataclass(frozen=True)
class FileScan:
    """The result of one pass over a file.

    ``file_id`` is its identity by the hash ``digest``. ``size`` counts the bytes on disk that were read, ``length`` the
    uncompressed bytes. ``inode``, ``mtime_ns`` and ``ctime_ns`` are those of the file before the pass. ``ranges`` begin
    at the offset ``base``. If the file begins with the part that a ``QueuedMark`` describes, the ranges hold only the
    lines after that part, and ``before`` is the mark's identity as hex; otherwise ``before`` is empty. ``damaged`` is
    true if what the content is packed in breaks off or lacks a part. ``member`` is the name of the log in its archive,
    or empty.
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
    digest: str = BLAKE3


def scan_file(
    file_or_path: FileOrPath,
    split: int,
    mark: QueuedMark | None = None,
    upto: int | None = None,
    digest: str = BLAKE3,
) -> FileScan:
    """Returns identity and ranges of a file, found in bounded memory. Raises ``InputFileError``.

    ``mark`` describes the part of the file that was queued earlier. ``digest`` is the hash that identifies it. A plain
    file that grows during the pass is read up to its size at the beginning, or only its first ``upto`` bytes.
    """
    with open_file_or_path(file_or_path) as file:
        before = _await_clock_tick(file)
        size = before.st_size if upto is None else min(upto, before.st_size)
        content = open_content(file, _BLOCK_BYTES, size)
        stream = _Stream(file, content, size)
        pass_over = _Pass(digest, mark)
        for block in stream:
            pass_over.feed(block)
        base = pass_over.find_base(stream.is_damaged)
        scan = FileScan(
            pass_over.content.identify(stream.is_damaged),
            size,
            before.st_ino,
            before.st_mtime_ns,
            before.st_ctime_ns,
            pass_over.length,
            content is not None,
            stream.is_damaged,
            split if content is None else WHOLE,
            base or 0,
            "" if base is None or mark is None else mark.file_id.hex(),
            (),
            file.member if isinstance(file, OpenLog) else "",
            digest,
        )
        scan = _cut_scan(scan, file)
        _check_state(file, before.st_size, before.st_mtime_ns)
    return scan


def cut_like(file: FileIO, scan: FileScan, item: WorkItem) -> FileScan:
    """Returns the scan of an open file, cut as the file with the same content was of which ``item`` is."""
    return _cut_again(file, replace(scan, split=item.split, base=item.base, before=item.before))


def cut_by(file: FileIO, scan: FileScan, split: int) -> FileScan:
    """Returns the scan of an open plain file, cut by ``split``."""
    return _cut_again(file, replace(scan, split=split))


def _cut_again(file: FileIO, scan: FileScan) -> FileScan:
    before = read_state(file)
    cut = _cut_scan(scan, file)
    _check_state(file, before.st_size, before.st_mtime_ns)
    return cut


def _cut_scan(scan: FileScan, file: FileIO) -> FileScan:
    """Returns the scan of a file with its ranges."""
    if scan.split == WHOLE:
        return replace(scan, ranges=((scan.base, scan.length),) if scan.base < scan.length else ())
    if scan.compressed:
        file.seek(0)
        content = open_content(file, _BLOCK_BYTES, scan.size)
        block_at = pass_blocks(_Stream(file, content, scan.size))
    else:
        block_at = read_blocks_at(file.fileno())
    try:
        return replace(scan, ranges=tuple(cut_at_lines(block_at, scan.split, scan.base, scan.length)))
    except OSError as error:
        raise InputFileError(f"{show_path(name_log(file))}: cannot be read: {error.strerror}") from error


def _check_state(file: FileIO, size: int, mtime_ns: int) -> None:
    """Raises ``InputFileError`` if a file that had this size and time has changed since, other than by growing."""
    now = read_state(file)
    if now.st_size < size or (now.st_mtime_ns != mtime_ns and now.st_size == size):
        name = show_path(name_log(file))
        raise InputFileError(f"{name}: changed while it was read; give it again when its writer is done")


def is_as_known(known: FileScan | WorkItem, now: os.stat_result | RemoteState) -> bool:
    """Returns whether a file has the inode, size and times by which it was scanned or queued."""
    state = now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns
    return state == (known.inode, known.size, known.mtime_ns, known.ctime_ns)


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
            digest=scan.digest,
        )
        for start, end in scan.ranges
    )


def scan_later(file: FileIO, size: int, file_id: bytes, split: int) -> FileScan:
    """Returns the ranges of an open plain file, of its first ``size`` bytes, which are to be hashed later.

    ``file_id`` is the identity that was drawn for them.
    """
    before = _await_clock_tick(file)
    times = before.st_mtime_ns, before.st_ctime_ns
    scan = FileScan(file_id, size, before.st_ino, *times, size, False, False, split, 0, "", (), digest=DRAWN)
    return _cut_scan(scan, file)


def hash_later(file: FileIO, scan: FileScan) -> bytes:
    """Returns the hash of an open file as far as ``scan_later`` has cut it. Raises ``InputFileError`` if it changed."""
    content = scan_file(file, WHOLE, upto=scan.size).file_id
    _check_state(file, scan.size, scan.mtime_ns)
    return content


def hash_ranges(file: FileIO, ranges: Sequence[tuple[int, int]]) -> list[str]:
    """Returns the hash of each of the ranges of an open file's content, as hex. The ranges ascend and are disjoint."""
    size = read_state(file).st_size
    file.seek(0)
    blocks = iter(_Stream(file, open_content(file, _BLOCK_BYTES, size), size))
    block, at = memoryview(b""), 0
    found = []
    for start, end in ranges:
        content = ContentHash(BLAKE3)
        while True:
            content.update(block[max(start - at, 0) : max(end - at, 0)])
            if at + len(block) >= end:
                break
            at += len(block)
            block = next(blocks, memoryview(b""))
            if not block:
                break
        found.append(content.identify().hex())
    return found


def _find_nothing(item: WorkItem) -> bytes:
    raise InternalError(f"{item.name}: its file's identity was drawn, and nobody knows its content")


def check_unchanged(item: WorkItem, file: FileIO, find_content: Callable[[WorkItem], bytes] = _find_nothing) -> None:
    """Raises ``InputFileError`` if an open file no longer begins with the queued content.

    ``find_content`` returns the hash of the content of a file whose identity was drawn, and may raise that error too.
    Costs one ``stat`` if inode, size, modification and change time are those of the file that was hashed: the time of
    change is the kernel's, nobody can set it back. Otherwise the bytes are hashed. A file that has only grown counts as
    unchanged.
    """
    now = read_state(file)
    if is_as_known(item, now):
        return
    file.seek(0)
    content = open_content(file, _BLOCK_BYTES, now.st_size) if item.compressed else None
    stream = _Stream(file, content, now.st_size)
    drawn = item.digest == DRAWN
    content_hash = find_content(item) if drawn else item.file_id
    found = ContentHash(BLAKE3 if drawn else item.digest)
    left = item.length
    for block in stream:
        found.update(block[:left])
        left -= min(left, len(block))
        if not left and not item.compressed:
            break
    if left or found.identify(stream.is_damaged) != content_hash:
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


class _Pass:
    """One pass over a file: its hash, and whether it begins with the part that ``mark`` describes."""

    def __init__(self, digest: str, mark: QueuedMark | None) -> None:
        self.content = ContentHash(digest)
        self.length = 0
        self._mark = mark
        self._beginning = self.content if mark is None or mark.digest == digest else ContentHash(mark.digest)
        self._begins_with_mark = False
        self._last_line = 0

    def feed(self, block: memoryview) -> None:
        """Takes the block that follows."""
        if self._mark is not None and self.length < self._mark.length:
            part = block[: self._mark.length - self.length]
            self._feed_beginning(self._mark, part)
            block = block[len(part) :]
        self.content.update(block)
        self.length += len(block)

    def find_base(self, is_damaged: bool) -> int | None:
        """Returns where the lines begin that the mark's part lacks; None if the file is the mark's, or another one.

        The writer may not have finished the last line of that part: a line without its end is read again.
        """
        mark = self._mark
        if mark is None or not self._begins_with_mark:
            return None
        if self.length == mark.length and self._beginning.identify(is_damaged) == mark.content:
            return None
        return self._last_line

    def _feed_beginning(self, mark: QueuedMark, part: memoryview) -> None:
        last = _find_last_line(part)
        if last:
            self._last_line = self.length + last
        for content in {id(self.content): self.content, id(self._beginning): self._beginning}.values():
            content.update(part)
        self.length += len(part)
        if self.length == mark.length:
            # The part may have been damaged at its end.
            self._begins_with_mark = mark.content in map(self._beginning.identify, (False, True))


def _find_last_line(block: memoryview) -> int:
    """Returns where the last line of a block begins; 0 if no line ends in it."""
    for end in range(len(block), 0, -_LINE_BYTES):
        start = max(end - _LINE_BYTES, 0)
        found = bytes(block[start:end]).rfind(b"\n")
        if found >= 0:
            return start + found + 1
    return 0


class _Stream:
    """Iterates over the blocks of an open file's ``content``, or over its first ``size`` bytes if that is None.

    A block is there until the next one is asked for. A damaged content ends early; ``is_damaged`` is true afterwards.
    """

    def __init__(self, file: FileIO, content: BlockReader | None, size: int) -> None:
        self._file, self._content, self._left = file, content, size

    def __iter__(self) -> Iterator[memoryview]:
        try:
            yield from self._read_plain() if self._content is None else (memoryview(block) for block in self._content)
        except OSError as error:
            raise InputFileError(f"{show_path(name_log(self._file))}: cannot be read: {error.strerror}") from error

    @property
    def is_damaged(self) -> bool:
        return self._content is not None and bool(self._content.fault)

    def _read_plain(self) -> Iterator[memoryview]:
        buffer = memoryview(bytearray(min(_PLAIN_BLOCK_BYTES, self._left)))
        while self._left and (length := self._file.readinto(buffer[: self._left])):
            self._left -= length
            yield buffer[:length]
