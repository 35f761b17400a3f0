"""Parses one value of text at a time: strictly, and with the reason if it does not fit.

These functions define what is accepted. The column converters take shortcuts for whole columns and come back here for
every value of a column that a shortcut could not take whole, so the result for a value never depends on the other
values of its column.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Any

from watchfloor.schema.field import FieldType
from watchfloor.schema.text import shorten_value
from watchfloor.schema.times import YEAR_1, YEAR_10000, to_micros

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1

_INT = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,30}))?(?:(Z)|([+-])(\d\d):?(\d\d)?)?", re.ASCII
)
_EXAMPLE = datetime(2000, 10, 10, 13, 55, 36, tzinfo=timezone(timedelta(hours=-7)))
EPOCH_UNITS = {"epoch": 6, "epoch_ms": 3, "epoch_us": 0}
"""The power of ten by which a number in each epoch format becomes microseconds."""

WANTED = {
    FieldType.STRING: "a string",
    FieldType.INT: "an integer of 64 bits",
    FieldType.FLOAT: "a finite number",
    FieldType.BOOL: "T or F",
    FieldType.TIME: "a time",
    FieldType.IP: "an IP address",
    FieldType.PORT: "a port (0 to 65535)",
}
"""The description of each type's values, for reasons."""


class Unfit(ValueError):
    """A value that is not of its type; the message describes what was wanted."""


def unfit_reason(name: str, value: object, wanted: str) -> str:
    """Returns the reason for rejecting a line whose field has an unfit value. ``wanted`` describes a fit one."""
    return f"field {name}: {shorten_value(value)} is not {wanted}"


def parse_int(text: str) -> int:
    """Returns a decimal integer of 64 bits."""
    if not _INT.fullmatch(text) or len(text) > 400 or not INT64_MIN <= (value := int(text)) <= INT64_MAX:
        raise Unfit(WANTED[FieldType.INT])
    return value


def parse_float(text: str) -> float:
    """Returns a finite number."""
    if not _NUMBER.fullmatch(text) or (value := float(text)) in (float("inf"), float("-inf")):
        raise Unfit(WANTED[FieldType.FLOAT])
    return value


def parse_bool(text: str) -> bool:
    """Returns a truth value as Zeek writes it: ``T`` or ``F``."""
    if text not in ("T", "F"):
        raise Unfit(WANTED[FieldType.BOOL])
    return text == "T"


def parse_port(text: str) -> int:
    """Returns a port number."""
    if not _INT.fullmatch(text) or len(text) > 400 or not 0 <= (value := int(text)) <= 65535:
        raise Unfit(WANTED[FieldType.PORT])
    return value


@lru_cache(1 << 16)
def parse_ip(text: str) -> str:
    """Returns an address in its normal form (RFC 5952)."""
    try:
        if ":" in text:
            return str(IPv6Address(socket.inet_pton(socket.AF_INET6, text)))
        return socket.inet_ntop(socket.AF_INET, socket.inet_pton(socket.AF_INET, text))
    except (OSError, ValueError):
        raise Unfit(WANTED[FieldType.IP]) from None


def parse_epoch(text: str, power: int = 6) -> int:
    """Converts a number since 1970 to microseconds, halves rounded up.

    ``power`` is 6 for seconds, 3 for milliseconds, 0 for microseconds.


    ISO 8601 is taken too: tools that write epochs can be set to write it.
    """
    if _ISO.fullmatch(text):
        return parse_iso(text)
    if not _NUMBER.fullmatch(text):
        number = "a number of seconds" if power == 6 else "a number"
        raise Unfit(f"a time ({number} since 1970, or ISO 8601)")
    return epoch_number(Decimal(text), power)


def epoch_number(number: Decimal | int, power: int) -> int:
    """Converts a number as ``parse_epoch`` does. Raises ``Unfit`` if the time is out of range."""
    exact = Decimal(number)
    if abs(exact) >= Decimal(10) ** (18 - power):
        raise Unfit("a time (out of range)")
    scaled = exact.scaleb(power) + Decimal("0.5")
    return in_years(int(scaled // 1) - (1 if scaled < 0 and scaled % 1 else 0))


def parse_iso(text: str) -> int:
    """Returns microseconds since 1970, halves rounded up, for an ISO 8601 date and time; UTC if it has no zone."""
    match = _ISO.fullmatch(text)
    if match is None:
        raise Unfit("a time (ISO 8601)")
    year, month, day, hour, minute, second, fraction, _, sign, zone_hours, zone_minutes = match.groups()
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError as error:
        raise Unfit(f"a time ({error})") from None
    micros = to_micros(moment)
    if fraction:
        micros += (int(fraction[:7].ljust(7, "0")) + 5) // 10
    if sign:
        hours, minutes = int(zone_hours), int(zone_minutes or 0)
        if hours > 23 or minutes > 59:
            raise Unfit("a time (its zone is out of range)")
        micros -= (60 * hours + minutes) * 60_000_000 * (1 if sign == "+" else -1)
    return in_years(micros)


def strptime_parser(pattern: str) -> Callable[[str], int]:
    """Returns a parser of texts in a ``strptime`` pattern to microseconds since 1970; UTC if they have no zone.

    A fraction of a second (``.%f``) may be missing from a text.
    """

    @lru_cache(1 << 14)
    def parse(text: str) -> int:
        moment = _try_pattern(text, pattern) or _try_pattern(text, pattern.replace(".%f", ""))
        if moment is None:
            raise Unfit(f"a time like {_EXAMPLE.strftime(pattern)}")
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return in_years(to_micros(moment))

    return parse


def _try_pattern(text: str, pattern: str) -> datetime | None:
    try:
        return datetime.strptime(text, pattern)
    except ValueError:
        return None


def time_parser(time_format: str) -> Callable[[str], int]:
    """Returns a parser of texts in a definition's timestamp format to microseconds since 1970."""
    if time_format in EPOCH_UNITS:
        power = EPOCH_UNITS[time_format]
        return lambda text: parse_epoch(text, power)
    if time_format == "iso8601":
        return parse_iso
    return strptime_parser(time_format)


def scalar_parser(kind: FieldType, time_format: str) -> Callable[[str], Any]:
    """Returns the function that parses one text of this type, or raises ``Unfit``."""
    match kind:
        case FieldType.INT:
            return parse_int
        case FieldType.FLOAT:
            return parse_float
        case FieldType.BOOL:
            return parse_bool
        case FieldType.PORT:
            return parse_port
        case FieldType.IP:
            return parse_ip
        case FieldType.TIME:
            return time_parser(time_format)
        case _:
            return str


def in_years(micros: int) -> int:
    """Returns ``micros`` if it lies in the years 1 to 9999, which calendars and Python can show.

    Raises ``Unfit`` otherwise.
    """
    if not YEAR_1 <= micros < YEAR_10000:
        raise Unfit("a time (out of the years 1 to 9999)")
    return micros
