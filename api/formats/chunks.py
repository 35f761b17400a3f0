"""A binary stream that keeps what is written until it is taken."""

from __future__ import annotations


class ChunkBuffer:
    """The stream to which writers write when their output is sent in chunks."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0

    def write(self, data: bytes) -> int:
        """Keeps a copy of ``data``, and returns its size."""
        self._parts.append(bytes(data))
        self._position += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        """Returns the number of bytes that were ever written."""
        return self._position

    def flush(self) -> None:
        """Does nothing: what was written can be taken already."""

    def close(self) -> None:
        """Does nothing, so that what was written last can be taken after the writer has closed the stream."""

    def take(self) -> bytes:
        """Returns what was written since the last call."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken
