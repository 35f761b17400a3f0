"""Parses times of one ``strptime`` pattern whose parts have fixed widths, by arithmetic on a matrix of characters.

It takes a column only if each of its texts has the same length and is a time; what it takes, ``strptime`` takes too,
with the same result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_WIDTHS = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2, "b": 3, "z": 5}
_MONTHS = b"JanFebMarAprMayJunJulAugSepOctNovDec"
_MONTH_KEYS = [int.from_bytes(_MONTHS[i : i + 3], "big") for i in range(0, 36, 3)]
_PIECES = re.compile(r"%(.)|([^%]+)", re.DOTALL)
_MOST_FRACTION = 6
_Octets = npt.NDArray[np.uint8]
_Numbers = npt.NDArray[np.int64]


def parse_fixed(text: pa.StringArray, pattern: str) -> _Numbers | None:
    """Returns microseconds since 1970, UTC where the pattern has no zone; None if a text has another form."""
    if text.null_count or not len(text):
        return None
    width = pc.min(pc.binary_length(text)).as_py()
    places = _find_places(pattern, width)
    if places is None or pc.max(pc.binary_length(text)).as_py() != width:
        return None
    bounds = np.frombuffer(text.buffers()[1], np.int32, len(text) + 1, text.offset * 4)
    matrix = np.frombuffer(text.buffers()[2], np.uint8)[bounds[0] : bounds[-1]].reshape(-1, width)
    parts: dict[str, _Numbers] = {}
    for directive, start, end in places:
        cells = matrix[:, start:end]
        if len(directive) > 1:
            if (cells != np.frombuffer(directive[1:].encode(), np.uint8)).any():
                return None
        elif (found := _read_part(directive, cells)) is not None:
            parts[directive] = found
        else:
            return None
    return _join_parts(parts, len(text))


@lru_cache(64)
def _find_places(pattern: str, width: int) -> tuple[tuple[str, int, int], ...] | None:
    """Returns the directives of a pattern, and literals as ``=TEXT``, with their places in texts of ``width`` bytes.

    Returns None if the pattern has no such form, or makes no date.
    """
    pieces = list(_split_pattern(pattern))
    directives = [name for name, _ in pieces if len(name) == 1]
    if len(directives) != len({*directives}) or not {*"YdHMS"} <= {*directives} or not {*"mb"} & {*directives}:
        return None
    if any(size is None and name != "f" for name, size in pieces):
        return None
    rest = width - sum(size or 0 for _, size in pieces)
    if not (1 <= rest <= _MOST_FRACTION if "f" in directives else rest == 0):
        return None
    places, at = [], 0
    for name, size in pieces:
        end = at + (rest if size is None else size)
        places.append((name, at, end))
        at = end
    return tuple(places)


def _split_pattern(pattern: str) -> Iterator[tuple[str, int | None]]:
    """Yields the pieces of a pattern and their widths; None: it has no fixed width."""
    for match in _PIECES.finditer(pattern):
        directive, literal = match.groups()
        if directive is not None:
            yield directive, _WIDTHS.get(directive)
        else:
            yield f"={literal}", len(literal.encode())


def _read_part(directive: str, cells: _Octets) -> _Numbers | None:
    """Returns the numbers of one part: a month's number for its name, µs for a fraction, µs east of UTC for a zone."""
    if directive == "b":
        letters = cells.astype(np.int64)
        keys = letters[:, 0] << 16 | letters[:, 1] << 8 | letters[:, 2]
        month = np.zeros(len(cells), np.int64)
        for place, key in enumerate(_MONTH_KEYS, 1):
            month[keys == key] = place
        return month
    digits = cells[:, 1:] - np.uint8(48) if directive == "z" else cells - np.uint8(48)
    if (digits > 9).any():
        return None
    number = np.zeros(len(cells), np.int64)
    for place in range(digits.shape[1]):
        number = number * 10 + digits[:, place]
    if directive == "f":
        return number * 10 ** (_MOST_FRACTION - digits.shape[1])
    if directive == "z":
        sign = cells[:, 0]
        hours, minutes = number // 100, number % 100
        if not ((sign == ord("+")) | (sign == ord("-"))).all() or hours.max() > 23 or minutes.max() > 59:
            return None
        return np.where(sign == ord("+"), 1, -1) * (60 * hours + minutes) * 60_000_000
    return number


def _join_parts(parts: dict[str, _Numbers], count: int) -> _Numbers | None:
    """Returns the times that the parts make; None if one of them is no time."""
    month = parts["b"] if "b" in parts else parts["m"]
    year, day, hour, minute, second = (parts[name] for name in "YdHMS")
    months = (year - 1970) * 12 + month - 1
    # Days since 1970 at which the month and the following month begin.
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    following = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    good = (month > 0) & (month < 13) & (year > 0) & (day > 0) & (first + day <= following)
    good &= (hour < 24) & (minute < 60) & (second < 60)
    if not good.all():
        return None
    minutes = (first + day - 1) * 1440 + hour * 60 + minute
    micros = (minutes * 60 + second) * 1_000_000
    return micros + parts.get("f", np.zeros(count, np.int64)) - parts.get("z", np.zeros(count, np.int64))
