"""Makes JSON objects of the rows of a record batch, encoded a column at a time.

Nulls are left out. Times are ISO 8601 in UTC with microseconds and ``Z``. Lists are arrays, in which a null element is
``null``. A struct is an object without its nulls. A float that JSON cannot write (NaN, infinity) is ``null``. A column
that is JSON already stands as it is. Each column becomes a column of ``,"name":value`` fragments, and the fragments of
a row are joined, so the work per value stays inside Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.store.encoding.byte_arrays import join_values

from .columns import format_times, join_texts, make_scalar, split_times

_NULL = pa.scalar(None, pa.string())
# The bytes that a JSON string has as they are: all but quotes, backslashes and C0 controls. DEL and C1 controls need no
# escape.
_PLAIN = bytes(byte for byte in range(0x20, 0x100) if byte not in b'"\\')


def encode_objects(batch: pa.RecordBatch, end: str = "") -> pa.Array:
    """Returns a JSON object for each row, followed by ``end``; a row without any value is ``{}``."""
    if not batch.num_columns:
        return pa.repeat(f"{{}}{end}", len(batch))
    return _join_members(batch.columns, batch.schema.names, end)


def _join_members(columns: Sequence[pa.Array], names: Sequence[str], end: str = "") -> pa.Array:
    """Returns an object, followed by ``end``, for each row of some columns, of which there is at least one."""
    parts = [part for column, name in zip(columns, names, strict=True) for part in _encode_members(column, name)]
    if isinstance(parts[0], str):
        return join_texts("{", parts[0][1:], *parts[1:], f"}}{end}")
    return join_texts("{", pc.utf8_slice_codeunits(join_texts(*parts), 1), f"}}{end}")


def _encode_members(column: pa.Array, name: str) -> list[pa.Array | str]:
    """Returns ``,"name":value`` in parts to be joined, constants first if no value is null.

    A null's text is empty.
    """
    parts = [f",{orjson.dumps(name).decode()}:", *_encode_parts(column)]
    return parts if column.null_count == 0 else [pc.fill_null(join_texts(*parts), make_scalar(""))]


def _encode_parts(column: pa.Array) -> list[pa.Array | str]:
    """Encodes each value as JSON text, in parts to be joined."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return ['"', *split_times(column), '"']
    if pa.types.is_string(kind) and not _needs_escapes(column):
        return ['"', column, '"']
    return [_encode_values(column)]


def _encode_values(column: pa.Array) -> pa.Array:
    """Encodes each value as JSON text; null stays null."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return join_texts('"', format_times(column), '"')
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _encode_strings(column.cast(pa.string()))
    if pa.types.is_list(kind):
        return _encode_lists(column)
    if pa.types.is_struct(kind):
        return _encode_structs(column)
    if pa.types.is_floating(kind):
        return _encode_floats(column)
    if isinstance(kind, pa.JsonType):
        return column.storage
    return column.cast(pa.string())


def _encode_strings(column: pa.Array) -> pa.Array:
    if not _needs_escapes(column):
        return join_texts('"', column, '"')
    coded = column.dictionary_encode()
    texts = pa.array([orjson.dumps(value).decode() for value in coded.dictionary.to_pylist()], pa.string())
    return texts.take(coded.indices)


def _needs_escapes(column: pa.Array) -> bool:
    """Returns True if any byte of the strings must be escaped. Bytes behind null rows count too, which costs little."""
    return bool(join_values(column).tobytes().translate(None, _PLAIN))


def _encode_floats(column: pa.Array) -> pa.Array:
    """Encodes floats by orjson, so that 1.0 stays ``1.0`` and every value reads back as it was."""
    texts = orjson.dumps(pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False), option=orjson.OPT_SERIALIZE_NUMPY)
    values = pa.array(texts[1:-1].decode().split(",") if len(column) else [], pa.string())
    return values if column.null_count == 0 else pc.if_else(column.is_valid(), values, _NULL)


def _encode_structs(column: pa.StructArray) -> pa.Array:
    objects = _join_members(column.flatten(), column.type.names)
    return objects if column.null_count == 0 else pc.if_else(column.is_valid(), objects, _NULL)


def _encode_lists(column: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    elements = pc.fill_null(_encode_values(column.flatten()), make_scalar("null"))
    inner = pc.binary_join(pa.ListArray.from_arrays(offsets, elements), ",")
    texts = join_texts("[", inner, "]")
    return texts if column.null_count == 0 else pc.if_else(column.is_valid(), texts, _NULL)
