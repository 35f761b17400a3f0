"""Cuts a file at line ends into ranges, and reads no more of it than what stands around the cuts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

BlockAt = Callable[[int], tuple[int, bytes]]
"""Returns a block that holds the byte at an offset, and the block's own offset; an empty one beyond the end. The
offsets that it is called with only grow."""
_BLOCK_BYTES = 1 << 16


def read_blocks_at(descriptor: int) -> BlockAt:
    """Returns how to read blocks of a file anywhere in it."""
    return lambda offset: (offset, os.pread(descriptor, _BLOCK_BYTES, offset))


def pass_blocks(blocks: Iterable[memoryview]) -> BlockAt:
    """Returns how to find blocks in a stream, which is read as far as it is needed."""
    stream = iter(blocks)
    end = 0

    def find(offset: int) -> tuple[int, bytes]:
        nonlocal end
        for block in stream:
            start, end = end, end + len(block)
            if offset < end:
                return start, bytes(block)
        return offset, b""

    return find


def cut_at_lines(block_at: BlockAt, split: int, base: int, length: int) -> Iterator[tuple[int, int]]:
    """Yields ranges of a file of ``length`` bytes, from ``base`` on, that are at least ``split`` bytes long.

    A range ends after the first line end at or beyond ``split`` bytes; so a line that is longer is one range.
    """
    at, block = 0, b""
    while base < length:
        end, place = length, base + split - 1
        while place < length:
            if not at <= place < at + len(block):
                at, block = block_at(place)
            found = block.find(b"\n", place - at)
            if found >= 0 or not block:
                end = min(at + found + 1, length) if block else length
                break
            place = at + len(block)
        yield base, end
        base = end
