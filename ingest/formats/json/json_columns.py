"""Gathers the values of decoded JSON objects as raw columns of texts, from which a definition's rules make fields.

A value's name is the path to it, its keys joined by dots; keys may have dots themselves. A raw column has the text of a
string, of a number, of ``true`` and ``false``, and the JSON text of an array or object. The column of a list has a
list of such texts for each row; the path to its values may lead through arrays of objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from watchfloor.ingest.columns.convert import Reasons
from watchfloor.ingest.columns.json_text import write_json
from watchfloor.ingest.columns.scalars import Unfit
from watchfloor.ingest.mapping.field_mapper import RawColumns

from .json_values import MAX_DEPTH, Record

Unknown = dict[int, dict[str, Any]]
"""By row: the values of which no column is wanted, by their names."""
_TRUTH = {True: "true", False: "false"}


@dataclass
class _Place:
    """A name in the records: ``values[i]`` is its value in the row ``rows[i]``.

    ``inner`` are wanted names below this one, which is an array, or an object that is wanted whole (``is_whole``).
    """

    name: str
    is_wanted: bool
    is_list: bool
    is_ignored: bool
    is_whole: bool
    inner: list[tuple[str, _Place]]
    below: dict[str, _Place] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, row: int, value: Any) -> None:
        """Adds a value. Raises ``Unfit`` if it is nested too deep."""
        if type(value) in (dict, list):
            if not self.is_list:
                value = write_json(value)
            elif type(value) is list:
                value = [write_json(item) if type(item) in (dict, list) else item for item in value]
        self.rows.append(row)
        self.values.append(value)


class RecordColumns:
    """Raw columns of one chunk's records. ``rename`` gives the raw name of a path; None for a path without meaning."""

    def __init__(
        self,
        wanted: Mapping[str, bool],
        ignored: Iterable[str] = (),
        rename: Callable[[str], str | None] | None = None,
    ) -> None:
        """``wanted`` are the raw names of columns; true for columns of lists."""
        self._wanted, self._ignored, self._rename = wanted, frozenset(ignored), rename
        self._places: dict[str, _Place] = {}
        self._top: dict[str, _Place] = {}
        self._unknown: Unknown = {}
        self._faults: Reasons = {}

    def add(self, row: int, record: Record) -> None:
        """Adds the values of a record. Rows come in their order."""
        others: Record = {}
        try:
            self._walk(row, record, self._top, "", others, 0)
        except Unfit as error:
            self._faults.setdefault(row, str(error))
        if others:
            self._unknown[row] = others

    @property
    def scalar_names(self) -> list[str]:
        """The names of values of which no column is wanted, without those that are arrays or objects in a record."""
        is_scalar: dict[str, bool] = {}
        for values in self._unknown.values():
            for name, value in values.items():
                is_scalar[name] = is_scalar.get(name, True) and type(value) not in (dict, list)
        return [name for name, scalar in is_scalar.items() if scalar]

    def finish(self, count: int) -> tuple[RawColumns, Unknown, Reasons]:
        """Returns the raw columns of ``count`` rows, the values without a column, and the faults of records."""
        raw: dict[str, pa.Array] = {}
        for name, place in self._places.items():
            if place.rows:
                self._find_twice(place)
                raw[name] = _make_column(place, count)
        return raw, self._unknown, self._faults

    def _walk(
        self, row: int, record: Record, level: dict[str, _Place], prefix: str, others: Record, depth: int
    ) -> None:
        for key, value in record.items():
            if value is None:
                continue
            place = level.get(key)
            if place is None:
                place = level[key] = self._find_place(prefix + key)
            kind = type(value)
            if kind is str and place.is_wanted:  # most values
                place.rows.append(row)
                place.values.append(value)
            elif kind is dict and not place.is_whole and not place.is_ignored:
                if depth >= MAX_DEPTH:
                    raise Unfit(f"field {place.name[:60]}: nested more than {MAX_DEPTH} levels deep")
                self._walk(row, value, place.below, f"{prefix}{key}.", others, depth + 1)
            elif place.is_wanted:
                place.add(row, value)
            elif not place.is_ignored:
                if place.name in others:
                    raise Unfit(f"field {place.name[:60]}: it comes twice")
                others[place.name] = value
            if place.inner and (kind is list or (kind is dict and (place.is_whole or place.is_ignored))):
                _add_inner(row, value, place)

    def _find_place(self, path: str) -> _Place:
        name = path if self._rename is None else self._rename(path)
        if name is None:
            return _Place(path, is_wanted=False, is_list=False, is_ignored=True, is_whole=False, inner=[])
        place = self._places.get(name)
        if place is None:
            is_wanted = name in self._wanted
            ignored = not is_wanted and name in self._ignored
            # The text of an XML element that has attributes too is a member of an object.
            has_text = self._rename is not None and self._rename(f"{path}.#text") == name
            place = _Place(name, is_wanted, self._wanted.get(name, False), ignored, is_wanted and not has_text, [])
            self._places[name] = place
            below = name + "."
            place.inner += [
                (inner[len(below) :], self._find_place(inner)) for inner in self._wanted if inner.startswith(below)
            ]
        return place

    def _find_twice(self, place: _Place) -> None:
        """Adds a fault for each row that has a name twice, once nested and once with dots."""
        twice = np.flatnonzero(np.diff(np.array(place.rows, np.int64)) <= 0)
        for at in twice.tolist():
            self._faults.setdefault(place.rows[at + 1], f"field {place.name}: it comes twice")


def _add_inner(row: int, value: Any, place: _Place) -> None:
    """Adds the wanted values below an array, or below an object that is not walked through."""
    for path, inner in place.inner:
        found = list(find_values(value, path))
        if found:
            inner.add(row, found if inner.is_list else found[0])


def find_values(value: Any, path: str) -> Iterable[Any]:
    """Iterates over the values at a path below a value, through all elements of arrays."""
    if isinstance(value, list):
        for element in value:
            yield from find_values(element, path)
    elif not path:
        if value is not None:
            yield value
    elif isinstance(value, dict):
        if path in value:
            yield from find_values(value[path], "")
            return
        for key, item in value.items():
            if path.startswith(f"{key}."):
                yield from find_values(item, path[len(key) + 1 :])


def _make_column(place: _Place, count: int) -> pa.Array:
    """Returns a column of ``count`` rows with the values of a place; null in other rows."""
    if place.is_list:
        lists = [value if isinstance(value, list) else [value] for value in place.values]
        values = pa.array([[to_text(item) for item in items] for items in lists], pa.list_(pa.string()))
    else:
        values = pa.array(_to_texts(place.values), pa.string())
    if len(place.rows) == count:
        return values
    takes = np.full(count, -1, np.int64)
    takes[place.rows] = np.arange(len(place.rows))
    return values.take(pa.array(takes, mask=takes < 0))


def _to_texts(values: list[Any]) -> list[str | None]:
    kinds = set(map(type, values))
    if kinds == {str}:
        return values
    return list(map(str, values)) if kinds == {int} else list(map(to_text, values))


def to_text(value: Any) -> str | None:
    """Returns the text of a value; None of null."""
    match value:
        case None | str():
            return value
        case bool():
            return _TRUTH[value]
        case int() | Decimal():
            return str(value)
        case float():
            return repr(value)
    return write_json(value)
