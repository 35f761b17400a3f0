"""Converts points in time between text that people write, microseconds since 1970 UTC, and ISO 8601.

Inside Watchfloor a point in time is an ``int``: microseconds since 1970 UTC. This file is the only place that knows
the epoch and the end of time, and the only one that turns microseconds into text.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from .errors import TimeRangeError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The moment from which microseconds are counted."""
END_OF_TIME = 9_214_646_400_000_000
"""2262-01-01 in microseconds. The time of every event lies in [0, END_OF_TIME)."""
YEAR_1, YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
"""The bounds of the times that Python's ``datetime`` can hold, in microseconds: [YEAR_1, YEAR_10000)."""

_MICROSECOND = timedelta(microseconds=1)
_UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
_RELATIVE = re.compile(r"(?:now)?([+-])((?:\d{1,12}(?:us|ms|[smhdw]))+)", re.ASCII | re.IGNORECASE)
_DURATION = re.compile(r"(?:\d{1,12}(?:us|ms|[smhdw]))+", re.ASCII | re.IGNORECASE)
_STEP = re.compile(r"(\d+)([a-z]+)", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,20})?", re.ASCII)
# A number with fewer digits, like 2016 or 20160301, is refused: it is more likely a date than seconds since 1970.
_SHORTEST_EPOCH = 9
FORMS = "2016-03-01, 2016-03-01T12:00:00+01:00, 1456833600, now or -4h"


def parse_time(text: str, now: int) -> int:
    """Returns the microseconds since 1970 UTC of ISO 8601, seconds since 1970, ``now``, ``-4h`` or ``-1d12h``.

    Relative times count from ``now``, in microseconds. A time without a zone is in UTC. Units are us, ms, s, m, h, d,
    w. Digits finer than a microsecond are cut off. Raises ``TimeRangeError`` for text that is not a time in the
    years 1 to 9999.
    """
    word = text.strip()
    if word.lower() == "now":
        return now
    if match := _RELATIVE.fullmatch(word):
        steps = _STEP.findall(match[2].lower())
        return _check_years(now + int(match[1] + "1") * sum(int(n) * _UNITS[unit] for n, unit in steps), text)
    if _NUMBER.fullmatch(word):
        if word.strip("+-").isdigit() and len(word.strip("+-")) < _SHORTEST_EPOCH and word != "0":
            raise TimeRangeError(f"{text!r} is ambiguous: write a date as 2016-03-01, an epoch second as 1456833600.0")
        return epoch_micros(Decimal(word), text)
    try:
        moment = datetime.fromisoformat(word.upper())
    except ValueError:
        raise TimeRangeError(f"{text!r} is no time; write it as {FORMS}") from None
    return _check_years(to_micros(moment if moment.tzinfo else moment.replace(tzinfo=UTC)), text)


def parse_duration(text: str) -> int:
    """Returns the microseconds of ``1h``, ``1d12h`` or ``0s``; raises ``TimeRangeError`` if it is no duration."""
    if not _DURATION.fullmatch(text.strip()):
        raise TimeRangeError(f"{text!r} is no duration; write it as 1h, 90m or 1d12h (us, ms, s, m, h, d, w)")
    return sum(int(n) * _UNITS[unit] for n, unit in _STEP.findall(text.lower()))


def format_width(micros: int) -> str:
    """Returns a number of microseconds, exactly, as ``parse_duration`` reads it: ``1h``, ``90s`` as ``1m30s``."""
    steps = []
    for unit in ("d", "h", "m", "s", "ms", "us"):
        count, micros = divmod(micros, _UNITS[unit])
        if count:
            steps.append(f"{count}{unit}")
    return "".join(steps) or "0s"


def epoch_micros(seconds: int | float | Decimal, text: str = "") -> int:
    """Returns seconds since 1970 as microseconds; raises ``TimeRangeError`` beyond the years 1 to 9999."""
    try:
        micros = int((Decimal(str(seconds)) * 1_000_000).to_integral_value(rounding="ROUND_FLOOR"))
    except ArithmeticError:
        raise TimeRangeError(f"{text or seconds!r} is no time") from None
    return _check_years(micros, text or str(seconds))


def to_micros(moment: datetime) -> int:
    """Returns the microseconds since 1970 UTC of an aware ``datetime``, exactly."""
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Returns a time as an aware ``datetime`` in UTC; raises ``TimeRangeError`` beyond the years 1 to 9999."""
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise TimeRangeError(f"{micros:,} µs since 1970 is outside the years 1 to 9999") from None


def format_micros(micros: int) -> str:
    """Returns a time as ISO 8601 in UTC, always with six decimals: ``2026-01-08T12:00:00.000000Z``."""
    # Not strftime, which writes the years before 1000 with fewer than four digits.
    return f"{from_micros(micros).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def clip_range(since: int | None, until: int | None) -> tuple[int | None, int | None]:
    """Returns the part of [since, until) in which events can lie; None leaves an end open, as before.

    A range in which none can lie becomes the microsecond at ``END_OF_TIME``, so that no range is ever empty.
    """
    since = None if since is None else max(since, 0)
    until = None if until is None else min(until, END_OF_TIME)
    if (until is not None and until <= 0) or (since is not None and since >= END_OF_TIME):
        return END_OF_TIME, END_OF_TIME + 1
    return since, until


def close_range(since: int | None, until: int | None) -> tuple[int, int]:
    """Returns [since, until) with the first and the last time that events can have in place of open ends (None)."""
    return 0 if since is None else since, END_OF_TIME if until is None else until


def format_moment(moment: datetime) -> str:
    """Returns an aware ``datetime`` as ISO 8601 in UTC, with decimals only if it has any: ``2026-01-08T12:00:00Z``."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _check_years(micros: int, text: str) -> int:
    """Returns ``micros``; raises ``TimeRangeError`` beyond the years 1 to 9999."""
    try:
        EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        hint = "; epoch times are seconds, not milliseconds" if _NUMBER.fullmatch(text.strip()) else ""
        raise TimeRangeError(f"{text!r} is outside the years 1 to 9999{hint}") from None
    return micros
