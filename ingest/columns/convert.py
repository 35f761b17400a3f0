"""Converts columns of text to columns of typed values, with a reason for every row that does not fit.

Whole columns go through Arrow and numpy. A shortcut is taken only where it gives what ``scalars`` would give for every
value; a column with a single doubtful value goes through ``scalars``, value by value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.field import ARROW_TYPES, Field, FieldType

from .fixed_time import parse_fixed
from .scalars import EPOCH_UNITS, YEAR_1, YEAR_10000, Unfit, scalar_parser, unfit_reason

Reasons = dict[int, str]
"""The reason for which a line is rejected, by row number. The first reason found stays."""

_DIGITS = np.zeros(256, bool)
_DIGITS[np.frombuffer(b"0123456789-", np.uint8)] = True
_NUMERIC = _DIGITS.copy()
_NUMERIC[np.frombuffer(b".eE+", np.uint8)] = True
_DECIMAL = _DIGITS.copy()
_DECIMAL[ord(".")] = True
_EPOCH_SCALE = 9  # decimal places that are kept of an epoch number
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"^({_BYTE}\.){{3}}{_BYTE}$"


def text_column(field: Field, text: pa.StringArray, time_format: str, reasons: Reasons) -> pa.Array:
    """Converts a scalar field's texts (null: no value) to its Arrow type.

    Rows that do not fit become null and get a reason.
    """
    return convert_texts(field.name, field.scalar, text, time_format, reasons)


def text_list_column(field: Field, lists: pa.ListArray, time_format: str, reasons: Reasons) -> pa.ListArray:
    """Converts a list field's lists of texts to lists of its element type.

    An element that does not fit rejects its row.
    """
    elements = lists.flatten()
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(lists)), lengths)
    typed = convert_texts(field.name, field.scalar, elements, time_format, reasons, rows)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(offsets, typed, mask=mask)


def text_octets(text: pa.StringArray) -> npt.NDArray[np.uint8]:
    """Returns the bytes of all the strings of an array, one after the other."""
    buffers = text.buffers()
    if len(text) == 0 or buffers[2] is None:
        return np.empty(0, np.uint8)
    bounds = np.frombuffer(buffers[1], np.int32, len(text) + 1, text.offset * 4)
    return np.frombuffer(buffers[2], np.uint8)[bounds[0] : bounds[-1]]


def convert_texts(
    name: str,
    kind: FieldType,
    text: pa.StringArray,
    time_format: str,
    reasons: Reasons,
    rows: npt.NDArray[np.int64] | None = None,
) -> pa.Array:
    """Converts texts to values of a type.

    ``rows`` holds the row number of each text, for elements of lists; None if text i belongs to row i.
    """
    if kind is FieldType.STRING:
        return text
    if kind is FieldType.IP:
        return _convert_addresses(name, text, reasons, rows)
    try:
        quick = _convert_whole(kind, text, time_format)
    except pa.ArrowInvalid:
        quick = None
    if quick is not None:
        return quick
    if kind is FieldType.TIME and "%" in time_format:
        return _parse_each_distinct(name, kind, text, time_format, reasons, rows)
    return pa.array(_parse_each(name, kind, text.to_pylist(), time_format, reasons, rows), _storage_type(kind)).cast(
        ARROW_TYPES[kind]
    )


def _convert_whole(kind: FieldType, text: pa.StringArray, time_format: str) -> pa.Array | None:
    """Returns the column if a shortcut takes all of it; otherwise None."""
    match kind:
        case FieldType.INT if _DIGITS[text_octets(text)].all():
            return text.cast(pa.int64())
        case FieldType.PORT if _DIGITS[text_octets(text)].all():
            return text.cast(pa.uint16())
        case FieldType.FLOAT if _NUMERIC[text_octets(text)].all():
            numbers = text.cast(pa.float64())
            return numbers if pc.all(pc.is_finite(numbers)).as_py() is not False else None
        case FieldType.BOOL:
            truth = pc.equal(text, "T")
            known = pc.or_(truth, pc.equal(text, "F"))
            return truth if pc.all(known).as_py() is not False else None
        case FieldType.TIME if time_format in EPOCH_UNITS and _DIGITS[text_octets(text)].all():
            return _whole_epoch_column(text.cast(pa.int64()), time_format)
        case FieldType.TIME if time_format in EPOCH_UNITS and _DECIMAL[text_octets(text)].all():
            return epoch_column(text.cast(pa.decimal128(28, _EPOCH_SCALE)), time_format)
        case FieldType.TIME if "%" in time_format and (micros := _parse_fixed(text, time_format)) is not None:
            return _times_of_micros(micros, text)
        case FieldType.TIME if (time_format == "iso8601" or time_format in EPOCH_UNITS) and _is_iso(text):
            return _iso_column(text)
    return None


def _parse_fixed(text: pa.StringArray, pattern: str) -> npt.NDArray[np.int64] | None:
    """Returns times of a pattern, of which all texts have the fraction of a second, or none has."""
    found = parse_fixed(text, pattern)
    return found if found is not None or ".%f" not in pattern else parse_fixed(text, pattern.replace(".%f", ""))


def _whole_epoch_column(numbers: pa.Int64Array, time_format: str) -> pa.Array | None:
    """Converts whole numbers to times. Returns None if one is out of the years that times may have."""
    factor = 10 ** EPOCH_UNITS[time_format]
    whole = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    if len(whole) and not YEAR_1 // factor < whole.min() <= whole.max() < YEAR_10000 // factor:
        return None
    return _times_of_micros(whole * factor, numbers)


def epoch_column(numbers: pa.Decimal128Array, time_format: str) -> pa.Array | None:
    """Converts decimals of scale 9 to times. Returns None if one is out of the range that this shortcut covers."""
    words = np.frombuffer(numbers.buffers()[1], np.int64, 2 * len(numbers), numbers.offset * 16).reshape(-1, 2)
    # The high word of a number that fits into the low one only repeats its sign.
    low, high = words[:, 0], words[:, 1]
    if numbers.null_count:
        valid = numbers.is_valid().to_numpy(zero_copy_only=False)
        low, high = np.where(valid, low, 0), np.where(valid, high, 0)
    if (high != low >> 63).any():
        return None
    divisor = 10 ** (_EPOCH_SCALE - EPOCH_UNITS[time_format])
    if len(low) and low.max() > np.iinfo(np.int64).max - divisor:
        return None
    return _times_of_micros((low + divisor // 2) // divisor, numbers)


def _iso_column(text: pa.StringArray) -> pa.Array | None:
    """Converts texts in strict ISO form to times. Returns None if one is out of the range that this shortcut covers."""
    try:
        stamps = text.cast(pa.timestamp("ns", tz="UTC"))
    except pa.ArrowInvalid:
        stamps = text.cast(pa.timestamp("ns"))  # no value has a zone
    nanos = stamps.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if len(nanos) and nanos.max() > np.iinfo(np.int64).max - 500:
        return None
    return _times_of_micros((nanos + 500) // 1000, text)


def _is_iso(text: pa.StringArray) -> bool:
    """Returns true if each value has date, time and seconds where the strict form has them.

    Arrow's own parser accepts more forms.
    """
    bounds = np.frombuffer(text.buffers()[1], np.int32, len(text) + 1, text.offset * 4)
    begins = bounds[:-1]
    if text.null_count:
        begins = begins[text.is_valid().to_numpy(zero_copy_only=False)]
        if not len(begins):
            return True
        lengths = pc.binary_length(text.drop_null()).to_numpy()
    else:
        lengths = np.diff(bounds)
    if len(begins) == 0:
        return True
    if lengths.min() < 19:
        return False
    data = np.frombuffer(text.buffers()[2], np.uint8)
    separator = data[begins + 10]
    return bool(((separator == ord("T")) | (separator == ord(" "))).all() and (data[begins + 16] == ord(":")).all())


def _times_of_micros(micros: npt.NDArray[np.int64], like: pa.Array) -> pa.Array | None:
    """Returns a column of times with the nulls of ``like``; None if one is outside the years 1 to 9999."""
    if len(micros) and (micros.min() < YEAR_1 or micros.max() >= YEAR_10000):
        return None
    mask = None if not like.null_count else like.is_null().to_numpy(zero_copy_only=False)
    return pa.array(micros, pa.int64(), mask=mask).cast(ARROW_TYPES[FieldType.TIME])


def _convert_addresses(
    name: str, text: pa.StringArray, reasons: Reasons, rows: npt.NDArray[np.int64] | None
) -> pa.StringArray:
    """Converts addresses. An IPv4 address as it is usually written is in normal form already; the others are parsed."""
    usual = pc.match_substring_regex(text, _IPV4)
    if pc.all(usual).as_py() is not False:
        return text
    others = pc.if_else(usual, pa.scalar(None, pa.string()), text)
    return pc.if_else(usual, text, _parse_each_distinct(name, FieldType.IP, others, "", reasons, rows))


def _parse_each(
    name: str,
    kind: FieldType,
    values: list[str | None],
    time_format: str,
    reasons: Reasons,
    rows: npt.NDArray[np.int64] | None,
) -> list[Any]:
    """Returns the value of each text; None, and a reason in ``reasons``, for a text that does not fit."""
    parse = scalar_parser(kind, time_format)
    out: list[Any] = []
    for place, value in enumerate(values):
        if value is None:
            out.append(None)
            continue
        try:
            out.append(parse(value))
        except Unfit as error:
            out.append(None)
            reasons.setdefault(place if rows is None else int(rows[place]), unfit_reason(name, value, str(error)))
    return out


def _parse_each_distinct(
    name: str,
    kind: FieldType,
    text: pa.StringArray,
    time_format: str,
    reasons: Reasons,
    rows: npt.NDArray[np.int64] | None,
) -> pa.Array:
    """Converts a column, and parses each distinct text only once."""
    coded = text.dictionary_encode()
    distinct = coded.dictionary.to_pylist()
    faults: Reasons = {}
    typed = _parse_each(name, kind, distinct, time_format, faults, None)
    if faults:
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        for place in np.flatnonzero(np.isin(codes, list(faults))):
            reasons.setdefault(int(place if rows is None else rows[place]), faults[int(codes[place])])
    return pa.array(typed, _storage_type(kind)).take(coded.indices).cast(ARROW_TYPES[kind])


def _storage_type(kind: FieldType) -> pa.DataType:
    """Returns the type in which parsed values are collected: times are integers until the final cast."""
    return pa.int64() if kind is FieldType.TIME else ARROW_TYPES[kind]
