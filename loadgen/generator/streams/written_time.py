"""Formats a time like another one: in the same format, zone and number of digits.

``watchfloor.ingest.columns.scalars`` defines the formats and reads them; this module writes them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from watchfloor.ingest.columns.scalars import EPOCH_UNITS
from watchfloor.schema.times import END_OF_TIME, EPOCH, from_micros

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(?:([.,])(\d{1,30}))?(Z|([+-])(\d\d):?(\d\d)?)?",
    re.ASCII,
)
_NUMBER = re.compile(r"[0-9]+(?:\.([0-9]*))?", re.ASCII)
_SECOND = 1_000_000


def format_time_like(text: str, micros: int, time_format: str) -> str | None:
    """Returns ``micros`` since 1970 UTC in the form of ``text``, a time in one of a definition's formats.

    Digits that the text has no room for are cut off; digits finer than a microsecond are zeros. Returns None for a form
    that cannot be kept (``1.7e9``) and for a time outside the range of events.
    """
    if not 0 <= micros < END_OF_TIME:
        return None
    if "%" in time_format:
        return _format_pattern(text, micros, time_format)
    iso = _ISO.fullmatch(text)
    if iso is not None:
        return _format_iso(iso, micros)
    number = _NUMBER.fullmatch(text)
    if number is None or time_format not in EPOCH_UNITS:
        return None
    power = EPOCH_UNITS[time_format]
    whole, rest = divmod(micros, 10**power)
    if number[1] is None:
        return str(whole)
    return f"{whole}.{_format_decimals(rest, power, len(number[1]))}"


def _format_iso(like: re.Match[str], micros: int) -> str:
    separator, point, fraction, zone, sign, hours, minutes = like.groups()
    ahead = (60 * int(hours) + int(minutes or 0)) * (1 if sign == "+" else -1) if sign else 0
    seconds, rest = divmod(micros, _SECOND)
    local = EPOCH + timedelta(seconds=seconds, minutes=ahead)
    decimals = f"{point}{_format_decimals(rest, 6, len(fraction))}" if fraction else ""
    return f"{local:%Y-%m-%d}{separator}{local:%H:%M:%S}{decimals}{zone or ''}"


def _format_pattern(text: str, micros: int, pattern: str) -> str | None:
    # Reading by a pattern is slow, and the zones of a log are few.
    apart = pattern.endswith(" %z")
    try:
        zone = _parse_zone(text.rpartition(" ")[2], "%z") if apart else _parse_zone(text, pattern)
    except ValueError:
        return None
    return from_micros(micros).astimezone(zone).strftime(pattern)


@lru_cache(1 << 10)
def _parse_zone(text: str, pattern: str) -> tzinfo:
    return datetime.strptime(text, pattern).tzinfo or UTC


def _format_decimals(rest: int, power: int, count: int) -> str:
    """Returns the first ``count`` decimals of ``rest`` / 10 ** ``power``."""
    return f"{rest:0{power}}"[:count].ljust(count, "0") if power else "0" * count
