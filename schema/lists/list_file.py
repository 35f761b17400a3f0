"""Reads the values of a named list from text: a plain file, a value a line, or CSV.

In a plain file blank lines, and all from a ``#`` at the start of a line or after white space, are no values; the text
after the ``#`` is the comment of the value before it. In CSV values and comments are columns.
"""

from __future__ import annotations

import csv
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Any

import pyarrow as pa

from watchfloor.schema.choices import LIST_KINDS, LIST_SCALARS, LIST_TYPES
from watchfloor.schema.errors import TimeRangeError, UserError, suggest_names
from watchfloor.schema.field import ARROW_TYPES, FieldType
from watchfloor.schema.filter.print import format_value
from watchfloor.schema.filter.value_list import MAX_LIST_VALUES
from watchfloor.schema.filter.values import convert_value
from watchfloor.schema.meaning.forms import guess_kinds, read_network
from watchfloor.schema.text import format_number, shorten_value

MAX_LIST_BYTES = 64 << 20
"""The largest number of bytes of a list's text."""
MAX_COMMENT = 200
"""The largest number of characters of a comment; longer ones are cut."""
_SHOWN_FAULTS = 10
_Row = tuple[int, str, str]
"""The number of a line, the text of its value, and its comment."""


@dataclass(frozen=True)
class ListFormat:
    """The form of a list's text. ``type`` is one of ``LIST_TYPES``; None takes that of the first value: ip or string.

    ``column`` and ``comment`` are columns of CSV: a number from 1, or a name in the first line. Without both the text
    is plain unless ``is_csv``, in which the values are in the first column.
    """

    type: str | None = None
    column: str | None = None
    comment: str | None = None
    is_csv: bool = False
    skip_bad: bool = False


@dataclass(frozen=True, eq=False)
class ListValues:
    """The values of a list. ``values`` is a column of ``scalar`` values, in the order of the text.

    ``comments`` has the comments by the text of a value or a network. ``skipped`` is the number of bad lines.
    """

    type: str
    scalar: FieldType
    values: pa.Array
    networks: tuple[IPv4Network | IPv6Network, ...]
    comments: Mapping[str, str] = field(default_factory=dict)
    skipped: int = 0

    @property
    def count(self) -> int:
        return len(self.values) + len(self.networks)


def read_list(data: bytes, form: ListFormat) -> ListValues:
    """Returns the values of a list's text, each once. Raises ``UserError`` that names the bad lines, unless skipped."""
    if form.type is not None and form.type not in LIST_TYPES:
        raise UserError(f"unknown type {shorten_value(form.type)}; known are {', '.join(LIST_TYPES)}")
    if len(data) > MAX_LIST_BYTES:
        raise UserError(f"the list has {len(data):,} bytes; at most {MAX_LIST_BYTES:,} are allowed")
    lines = data.decode("utf-8-sig", "surrogateescape").splitlines()
    is_csv = form.is_csv or form.column is not None or form.comment is not None
    rows = _read_csv_rows(lines, form) if is_csv else _read_plain_rows(lines)
    return _Reader(form).read_rows(rows)


class _Reader:
    """Converts the rows of one list."""

    def __init__(self, form: ListFormat) -> None:
        self._form = form
        self._faults: list[str] = []
        self._fault_count = 0

    def read_rows(self, rows: Iterable[_Row]) -> ListValues:
        kind = self._form.type
        values: dict[Any, None] = {}
        networks: dict[IPv4Network | IPv6Network, None] = {}
        comments: dict[str, str] = {}
        convert: Callable[[str], Any] | None = None
        for number, text, comment in rows:
            if kind is None:
                kind = "ip" if guess_kinds(text) == ("ip",) else "string"
            convert = convert or _choose_converter(kind)
            network = read_network(text) if kind == "ip" and "/" in text else None
            try:
                value = convert(text) if network is None else network
            except (ValueError, TimeRangeError) as error:
                self._add_fault(number, str(error))
                continue
            if network is None:
                values[value] = None
            else:
                networks[network] = None
            if comment:
                comments[show_entry(value)] = comment[:MAX_COMMENT]
            if len(values) + len(networks) > MAX_LIST_VALUES:
                raise UserError(f"the list has more than {MAX_LIST_VALUES:,} values; split it into several lists")
        self._check_faults()
        if not values and not networks:
            raise UserError("the list has no values")
        kind = kind or "string"
        scalar = FieldType(kind) if kind in LIST_SCALARS else FieldType.STRING
        column = pa.array(list(values), ARROW_TYPES[scalar])
        return ListValues(kind, scalar, column, tuple(networks), comments, self._fault_count)

    def _add_fault(self, number: int, reason: str) -> None:
        self._fault_count += 1
        if len(self._faults) < _SHOWN_FAULTS:
            self._faults.append(f"line {number:,}: {reason}")

    def _check_faults(self) -> None:
        """Raises ``UserError`` for bad lines, unless they are to be skipped."""
        if not self._faults or self._form.skip_bad:
            return
        more = self._fault_count - len(self._faults)
        lines = "\n  ".join([*self._faults, *([f"and {format_number(more, 'more line')}"] if more else [])])
        bad = format_number(self._fault_count, "bad line")
        raise UserError(f"nothing was stored, because of {bad}; leave them out with --skip-bad (skip_bad)\n  {lines}")


def show_entry(value: Any) -> str:
    """Returns a value of a list, or a network, as it is shown; comments are kept by this text."""
    return str(value) if isinstance(value, (str, IPv4Network, IPv6Network)) else format_value(value)


def _choose_converter(kind: str) -> Callable[[str], Any]:
    """Returns the function from the text of a value to the value, an address as text. It raises ``ValueError``."""
    if kind == "ip":
        return _read_address
    if kind in LIST_KINDS:
        return lambda text: _read_of_kind(text, kind)
    return lambda text: convert_value(text, FieldType(kind), 0)


def _read_address(text: str) -> str:
    try:
        socket.inet_pton(socket.AF_INET, text)
    except (OSError, ValueError):
        return str(convert_value(text, FieldType.IP, 0))
    return text


def _read_of_kind(text: str, kind: str) -> str:
    if kind not in guess_kinds(text):
        raise ValueError(f"{shorten_value(text)} is no {kind}")
    return str(convert_value(text, FieldType.STRING, 0))


def _read_plain_rows(lines: Iterable[str]) -> Iterator[_Row]:
    for number, line in enumerate(lines, 1):
        value, _, comment = line.replace("\t#", " #").partition(" #") if "#" in line else (line, "", "")
        value = value.strip()
        if value and value[0] != "#":
            yield number, value, comment.strip()


def _read_csv_rows(lines: list[str], form: ListFormat) -> Iterator[_Row]:
    """Yields the rows of CSV; a row is named by its last line."""
    reader = csv.reader(lines)
    try:
        column, comment, first = _find_columns(reader, form)
        for row in [first, *reader] if first is not None else reader:
            if any(row):
                value = row[column].strip() if column < len(row) else ""
                yield reader.line_num, value, row[comment].strip() if comment is not None and comment < len(row) else ""
    except csv.Error as error:
        raise UserError(f"line {reader.line_num:,}: this is no CSV: {error}") from None


def _find_columns(reader: Iterator[list[str]], form: ListFormat) -> tuple[int, int | None, list[str] | None]:
    """Returns the places of the values and of the comments, and the first row unless it names the columns."""
    named = [name for name in (form.column, form.comment) if name is not None and not name.isdecimal()]
    first = next(reader, [])
    if not named:
        numbers = [None if name is None else int(name) - 1 for name in (form.column, form.comment)]
        if any(number is not None and number < 0 for number in numbers):
            raise UserError("columns are counted from 1")
        return numbers[0] or 0, numbers[1], first
    names = [name.strip() for name in first]
    for name in named:
        if name not in names:
            raise UserError(f"the first line has no column {shorten_value(name)}{suggest_names(name[:200], names)}")
    places = [
        None if n is None else int(n) - 1 if n.isdecimal() else names.index(n) for n in (form.column, form.comment)
    ]
    return places[0] or 0, places[1], None
