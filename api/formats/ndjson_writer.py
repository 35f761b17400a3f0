"""Record batches as JSON lines: ``watchfloor.query.texts.json_objects`` says what each row looks like."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.query.texts.json_objects import encode_objects


class NdjsonWriter:
    """Writes a JSON object per line to a binary stream."""

    def __init__(self, out: Any) -> None:
        self.out = out

    def write(self, batch: pa.RecordBatch) -> None:
        self.out.write(encode_ndjson(batch))
        self.out.flush()

    def close(self) -> None:
        """Does nothing: every line is complete already."""


def encode_ndjson(batch: pa.RecordBatch) -> bytes:
    """Encodes a batch as one JSON line per row."""
    if batch.num_rows == 0:
        return b""
    lines = encode_objects(batch, "\n")
    buffer = lines.buffers()[2]
    return b"" if buffer is None else buffer.slice(0, pc.sum(pc.binary_length(lines)).as_py()).to_pybytes()
