"""Gathers the values of decoded JSON objects as raw columns of texts, from which a definition's rules make fields.

A value's name is the path to it, its keys joined by dots; keys may have dots themselves. A raw column has the text of a
string, of a number, of ``true`` and ``false``, and the JSON text of an array or object. The column of a list has a
list of such texts for each row; the path to its values may lead through arrays of objects.

Records of a log have few shapes, by which they are grouped: the values of a key in all records of a shape are treated
at once, and objects among them are grouped in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import compress
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from watchfloor.ingest.columns.convert import Reasons
from watchfloor.ingest.columns.json_text import write_json
from watchfloor.ingest.columns.rows import Positions
from watchfloor.ingest.columns.scalars import Unfit
from watchfloor.ingest.mapping.field_mapper import RawColumns

from .json_values import MAX_DEPTH, Record

Unknown = dict[int, dict[str, Any]]
"""By row: the values of which no column is wanted, by their names."""
_NESTED = frozenset({dict, list})
_LISTS = frozenset({list, NoneType})
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
        """Adds a value of any kind. Raises ``Unfit`` if it is nested too deep."""
        if type(value) in _NESTED:
            if not self.is_list:
                value = write_json(value)
            elif type(value) is list:
                value = [write_json(item) if type(item) in _NESTED else item for item in value]
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
        self._below: dict[str, list[str]] = {}
        for name in wanted:
            for dot in (place for place, character in enumerate(name) if character == "."):
                self._below.setdefault(name[:dot], []).append(name)
        self._places: dict[str, _Place] = {}
        self._top: dict[str, _Place] = {}
        self._others: list[Record] = []
        self._faults: Reasons = {}

    def gather(self, records: Sequence[Record]) -> None:
        """Adds the values of all records."""
        self._others = [{} for _ in records]
        self._gather(range(len(records)), records, self._top, "", 0)

    @property
    def scalar_names(self) -> list[str]:
        """The names of values of which no column is wanted, without those that are arrays or objects in a record."""
        is_scalar: dict[str, bool] = {}
        for values in self._others:
            for name, value in values.items():
                is_scalar[name] = is_scalar.get(name, True) and type(value) not in _NESTED
        return [name for name, scalar in is_scalar.items() if scalar]

    def finish(self) -> tuple[RawColumns, Unknown, Reasons]:
        """Returns the raw columns, the values without a column, and the faults of records."""
        raw: dict[str, pa.Array] = {}
        for name, place in self._places.items():
            if place.rows:
                rows = np.array(place.rows, np.int64)
                self._find_twice(place, rows)
                raw[name] = _make_column(place, rows, len(self._others))
        return raw, {row: others for row, others in enumerate(self._others) if others}, self._faults

    def _gather(
        self, rows: Sequence[int], records: Sequence[Record], level: dict[str, _Place], prefix: str, depth: int
    ) -> None:
        shapes: dict[tuple[str, ...], tuple[list[int], list[Record]]] = {}
        for row, record in zip(rows, records, strict=True):
            shape = tuple(record)
            if (group := shapes.get(shape)) is None:
                group = shapes[shape] = ([], [])
            group[0].append(row)
            group[1].append(record)
        for shape, (places, found) in shapes.items():
            for key, values in zip(shape, zip(*map(dict.values, found), strict=True), strict=True):
                place = level.get(key)
                if place is None:
                    place = level[key] = self._find_place(prefix + key)
                self._add_values(place, places, values, prefix + key, depth)

    def _add_values(self, place: _Place, rows: Sequence[int], values: Sequence[Any], path: str, depth: int) -> None:
        """Adds the values of a key in records of one shape; ``rows`` are those of the records."""
        kinds = set(map(type, values))
        if NoneType in kinds:
            rows, values = _select(rows, values, [value is not None for value in values])
            kinds.discard(NoneType)
        if dict in kinds and not place.is_whole and not place.is_ignored:
            is_object = [type(value) is dict for value in values]
            self._add_objects(place, *_select(rows, values, is_object), path, depth)
            rows, values = _select(rows, values, [not one for one in is_object])
            kinds.discard(dict)
        if not place.is_wanted:
            if not place.is_ignored:
                self._add_others(place.name, rows, values)
        elif kinds.isdisjoint(_NESTED):
            place.rows += rows
            place.values += values
        else:
            self._add_each(place.add, rows, values)
        if place.inner and not kinds.isdisjoint(_NESTED):
            nested = _select(rows, values, [type(value) in _NESTED for value in values])
            self._add_each(partial(_add_inner, place), *nested)

    def _add_objects(
        self, place: _Place, rows: Sequence[int], objects: Sequence[Record], path: str, depth: int
    ) -> None:
        if depth < MAX_DEPTH:
            self._gather(rows, objects, place.below, f"{path}.", depth + 1)
            return
        for row in rows:
            self._faults.setdefault(row, f"field {place.name[:60]}: nested more than {MAX_DEPTH} levels deep")

    def _add_others(self, name: str, rows: Sequence[int], values: Sequence[Any]) -> None:
        for row, value in zip(rows, values, strict=True):
            others = self._others[row]
            if name in others:
                self._faults.setdefault(row, f"field {name[:60]}: it comes twice")
            others[name] = value

    def _add_each(self, add: Callable[[int, Any], None], rows: Sequence[int], values: Sequence[Any]) -> None:
        for row, value in zip(rows, values, strict=True):
            try:
                add(row, value)
            except Unfit as error:
                self._faults.setdefault(row, str(error))

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
            place.inner += [(inner[len(name) + 1 :], self._find_place(inner)) for inner in self._below.get(name, ())]
        return place

    def _find_twice(self, place: _Place, rows: Positions) -> None:
        """Adds a fault for each row that has a name twice, once nested and once with dots."""
        for row in np.flatnonzero(np.bincount(rows) > 1).tolist():
            self._faults.setdefault(row, f"field {place.name[:60]}: it comes twice")


def _select(rows: Sequence[int], values: Sequence[Any], keep: Sequence[bool]) -> tuple[list[int], list[Any]]:
    return list(compress(rows, keep)), list(compress(values, keep))


def _add_inner(place: _Place, row: int, value: Any) -> None:
    """Adds the wanted values below an array, or below an object that is not walked through."""
    for path, inner in place.inner:
        found = _find_members(value, path) if "." not in path else list(find_values(value, path))
        if found:
            inner.add(row, found if inner.is_list else found[0])


def _find_members(value: Any, key: str) -> list[Any]:
    """Returns what ``find_values`` finds for a path without dots, usually without its steps."""
    objects = value if type(value) is list else [value]
    if all(type(one) is dict for one in objects):
        found = [one[key] for one in objects if key in one]
        if set(map(type, found)).isdisjoint(_LISTS):
            return found
    return list(find_values(value, key))


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


def _make_column(place: _Place, rows: Positions, count: int) -> pa.Array:
    """Returns a column of ``count`` rows with the values of a place; null in other rows."""
    if place.is_list:
        lists = [value if isinstance(value, list) else [value] for value in place.values]
        values = pa.array([[to_text(item) for item in items] for items in lists], pa.list_(pa.string()))
    else:
        values = pa.array(_to_texts(place.values), pa.string())
    if np.array_equal(rows, np.arange(count)):
        return values
    takes = np.full(count, -1, np.int64)
    takes[rows] = np.arange(len(rows))
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
