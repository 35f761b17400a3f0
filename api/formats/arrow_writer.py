"""Record batches as an Arrow IPC stream, with the columns' own types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


class ArrowWriter:
    """Writes an Arrow IPC stream to a binary stream; without a batch, and so a schema, it writes nothing."""

    def __init__(self, out: Any) -> None:
        self.out = out
        self._stream: Any = None

    def write(self, batch: pa.RecordBatch, metadata: dict[str, str] | None = None) -> None:
        """Writes a batch, with ``metadata`` of its own."""
        if self._stream is None:
            self._stream = pa.ipc.new_stream(pa.PythonFile(self.out, "w"), batch.schema)
        self._stream.write_batch(batch, metadata)
        self.out.flush()

    def close(self) -> None:
        """Writes the end-of-stream mark."""
        if self._stream is not None:
            self._stream.close()
            self.out.flush()
