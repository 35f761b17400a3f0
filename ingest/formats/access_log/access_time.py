"""Parses timestamps of access logs, ``10/Oct/2000:13:55:36 -0700``, by arithmetic on a matrix of their characters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.convert import Reasons, text_octets
from watchfloor.ingest.columns.scalars import Unfit, strptime_parser, unfit_reason
from watchfloor.schema.field import ARROW_TYPES, Field, FieldType

TIME_WIDTH = 26
TIME_FORMAT = "%d/%b/%Y:%H:%M:%S %z"
_MONTHS = b"JanFebMarAprMayJunJulAugSepOctNovDec"
_MONTH_KEYS = [int.from_bytes(_MONTHS[i : i + 3], "big") for i in range(0, 36, 3)]
_DIGITS = (0, 1, 7, 8, 9, 10, 12, 13, 15, 16, 18, 19, 22, 23, 24, 25)
_MARKS = ((2, b"/"), (6, b"/"), (11, b":"), (14, b":"), (17, b":"), (20, b" "))
_parse = strptime_parser(TIME_FORMAT)


def stamp_column(field: Field, text: pa.StringArray, reasons: Reasons) -> pa.Array:
    """Converts texts to times (null stays null). A text that is not a time rejects its row."""
    micros = _matrix_times(text)
    if micros is not None:
        return pa.array(micros, pa.int64()).cast(ARROW_TYPES[FieldType.TIME])
    out: list[int | None] = []
    for row, value in enumerate(text.to_pylist()):
        try:
            out.append(None if value is None else _parse(value))
        except Unfit:
            out.append(None)
            reasons.setdefault(row, unfit_reason(field.name, value, "a time like 10/Oct/2000:13:55:36 -0700"))
    return pa.array(out, pa.int64()).cast(ARROW_TYPES[FieldType.TIME])


def _matrix_times(text: pa.StringArray) -> npt.NDArray[np.int64] | None:
    """Returns microseconds since 1970, or None if any of the texts is not a time in the usual form."""
    if text.null_count or len(text) == 0:
        return None
    lengths = pc.binary_length(text)
    if pc.min(lengths).as_py() != TIME_WIDTH or pc.max(lengths).as_py() != TIME_WIDTH:
        return None
    matrix = text_octets(text).reshape(-1, TIME_WIDTH)
    digits = matrix - np.uint8(48)
    if any((digits[:, place] > 9).any() for place in _DIGITS):
        return None
    if any((matrix[:, place] != ord(mark)).any() for place, mark in _MARKS):
        return None
    sign = matrix[:, 21]
    if not ((sign == ord("+")) | (sign == ord("-"))).all():
        return None

    def number(*places: int) -> npt.NDArray[np.int64]:
        value = np.zeros(len(matrix), np.int64)
        for place in places:
            value = value * 10 + digits[:, place]
        return value

    letters = matrix[:, 3:6].astype(np.int64)
    keys = letters[:, 0] << 16 | letters[:, 1] << 8 | letters[:, 2]
    month = np.zeros(len(matrix), np.int64)
    for place, key in enumerate(_MONTH_KEYS):
        month[keys == key] = place + 1
    day, year = number(0, 1), number(7, 8, 9, 10)
    hour, minute, second = number(12, 13), number(15, 16), number(18, 19)
    zone_hour, zone_minute = number(22, 23), number(24, 25)
    months = (year - 1970) * 12 + month - 1
    # Days since 1970 at which the month and the following month begin.
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    following = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    good = (month > 0) & (year > 0) & (day > 0) & (first + day <= following)
    good &= (hour < 24) & (minute < 60) & (second < 60) & (zone_hour < 24) & (zone_minute < 60)
    if not good.all():
        return None
    zone = np.where(sign == ord("+"), 1, -1) * (zone_hour * 60 + zone_minute)
    minutes = (first + day - 1) * 1440 + hour * 60 + minute - zone
    return (minutes * 60 + second) * 1_000_000
