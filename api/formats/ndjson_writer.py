"""Record batches as JSON lines, a column at a time.

Nulls are left out; times are ISO 8601 in UTC with microseconds and ``Z``; lists are arrays, in which a null element is
``null``; a float that JSON cannot write (NaN, infinity) is ``null``. A column becomes a column of ``,"name":value``
fragments, and the fragments of a row are joined, so the work per value stays inside Arrow.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

_NULL = pa.scalar(None, pa.string())
# The bytes that a JSON string must escape: quotes, backslashes, C0. (DEL and C1 may stand as they are.)
_ESCAPED = np.zeros(256, bool)
_ESCAPED[:0x20] = _ESCAPED[[0x22, 0x5C]] = True


@cache
def _scalar(text: str) -> pa.Scalar:
    """Made once: turning a Python value into an Arrow one costs ten times what joining ten rows does."""
    return pa.scalar(text)


def join(*parts: pa.Array | str) -> pa.Array:
    """Text joined row by row; null where a part is null."""
    return pc.binary_join_element_wise(*(_scalar(p) if isinstance(p, str) else p for p in parts), _scalar(""))


def to_ndjson(batch: pa.RecordBatch) -> bytes:
    """One line per row; an event without any value is ``{}``."""
    if batch.num_rows == 0:
        return b""
    members = [_members(batch.column(i), name) for i, name in enumerate(batch.schema.names)]
    if not members:
        return b"{}\n" * batch.num_rows
    rows = join(*members)
    lines = join("{", pc.utf8_slice_codeunits(rows, 1), "}\n")
    buffer = lines.buffers()[2]
    return b"" if buffer is None else buffer.slice(0, pc.sum(pc.binary_length(lines)).as_py()).to_pybytes()


def iso_times(times: pa.Array) -> pa.Array:
    """``timestamp[us, UTC]`` as text: ``2026-01-08T12:00:00.000000Z``."""
    text = times.cast(pa.timestamp("us")).cast(pa.string())
    return join(pc.replace_substring(text, " ", "T", max_replacements=1), "Z")


def _members(column: pa.Array, name: str) -> pa.Array:
    """``,"name":value`` for each row, empty for a null."""
    members = join(f",{orjson.dumps(name).decode()}:", json_texts(column))
    return members if column.null_count == 0 else pc.fill_null(members, _scalar(""))


def json_texts(column: pa.Array) -> pa.Array:
    """Each value as JSON; null where the value is null."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return join('"', iso_times(column), '"')
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _strings(column.cast(pa.string()))
    if pa.types.is_list(kind):
        return _lists(column)
    if pa.types.is_floating(kind):
        return _floats(column)
    return column.cast(pa.string())


def _strings(column: pa.Array) -> pa.Array:
    if not _needs_escapes(column):
        return join('"', column, '"')
    coded = column.dictionary_encode()
    texts = pa.array([orjson.dumps(value).decode() for value in coded.dictionary.to_pylist()], pa.string())
    return texts.take(coded.indices)


def _needs_escapes(column: pa.Array) -> bool:
    """Whether any byte of the strings must be escaped (or of null ones, which costs little)."""
    _, offsets, data = column.buffers()
    if data is None:
        return False
    ends = np.frombuffer(offsets, np.int32)
    start, stop = int(ends[column.offset]), int(ends[column.offset + len(column)])
    return bool(_ESCAPED[np.frombuffer(data, np.uint8)[start:stop]].any())


def _floats(column: pa.Array) -> pa.Array:
    """Through orjson, so that 1.0 stays ``1.0`` and every value reads back as it was."""
    texts = orjson.dumps(pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False), option=orjson.OPT_SERIALIZE_NUMPY)
    values = pa.array(texts[1:-1].decode().split(",") if len(column) else [], pa.string())
    return values if column.null_count == 0 else pc.if_else(column.is_valid(), values, _NULL)


def _lists(column: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    elements = pc.fill_null(json_texts(column.flatten()), _scalar("null"))
    inner = pc.binary_join(pa.ListArray.from_arrays(offsets, elements), ",")
    texts = join("[", inner, "]")
    return texts if column.null_count == 0 else pc.if_else(column.is_valid(), texts, _NULL)
