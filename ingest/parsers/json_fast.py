"""JSON lines as typed columns in one go, by Arrow's reader with the types that the source wants.

Arrow's reader takes a stream of objects, not lines, and some of what it takes is not JSON. So lines go to it only if
each is one object by its outline (``outlines``), and whatever it refuses or may have got wrong is left to
``json_values``, which decides. What both accept, they accept with the same values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from watchfloor.schema.source import ARROW_TYPES, EXTRA_FIELD, Field, FieldType, Source

from ..convert import Reasons, epoch_column, text_column, text_list_column
from ..rows import Mask, Rows
from ..scalars import EPOCH_UNITS
from .json_values import Naming

_DECIMAL = pa.decimal128(28, 9)
# After a closing brace only a comma, another bracket or the end may come; anything else starts a second value.
_SECOND_VALUE = re.compile(rb"\}[ \t\r]*[^ \t\r\n,\]}]")


@dataclass(frozen=True)
class Form:
    """How a chunk writes its objects: dots in names as nesting or as they are, other spellings, times as text."""

    nested: bool
    spelled: tuple[tuple[str, str], ...]  # field name, key in the file: where they differ
    text_times: frozenset[str]
    ignored: frozenset[str]  # keys to read past


def outlines(rows: Rows) -> Mask:
    """Lines that begin with ``{``, end with ``}`` and have nothing after an inner closing brace that starts a value.

    As a ``}`` and a ``{`` can only follow each other between objects, no object then spans two lines.
    """
    data = rows.octets
    good = (data[rows.starts] == ord("{")) & (data[rows.ends - 1] == ord("}"))
    if good.all() and np.count_nonzero(data == ord("}")) == len(rows):  # each line has the one at its end
        return good
    for match in _SECOND_VALUE.finditer(rows.data):
        row = int(np.searchsorted(rows.starts, match.start(), side="right")) - 1
        if row >= 0:
            good[row] = False
    return good


def peek(source: Source, line: bytes, naming: Naming) -> Form:
    """The form of a chunk, guessed from one of its lines. A wrong guess costs time only."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        value = {}
    if not isinstance(value, dict):
        value = {}
    spelled = tuple((name, key) for key, name in naming.aliases.items() if key in value and name in source.by_name)
    always_text = source.time_format not in EPOCH_UNITS
    text_times = set()
    for field in source.fields:
        if field.scalar is FieldType.TIME:
            item = _find(value, dict(spelled).get(field.name, field.name))
            if isinstance(item, list):
                item = item[0] if item else None
            if always_text or isinstance(item, str):
                text_times.add(field.name)
    nested = any(isinstance(item, dict) for item in value.values())
    return Form(nested, spelled, frozenset(text_times), naming.ignored & set(value))


def read_fast(source: Source, data: bytes, count: int, form: Form) -> tuple[dict[str, pa.Array], Reasons] | None:
    """``count`` lines as columns, with reasons for rows with texts that do not fit; None if this way cannot tell."""
    schema = _schema(source, form)
    if schema is None:
        return None
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(data),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if table.num_rows != count:
        return None
    found: dict[str, pa.Array] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        _collect(name, column.combine_chunks() if column.num_chunks != 1 else column.chunk(0), found)
    reasons: Reasons = {}
    columns: dict[str, pa.Array] = {}
    spelled = dict(form.spelled)
    for field in source.fields:
        column = found.get(spelled.get(field.name, field.name))
        if column is None or column.null_count == len(column):
            continue
        typed = _typed(field, column, source.time_format, reasons)
        if typed is None:
            return None
        columns[field.name] = typed
    return columns, reasons


def _typed(field: Field, column: pa.Array, time_format: str, reasons: Reasons) -> pa.Array | None:
    values = column.flatten() if field.is_list else column
    if field.scalar is FieldType.FLOAT and pc.all(pc.is_finite(values)).as_py() is False:
        return None
    if pa.types.is_decimal(values.type):
        times = epoch_column(values, time_format)
        if times is None or not field.is_list:
            return times
        lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
        return pa.ListArray.from_arrays(offsets, times, mask=column.is_null())
    if field.scalar in (FieldType.IP, FieldType.TIME):
        convert = text_list_column if field.is_list else text_column
        return convert(field, column, time_format, reasons)
    return column


def _schema(source: Source, form: Form) -> pa.Schema | None:
    spelled = dict(form.spelled)
    types: dict[str, pa.DataType] = dict.fromkeys(form.ignored, pa.string())
    for field in source.fields:
        if field.name == EXTRA_FIELD and source.unknown_fields == "extra":
            continue
        types[spelled.get(field.name, field.name)] = _json_type(field, field.name in form.text_times)
    if not form.nested:
        return pa.schema(list(types.items()))
    tree: dict = {}
    for name, kind in types.items():
        *parents, leaf = name.split(".")
        level = tree
        for parent in parents:
            level = level.setdefault(parent, {})
            if not isinstance(level, dict):
                return None
        if leaf in level:
            return None
        level[leaf] = kind
    return pa.schema([pa.field(name, _struct(kind)) for name, kind in tree.items()])


def _struct(kind: Mapping | pa.DataType) -> pa.DataType:
    if isinstance(kind, Mapping):
        return pa.struct([pa.field(name, _struct(inner)) for name, inner in kind.items()])
    return kind


def _json_type(field: Field, text_time: bool) -> pa.DataType:
    match field.scalar:
        case FieldType.IP:
            scalar = pa.string()
        case FieldType.TIME:
            scalar = pa.string() if text_time else _DECIMAL
        case kind:
            scalar = ARROW_TYPES[kind]
    return pa.list_(scalar) if field.is_list else scalar


def _collect(name: str, column: pa.Array, found: dict[str, pa.Array]) -> None:
    """Structs taken apart into columns of dotted names; a null parent makes its children null."""
    if not pa.types.is_struct(column.type):
        found[name] = column
        return
    for field, inner in zip(column.type, column.flatten(), strict=True):
        _collect(f"{name}.{field.name}", inner, found)


def _find(value: dict, name: str) -> object:
    """The item of a dotted name, written with dots or nested."""
    if name in value:
        return value[name]
    head, dot, tail = name.partition(".")
    inner = value.get(head)
    return _find(inner, tail) if dot and isinstance(inner, dict) else None
