"""Reads log files as chunks of whole lines, whatever they are packed in.

Memory is bounded by the chunk and not by the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from itertools import pairwise

import numpy as np

from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path

from .compressions.blocks import BlockReader
from .content import open_content
from .open_file import FileOrPath, name_log, open_file_or_path

CHUNK_BYTES = 4 << 20
MAX_LINE_BYTES = 1 << 20
_READ_BYTES = 256 << 10
_PEEK_BYTES = 4 << 10


@dataclass(frozen=True)
class RejectedLine:
    """A line that became no event.

    ``offset`` is that in the uncompressed file. ``raw`` may be only the beginning of the line.
    """

    offset: int
    reason: str
    raw: bytes


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a file. ``offset`` is that of ``data`` in the uncompressed file.

    The last line of a file may lack its newline. ``rejected`` are lines that are not in ``data`` because they are over
    the limit, or because what they are packed in broke off inside them.
    """

    offset: int
    data: bytes
    rejected: tuple[RejectedLine, ...] = ()


def read_chunks(
    file_or_path: FileOrPath,
    start: int = 0,
    end: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    max_line_bytes: int = MAX_LINE_BYTES,
    unpack: bool = True,
) -> Iterator[Chunk]:
    """Reads the lines that begin in [start, end) of the file; ``start`` must be the beginning of a line.

    A line over ``max_line_bytes`` is streamed past and rejected. A compressed file, an archive's member or a container
    that ends early or is damaged yields what could be read, then a chunk with a ``RejectedLine`` that says so. A range
    of such a file other than the whole raises ``InputFileError``, as does a file that cannot be opened or read.
    ``unpack`` False reads the file's bytes as they are.
    """
    with open_file_or_path(file_or_path) as file:
        content = open_content(file, chunk_bytes) if unpack else None
        if content is not None:
            if start or end is not None:
                raise InputFileError(
                    f"{show_path(name_log(file))}: has no byte ranges, as its lines are not its bytes; read it whole"
                )
            yield from _assemble_chunks(content, 0, None, max_line_bytes)
        else:
            file.seek(start)
            yield from _assemble_chunks(_PlainBlocks(file, chunk_bytes), start, end, max_line_bytes)


def split_chunk(chunk: Chunk, most_lines: int) -> Iterator[Chunk]:
    """Yields a chunk as chunks of at most ``most_lines`` lines. Usually that is the chunk itself."""
    is_end = np.frombuffer(chunk.data, np.uint8) == ord("\n")
    if np.count_nonzero(is_end) <= most_lines:
        yield chunk
        return
    starts = [0, *(np.flatnonzero(is_end)[most_lines - 1 :: most_lines] + 1).tolist()]
    for start, end in pairwise(starts):
        yield Chunk(chunk.offset + start, chunk.data[start:end])
    yield Chunk(chunk.offset + starts[-1], chunk.data[starts[-1] :], chunk.rejected)


class _PlainBlocks:
    """Iterates over the blocks of a plain file. Most blocks end at a line end, so that they need not be copied."""

    fault = ""
    breaks_off = False

    def __init__(self, file: FileIO, block_bytes: int) -> None:
        self._file, self._block_bytes = file, block_bytes

    def __iter__(self) -> Iterator[bytes]:
        while block := self._file.read(self._count_whole_line_bytes()):
            yield block

    def _count_whole_line_bytes(self) -> int:
        """Returns the number of bytes up to the last line end of the next block.

        It is the block's size if no line ends near the block's end.
        """
        begin = max(self._block_bytes - _PEEK_BYTES, 0)
        peeked = os.pread(self._file.fileno(), self._block_bytes - begin, self._file.tell() + begin)
        return begin + peeked.rfind(b"\n") + 1 or self._block_bytes


def _assemble_chunks(source: BlockReader, start: int, end: int | None, limit: int) -> Iterator[Chunk]:
    """Yields the lines that begin in [start, end) as chunks; the blocks of ``source`` begin at ``start``."""
    carry, at = b"", start  # bytes that are not yet part of a chunk, and their offset
    blocks = iter(source)
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        upto = at + len(carry) + cut
        if cut and (end is None or upto < end):
            # The usual case: the bytes are copied at most once.
            whole = not carry and cut == len(block)
            yield from _chunks_within_limit(block if whole else b"".join((carry, memoryview(block)[:cut])), at, limit)
            carry, at = block[cut:], upto
        else:
            carry = carry + block
            cut = carry.rfind(b"\n") + 1
            if end is not None and at + cut > end:
                # The last line of the range is the one that begins before ``end``: it may end after it.
                cut = carry.find(b"\n", max(end - at - 1, 0)) + 1
                if cut and at + cut >= end:
                    yield from _chunks_within_limit(carry[:cut], at, limit)
                    return
            if cut:
                yield from _chunks_within_limit(carry[:cut], at, limit)
                carry, at = carry[cut:], at + cut
        if end is not None and at >= end:
            return
        if len(carry) > limit:
            rejected, carry, at = _skip_long_line(blocks, carry, at, limit)
            yield rejected
            if end is not None and at >= end:
                return
    if source.fault:
        reason = source.fault
        if source.breaks_off:
            reason += f" at byte {at + len(carry)} of what was unpacked; what followed is lost"
        yield Chunk(at, b"", (RejectedLine(at, reason, carry[:limit]),))
    elif carry:
        # The bytes after a long line may reach beyond ``end``.
        stop = None if end is None else carry.find(b"\n", max(end - at - 1, 0)) + 1
        yield from _chunks_within_limit(carry[: stop or None], at, limit)


def _skip_long_line(blocks: Iterator[bytes], carry: bytes, at: int, limit: int) -> tuple[Chunk, bytes, int]:
    """Reads past the rest of a long line that begins with ``carry``.

    Returns a chunk that rejects it, the bytes read beyond it, and their offset.
    """
    raw, length = carry[:limit], len(carry)
    rest, after = b"", at + length
    for block in blocks:
        newline = block.find(b"\n")
        if newline < 0:
            length += len(block)
            after = at + length
            continue
        length += newline
        rest, after = block[newline + 1 :], at + length + 1
        break
    return Chunk(at, b"", (RejectedLine(at, _long_line_reason(length, limit), raw),)), rest, after


def _chunks_within_limit(data: bytes, at: int, limit: int) -> Iterator[Chunk]:
    """Yields ``data`` as chunks that reject the lines over ``limit``."""
    begin = position = 0
    while len(data) - position > limit:
        newline = data.rfind(b"\n", position, position + limit + 1)
        if newline >= 0:
            position = newline + 1
            continue
        stop = data.find(b"\n", position)
        stop = len(data) if stop < 0 else stop
        rejected = RejectedLine(
            at + position, _long_line_reason(stop - position, limit), data[position : position + limit]
        )
        yield Chunk(at + begin, data[begin:position], (rejected,))
        begin = position = min(stop + 1, len(data))
    if begin < len(data):
        yield Chunk(at + begin, data[begin:])


def _long_line_reason(length: int, limit: int) -> str:
    return f"the line is {length} bytes long; the limit is {limit}"
