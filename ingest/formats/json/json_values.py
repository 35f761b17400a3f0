"""Converts decoded JSON objects to columns, value by value, with a precise reason for each line that does not fit.

This defines what JSON lines mean; ``json_fast`` gives the same for whole chunks without Python objects.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.convert import Reasons, convert_texts
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.scalars import (
    EPOCH_UNITS,
    INT64_MAX,
    INT64_MIN,
    WANTED,
    Unfit,
    epoch_number,
    time_parser,
    unfit_reason,
)
from watchfloor.schema.definition import EXTRA_FIELD
from watchfloor.schema.field import ARROW_TYPES, Field, FieldType
from watchfloor.schema.source import Source
from watchfloor.schema.text import shorten, shorten_value

MAX_DEPTH = 32
Record = dict[str, Any]


@dataclass(frozen=True)
class FieldNaming:
    """Maps keys to fields: ``aliases`` are other spellings of fields' names, ``ignored`` keys are left out."""

    aliases: Mapping[str, str]
    ignored: frozenset[str] = frozenset()


PLAIN = FieldNaming({})
_HIDDEN_COLON = re.compile(rb'"[ \t\r]+:|\\u0022|\\u003[aA]')


def decode_object(raw: bytes) -> Record:
    """Returns a line's JSON object, numbers with a fraction as ``Decimal``.

    Raises ``Unfit`` with the reason if it holds none.
    """
    try:
        value = _decoder.decode(raw.decode().strip(" \t\r"))
        # Only an escape can bring half of a surrogate pair into a text, and only encoding the text shows it.
        if b"\\ud" in raw or b"\\uD" in raw:
            json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise Unfit("not JSON: half of a surrogate pair stands alone") from None
    except RecursionError:
        raise Unfit("not JSON that can be read: it is nested too deep") from None
    except (ValueError, ArithmeticError) as error:
        raise Unfit(f"not JSON: {shorten(str(error) or type(error).__name__, 200)}") from None
    if not isinstance(value, dict):
        raise Unfit(f"not a JSON object but {_describe_kind(value)}")
    return value


def decode_line(raw: bytes) -> Record:
    """Returns a line's JSON object, read by orjson, or by ``decode_object`` if orjson refuses it.

    Of a key that comes twice only the last value may be there.
    """
    return _decode_quickly(raw) or decode_object(raw)


def hides_colons(data: bytes) -> bool:
    """Returns true if JSON text may have a key, or a quotation mark and a colon, that their two bytes do not show."""
    # The search for single texts is so fast that the one for the expression is seldom needed.
    if b" :" in data or b"\t:" in data or b"\r:" in data or b"\\u00" in data:
        return _HIDDEN_COLON.search(data) is not None
    return False


def decode_unique(raw: bytes, is_plain: bool) -> Record:
    """Returns a line's JSON object as ``decode_line`` does. Raises ``Unfit`` if a key comes twice.

    ``is_plain``: it is known that the line hides no colons.
    """
    value = _decode_quickly(raw)
    if value is None or (not is_plain and hides_colons(raw)):
        return decode_object(raw)
    # Each key of the line has one quotation mark and colon behind it, and other such places are in texts. So the line
    # has more of them than what was read of it if a key came twice.
    try:
        written = orjson.dumps(value)
    except TypeError:  # it is nested deep
        return decode_object(raw)
    return value if raw.count(b'":') == written.count(b'":') else decode_object(raw)


def decode_records(lines: Iterable[bytes]) -> list[Record]:
    """Returns the JSON objects among lines; other lines are left out."""
    return [record for record in map(_decode_quickly, lines) if record is not None]


def _decode_quickly(raw: bytes) -> Record | None:
    try:
        value: Any = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def flatten_record(source: Source, value: Record, naming: FieldNaming) -> tuple[Record, Record]:
    """Returns the values of the source's fields and those of other names, nested names joined by dots.

    A null counts as a missing field. Raises ``Unfit`` if a name comes twice.
    """
    known: Record = {}
    unknown: Record = {}
    keep = source.unknown_fields == "extra"
    fields = source.fields_by_name
    levels: list[tuple[str, Record, int]] = [("", value, 0)]
    while levels:
        prefix, level, depth = levels.pop()
        for key, item in level.items():
            name = prefix + key
            if item is None or name in naming.ignored:
                continue
            name = naming.aliases.get(name, name)
            if name in fields and not (keep and name == EXTRA_FIELD):
                if name in known:
                    raise Unfit(f"field {name}: it comes twice")
                known[name] = item
            elif isinstance(item, dict):
                if depth >= MAX_DEPTH:
                    raise Unfit(f"field {name[:60]}: nested more than {MAX_DEPTH} levels deep")
                levels.append((f"{name}.", item, depth + 1))
            else:
                if name in unknown:
                    raise Unfit(f"field {name[:60]}: it comes twice")
                unknown[name] = item
    return known, unknown


def value_columns(source: Source, records: Sequence[Record], leftovers: Leftovers) -> dict[str, pa.Array]:
    """Returns the records' fields as typed arrays. Values that do not fit become null and are left over."""
    present = set().union(*records) if records else set()
    columns: dict[str, pa.Array] = {}
    for field in source.fields:
        if field.name in present:
            values = [record.get(field.name) for record in records]
            faults: Reasons = {}
            columns[field.name] = _value_column(field, list(values), source.time_format, faults)
            leftovers.add_misfits(field.name, faults, values)
    return columns


def _value_column(field: Field, values: list[Any], time_format: str, reasons: Reasons) -> pa.Array:
    """Converts the values of a field to its Arrow type. Values that do not fit become null and get a reason."""
    if not field.is_list:
        return _scalar_column(field.name, field.scalar, values, time_format, reasons, None)
    flat: list[Any] = []
    rows: list[int] = []
    offsets = [0]
    for row, value in enumerate(values):
        if isinstance(value, list):
            flat += value
            rows += [row] * len(value)
        elif value is not None:
            values[row] = None
            reasons.setdefault(row, _wrong_kind_reason(field.name, value, f"a {field.type_name}"))
        offsets.append(len(flat))
    elements = _scalar_column(field.name, field.scalar, flat, time_format, reasons, rows)
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements, mask=mask)


_KINDS: dict[FieldType, frozenset[type]] = {
    FieldType.STRING: frozenset({str}),
    FieldType.IP: frozenset({str}),
    FieldType.INT: frozenset({int}),
    FieldType.PORT: frozenset({int}),
    FieldType.BOOL: frozenset({bool}),
    FieldType.FLOAT: frozenset({int, float, Decimal}),
    FieldType.TIME: frozenset({int, float, Decimal, str}),
}
_WANTED = {**WANTED, FieldType.BOOL: "true or false"}


def _scalar_column(
    name: str, kind: FieldType, values: list[Any], time_format: str, reasons: Reasons, rows: list[int] | None
) -> pa.Array:
    """Converts decoded values to a column. ``rows`` holds the row number of each value; None if value i is of row i."""
    found = set(map(type, values)) - {type(None)}
    if not found <= _KINDS[kind]:
        allowed = _KINDS[kind]
        for place, value in enumerate(values):
            if value is not None and type(value) not in allowed:
                reasons.setdefault(
                    place if rows is None else rows[place], _wrong_kind_reason(name, value, _WANTED[kind])
                )
        values = [value if type(value) in allowed else None for value in values]
        found &= allowed
    if kind is FieldType.IP or (kind is FieldType.TIME and found <= {str}):
        places = None if rows is None else np.array(rows, np.int64)
        return convert_texts(name, kind, pa.array(values, pa.string()), time_format, reasons, places)
    if kind in (FieldType.STRING, FieldType.BOOL):
        return pa.array(values, ARROW_TYPES[kind])
    if kind is not FieldType.TIME and (whole := _convert_numbers(kind, values)) is not None:
        return whole
    convert = _make_converter(kind, time_format)
    out: list[Any] = []
    for place, value in enumerate(values):
        try:
            out.append(None if value is None else convert(value))
        except Unfit as error:
            out.append(None)
            reasons.setdefault(place if rows is None else rows[place], unfit_reason(name, value, str(error)))
    if kind is FieldType.TIME:
        return pa.array(out, pa.int64()).cast(ARROW_TYPES[kind])
    return pa.array(out, ARROW_TYPES[kind])


def _convert_numbers(kind: FieldType, values: list[Any]) -> pa.Array | None:
    """Returns numbers as a column if all of them fit its type; otherwise None."""
    try:
        if kind is FieldType.FLOAT:
            floats = pa.array([None if value is None else float(value) for value in values], pa.float64())
            return floats if pc.all(pc.is_finite(floats)).as_py() is not False else None
        return pa.array(values, ARROW_TYPES[kind])
    except (pa.ArrowInvalid, OverflowError):
        return None


def _make_converter(kind: FieldType, time_format: str) -> Callable[[Any], Any]:
    """Returns a function that converts one decoded number (or the text of a time), or raises ``Unfit``."""
    match kind:
        case FieldType.INT:
            return lambda value: _check_range(value, INT64_MIN, INT64_MAX, FieldType.INT)
        case FieldType.PORT:
            return lambda value: _check_range(value, 0, 65535, FieldType.PORT)
        case FieldType.FLOAT:
            return _check_finite
    parse = time_parser(time_format)
    power = EPOCH_UNITS.get(time_format)

    def moment(value: Any) -> int:
        if isinstance(value, str):
            return parse(value)
        if power is None:
            raise Unfit("a time (text is wanted, not a number)")
        return epoch_number(Decimal(repr(value)) if isinstance(value, float) else value, power)

    return moment


def _check_range(value: int, low: int, high: int, kind: FieldType) -> int:
    if not low <= value <= high:
        raise Unfit(WANTED[kind])
    return value


def _check_finite(value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Unfit(WANTED[FieldType.FLOAT])
    return number


def _wrong_kind_reason(name: str, value: Any, wanted: str) -> str:
    return f"field {name}: {shorten_value(value)} is {_describe_kind(value)}, not {wanted}"


def _describe_kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a JSON boolean"
        case int():
            return "a JSON number"
        case float() | Decimal():
            return "a JSON number with a fraction"
        case str():
            return "a JSON string"
        case list():
            return "a JSON array"
    return "a JSON object"


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> Record:
    """Returns the members of an object as a dictionary. Raises ``ValueError`` if a key comes twice."""
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {shorten_value(key)} comes twice")
            seen.add(key)
    return out


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


_decoder = json.JSONDecoder(object_pairs_hook=_refuse_duplicates, parse_float=Decimal, parse_constant=_refuse_constant)
