"""Converts values of filters to the Python types of fields."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from watchfloor.schema.field import FieldType
from watchfloor.schema.meaning.forms import read_network
from watchfloor.schema.text import shorten_value
from watchfloor.schema.times import epoch_micros, from_micros, parse_time

from .tree import Value

_INTEGER = re.compile(r"[+-]?\d{1,30}", re.ASCII)
# A run of digits can match in one way only, so that the time is linear for every word.
_FLOAT = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
_LONGEST_TIME = 100
_TRUTH = {"true": True, "t": True, "yes": True, "1": True, "false": False, "f": False, "no": False, "0": False}


def convert_value(value: Value, scalar: FieldType, now: int) -> Value:
    """Returns ``value``, which is a word of the text or already typed, as the Python type of ``scalar``.

    Relative times count from ``now`` (µs). Raises ``ValueError`` (times: ``TimeRangeError``) with a reason that names
    the value and the form that fits.
    """
    return _CONVERTERS[scalar](value, now)


def rank_value(value: Value) -> bytes | tuple[int, int] | float | datetime:
    """Returns a key by which values of one type sort: strings by their UTF-8 bytes, IPv4 before IPv6."""
    if isinstance(value, (IPv4Address, IPv6Address)):
        return value.version, int(value)
    return value.encode() if isinstance(value, str) else value


def parse_network(value: Value) -> IPv4Network | IPv6Network | None:
    """Returns the network that a value names (``read_network``); None for a value that is no text."""
    return read_network(value) if isinstance(value, str) else None


def _to_string(value: Value, now: int) -> Value:
    if not isinstance(value, str):
        raise ValueError(f"{shorten_value(value)} is no string; put it in quotes")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("the value holds half of a surrogate pair, which is no character") from None
    return value


def _to_int(value: Value, now: int) -> Value:
    return _to_whole_number(value, -(2**63), 2**63 - 1, "a whole number")


def _to_port(value: Value, now: int) -> Value:
    return _to_whole_number(value, 0, 65_535, "a port number")


def _to_whole_number(value: Value, low: int, high: int, name: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{shorten_value(value)} is not {name}")
    if not low <= value <= high:
        raise ValueError(f"{value} is outside {low}..{high}")
    return value


def _to_float(value: Value, now: int) -> Value:
    if isinstance(value, str) and _FLOAT.fullmatch(value.strip()):
        number = float(value)
        if math.isinf(number) and "inf" not in value.lower():
            raise ValueError(f"{shorten_value(value)} is too large for a float")
        value = number
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{shorten_value(value)} is not a number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{shorten_value(value)} is too large for a float") from None
    if math.isnan(number):
        raise ValueError("nan equals nothing and has no order")
    return number + 0.0  # -0.0 becomes 0.0, as in the store


def _to_bool(value: Value, now: int) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _TRUTH:
        return _TRUTH[value.strip().lower()]
    raise ValueError(f"{shorten_value(value)} is neither true nor false")


def _to_time(value: Value, now: int) -> Value:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value
    if isinstance(value, str):
        if len(value) > _LONGEST_TIME:
            raise ValueError(f"{shorten_value(value)} is no time")
        return from_micros(parse_time(value, now))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{shorten_value(value)} is no time")
    return from_micros(epoch_micros(value))


def _to_address(value: Value, now: int) -> Value:
    if isinstance(value, (IPv4Address, IPv6Address)):
        return value
    if parse_network(value) is not None:
        raise ValueError(f"{value} is a network; write in {value}")
    try:
        if not isinstance(value, str) or "%" in value:
            raise ValueError
        return ip_address(value.strip())
    except ValueError:
        raise ValueError(f"{shorten_value(value)} is no address such as 10.0.0.1 or 2001:db8::1") from None


_CONVERTERS: dict[FieldType, Callable[[Value, int], Value]] = {
    FieldType.STRING: _to_string,
    FieldType.INT: _to_int,
    FieldType.FLOAT: _to_float,
    FieldType.BOOL: _to_bool,
    FieldType.TIME: _to_time,
    FieldType.IP: _to_address,
    FieldType.PORT: _to_port,
}
