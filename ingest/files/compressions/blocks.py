"""Blocks of content, which the readers of compressed files and of containers yield."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

ReadBytes = Callable[[], bytes]
"""Returns the next bytes of a stream; empty at its end."""


class BlockReader(Protocol):
    """Iterates over the content of a file that is not its bytes as they are: compressed, or in a container.

    ``fault`` is empty until the content's end. Afterwards it holds what is wrong with the file, or is empty.
    ``breaks_off``: what follows the fault could not be read; otherwise only parts in between are missing.
    """

    @property
    def fault(self) -> str: ...
    @property
    def breaks_off(self) -> bool: ...
    def __iter__(self) -> Iterator[bytes]: ...


def regroup_blocks(pieces: Iterable[bytes], block_bytes: int) -> Iterator[bytes]:
    """Yields the bytes of ``pieces`` as blocks of ``block_bytes`` bytes; the last may be shorter, none is empty."""
    pending: list[bytes] = []
    size = 0
    for piece in pieces:
        pending.append(piece)
        size += len(piece)
        if size >= block_bytes:
            joined = memoryview(b"".join(pending))
            full = size - size % block_bytes
            for start in range(0, full, block_bytes):
                yield bytes(joined[start : start + block_bytes])
            pending, size = [bytes(joined[full:])], size - full
    if size:
        yield b"".join(pending)
