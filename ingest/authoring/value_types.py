"""Finds the type of a field by the values of a sample.

A type is taken if at least 99 of 100 values fit it; the others will be kept in ``extra``. Of two time formats that fit
the same values the first of the list is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from watchfloor.ingest.columns.scalars import Unfit, parse_float, parse_int, parse_ip, time_parser
from watchfloor.schema.field import FieldType
from watchfloor.schema.meaning.guess import guess_ecs_name

TIME_FORMATS = (
    "iso8601",
    *(
        f"{day} %H:%M:%S{rest}"
        for rest in ("", ".%f", " %z")
        for day in ("%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m/%d/%y", "%b %d %Y", "%d %b %Y", "%Y-%m-%d")
    ),
    "%d/%b/%Y:%H:%M:%S %z",
    "%a %b %d %H:%M:%S %Y",
    "%a, %d %b %Y %H:%M:%S %z",
    "%m/%d/%Y %I:%M:%S %p",
    "%Y%m%d%H%M%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
)
_EPOCHS = (("epoch", 1), ("epoch_ms", 1_000), ("epoch_us", 1_000_000))
_YEAR_1990, _YEAR_2100 = 631_152_000, 4_102_444_800
_TIME_NAME = re.compile(
    r"(^|[^a-z])(ts|time|timestamp|date|datetime|epoch|created|at|seen|start|end|when)([^a-z]|$)|time$"
)
_PORT_NAME = re.compile(
    r"(^|[^a-z])(s|d|src|dst|source|dest|destination|orig|resp|client|server|remote|local)?_?port([^a-z]|$)"
)
_TRUTHS = ({"true": "T", "false": "F"}, {"yes": "T", "no": "F"}, {"t": "T", "f": "F"})
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_ENOUGH = 0.99


@dataclass(frozen=True)
class ValueType:
    """The type of a field, and what a definition must say to read its texts so.

    ``items`` is the type of a list's elements. ``time_format`` is that of a time. ``values`` are texts to replace.
    """

    type: FieldType
    items: FieldType | None = None
    time_format: str = ""
    values: dict[str, str] = field(default_factory=dict)


STRING = ValueType(FieldType.STRING)


def find_text_type(name: str, texts: Sequence[str]) -> ValueType:
    """Returns the type of a column of texts."""
    if not texts:
        return STRING
    if _fits(texts, parse_ip):
        return ValueType(FieldType.IP)
    if _fits(texts, _parse_whole):
        return _find_number_type(name, [int(text) for text in texts if _WHOLE.fullmatch(text)])
    if _fits(texts, parse_float) and not any(re.fullmatch(r"-?0[0-9]+", text) for text in texts):
        if time_format := _find_epoch(name, [float(text) for text in texts if can_parse(text, parse_float)]):
            return ValueType(FieldType.TIME, time_format=time_format)
        return ValueType(FieldType.FLOAT)
    words = {text.lower() for text in texts}
    for truths in _TRUTHS:
        if words <= truths.keys():
            written = {text: truths[text.lower()] for text in set(texts)} if set(texts) - {"T", "F"} else {}
            return ValueType(FieldType.BOOL, values=written)
    time_format = find_time_format(texts)
    return ValueType(FieldType.TIME, time_format=time_format) if time_format else STRING


def find_json_type(name: str, values: Sequence[Any]) -> ValueType | None:
    """Returns the type of the values of a JSON key, of which none is null; None if they are of several kinds."""
    if all(isinstance(value, list) for value in values):
        items = [item for value in values for item in value]
        inner = find_json_type(name, items) if items else STRING
        if inner is None or inner.type in (FieldType.LIST, FieldType.TIME):
            return None
        return ValueType(FieldType.LIST, items=inner.type)
    if all(isinstance(value, bool) for value in values):
        return ValueType(FieldType.BOOL)
    if all(isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) for value in values):
        if all(isinstance(value, int) for value in values):
            return _find_number_type(name, list(values))
        time_format = _find_epoch(name, [float(value) for value in values])
        return ValueType(FieldType.TIME, time_format=time_format) if time_format else ValueType(FieldType.FLOAT)
    if not all(isinstance(value, str) for value in values):
        return None
    texts = [value for value in values if value]
    if texts and _fits(texts, parse_ip):
        return ValueType(FieldType.IP)
    time_format = find_time_format(texts) if texts else ""
    return ValueType(FieldType.TIME, time_format=time_format) if time_format else STRING


def find_time_format(texts: Sequence[str]) -> str:
    """Returns the first time format that the texts have; empty if they have none."""
    if not any(character.isdigit() for character in texts[0]):
        return ""
    for time_format in TIME_FORMATS:
        parse = time_parser(time_format)
        if can_parse(texts[0], parse) and _fits(texts, parse):
            return time_format
    return ""


def is_ambiguous(time_format: str, texts: Sequence[str]) -> bool:
    """Returns True if the texts are times too when day and month change places."""
    for one, other in (("%m/%d/", "%d/%m/"), ("%d/%m/", "%m/%d/")):
        if one in time_format:
            return _fits(texts, time_parser(time_format.replace(one, other)))
    return False


def _find_number_type(name: str, numbers: Sequence[int]) -> ValueType:
    if time_format := _find_epoch(name, numbers):
        return ValueType(FieldType.TIME, time_format=time_format)
    is_port = _PORT_NAME.search(name.lower()) is not None or guess_ecs_name(name, FieldType.PORT.value)
    if is_port and all(0 <= number <= 65535 for number in numbers):
        return ValueType(FieldType.PORT)
    return ValueType(FieldType.INT)


def _find_epoch(name: str, numbers: Sequence[float]) -> str:
    """Returns the unit of numbers that may be times after 1990, of a field whose name says that they are."""
    if not _TIME_NAME.search(name.lower()):
        return ""
    for time_format, factor in _EPOCHS:
        if all(_YEAR_1990 * factor <= number <= _YEAR_2100 * factor for number in numbers):
            return time_format
    return ""


def _parse_whole(text: str) -> int:
    """Returns a whole number; one with zeros before it is an identifier."""
    if not _WHOLE.fullmatch(text):
        raise Unfit("a whole number")
    return parse_int(text)


def can_parse(text: str, parse: Callable[[str], Any]) -> bool:
    """Returns True if a parser takes a text."""
    try:
        parse(text)
    except Unfit:
        return False
    return True


def _fits(texts: Sequence[str], parse: Callable[[str], Any]) -> bool:
    """Returns True if nearly all texts can be parsed."""
    return sum(can_parse(text, parse) for text in texts) >= _ENOUGH * len(texts)
