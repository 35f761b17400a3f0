"""Converts stats to their JSON form and back; the form is for programs that do not write text.

{"aggregates": [AGGREGATE, …], "by": [KEY, …], "stages": [STAGE, …]}
AGGREGATE: {"function": "count"}    {"function": "sum", "field": "bytes", "as": "total"}
           {"function": "count", "where": FILTER}    {"function": "quantile", "field": "bytes", "share": 0.95}
KEY: {"field": "domain"}    {"bucket": "1h"}    {"prefix": "src", "bits": 24, "bits6": 64}
STAGE: {"sort": ["-count", "domain"]}    {"having": FILTER}    {"limit": 20}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from watchfloor.schema.errors import FilterError
from watchfloor.schema.filter.json_form import describe_kind, read_filter_form, reject_other_keys
from watchfloor.schema.filter.json_form import to_json as filter_to_json
from watchfloor.schema.filter.syntax.limits import check_terms
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.text import shorten_value
from watchfloor.schema.times import format_width

from . import names
from . import tree as s

_KEYS = {"field": set[str](), "bucket": set[str](), "prefix": {"bits", "bits6"}}
"""The members beside ``as`` that each kind of key allows."""
_STAGES = ("sort", "having", "limit")
_MOST_BITS = 64
_Value = TypeVar("_Value")


def to_json(stats: s.Stats) -> dict[str, Any]:
    """Returns the JSON form of stats. Aggregates always have their names, keys only others than the default ones."""
    out: dict[str, Any] = {"aggregates": [_write_aggregate(aggregate) for aggregate in stats.aggregates]}
    if stats.keys:
        out["by"] = [_write_key(key) for key in stats.keys]
    if stats.stages:
        out["stages"] = [_write_stage(stage) for stage in stats.stages]
    return out


def from_json(form: Any) -> s.Stats:
    """Returns the untyped tree of a JSON form; raises ``FilterError`` with the place, as in ``stats.by[1].bits``."""
    return _FormReader().read_stats(form)


def _write_aggregate(aggregate: s.Aggregate) -> dict[str, Any]:
    out: dict[str, Any] = {"function": aggregate.function}
    if aggregate.field is not None:
        out["field"] = aggregate.field
    if aggregate.where is not None:
        out["where"] = filter_to_json(aggregate.where)
    if aggregate.share is not None:
        out["share"] = aggregate.share
    return out | {"as": aggregate.name}


def _write_key(key: s.Key) -> dict[str, Any]:
    match key:
        case s.FieldKey(_, field):
            out: dict[str, Any] = {"field": field}
        case s.BucketKey(_, width):
            out = {"bucket": format_width(width)}
        case s.PrefixKey(_, field, bits, bits6):
            out = {"prefix": field, "bits": bits, "bits6": bits6}
    return out if key.name == names.name_key(key) else out | {"as": key.name}


def _write_stage(stage: s.Stage) -> dict[str, Any]:
    match stage:
        case s.Sort(orders):
            return {"sort": [f"{'-' if order.descending else ''}{order.column}" for order in orders]}
        case s.Limit(rows):
            return {"limit": rows}
        case s.Having(where):
            return {"having": filter_to_json(where)}


class _FormReader:
    """Reads one JSON form; ``terms`` counts the terms of all filters in it."""

    def __init__(self) -> None:
        self.terms = 0

    def read_stats(self, form: Any) -> s.Stats:
        """Returns the tree of a whole form."""
        _require_object(form, "stats")
        reject_other_keys(form, {"aggregates", "by", "stages"}, "stats")
        aggregates = tuple(
            self.read_aggregate(part, f"stats.aggregates[{i}]")
            for i, part in enumerate(_read_list(form, "aggregates", names.MAX_AGGREGATES))
        )
        if not aggregates:
            raise FilterError("stats.aggregates: a list of one or more aggregates was expected")
        keys = tuple(_read_key(part, f"stats.by[{i}]") for i, part in enumerate(_read_list(form, "by", names.MAX_KEYS)))
        columns = [*(aggregate.name for aggregate in aggregates), *(key.name for key in keys)]
        index = names.find_repeated(columns)
        if index is not None:
            of_keys = index - len(aggregates)
            at = f"stats.by[{of_keys}]" if of_keys >= 0 else f"stats.aggregates[{index}]"
            raise FilterError(f"{at}: {names.describe_repeated(columns[index])}")
        stages = tuple(
            self.read_stage(part, f"stats.stages[{i}]")
            for i, part in enumerate(_read_list(form, "stages", names.MAX_STAGES))
        )
        return s.Stats(aggregates, keys, stages)

    def read_filter(self, form: Any, at: str) -> Filter:
        """Returns the untyped tree of a filter in the form."""
        tree, terms = read_filter_form(form, at)
        self.terms += terms
        check_terms(self.terms)
        return tree

    def read_aggregate(self, form: Any, at: str) -> s.Aggregate:
        """Returns the aggregate of an object with ``function``."""
        _require_object(form, at)
        function = form.get("function")
        if function not in names.FUNCTIONS:
            found = shorten_value(function) if isinstance(function, str) else describe_kind(function)
            raise FilterError(f"{at}.function: one of {' '.join(names.FUNCTIONS)} was expected, found {found}")
        known = {"function", "field", "as"} | ({"share"} if function == "quantile" else set())
        if function == "count" and "where" in form:
            known = {"function", "where", "as"}
        reject_other_keys(form, known, at)
        if "where" in form:
            return _name_part(
                s.Aggregate(function, "count_if", where=self.read_filter(form["where"], f"{at}.where")), form, at
            )
        field = _read_text(form, "field", at) if "field" in form or function != "count" else None
        share = _convert(form, "share", at, names.convert_share, (int, float)) if function == "quantile" else None
        name = names.name_aggregate(function, field, share)
        return _name_part(s.Aggregate(function, name, field, share=share), form, at)

    def read_stage(self, form: Any, at: str) -> s.Stage:
        """Returns the stage of an object with one member."""
        _require_object(form, at)
        kind = next((kind for kind in _STAGES if kind in form), None)
        if kind is None:
            raise FilterError(f"{at}: sort, having or limit was expected")
        reject_other_keys(form, {kind}, at)
        if kind == "limit":
            return s.Limit(
                _convert(form, "limit", at, lambda rows: names.convert_number(rows, 1, names.MAX_ROWS), (int,))
            )
        if kind == "having":
            return s.Having(self.read_filter(form["having"], f"{at}.having"))
        return read_sort(form["sort"], f"{at}.sort")


def read_sort(columns: Any, at: str) -> s.Sort:
    """Returns the sort by a list of columns, ``-`` before those that descend; raises ``FilterError`` with the place."""
    if not isinstance(columns, list) or not columns:
        raise FilterError(f"{at}: a list of one or more columns was expected")
    for i, column in enumerate(columns):
        if not isinstance(column, str) or not column.removeprefix("-"):
            raise FilterError(f"{at}[{i}]: a column was expected, found {_describe_found(column)}")
    return s.Sort(tuple(s.Order(column.removeprefix("-"), column.startswith("-")) for column in columns))


def _read_key(form: Any, at: str) -> s.Key:
    """Returns the key of an object with ``field``, ``bucket`` or ``prefix``."""
    _require_object(form, at)
    kind = next((kind for kind in _KEYS if kind in form), None)
    if kind is None:
        raise FilterError(f"{at}: field, bucket or prefix was expected")
    reject_other_keys(form, {kind, "as"} | _KEYS[kind], at)
    text = _read_text(form, kind, at)
    key: s.Key
    if kind == "field":
        key = s.FieldKey(text, text)
    elif kind == "bucket":
        key = s.BucketKey("bucket", _convert(form, "bucket", at, names.convert_width, (str,)))
    else:
        bits = _convert(form, "bits", at, lambda value: names.convert_number(value, 0, names.MAX_BITS), (int,))
        bits6 = names.DEFAULT_BITS6
        if "bits6" in form:
            bits6 = _convert(form, "bits6", at, lambda value: names.convert_number(value, 0, names.MAX_BITS6), (int,))
        key = s.PrefixKey(f"prefix_{text}", text, bits, bits6)
    return _name_part(key, form, at)


_Part = TypeVar("_Part", s.Aggregate, s.FieldKey, s.BucketKey, s.PrefixKey, s.Key)


def _name_part(part: _Part, form: Mapping[str, Any], at: str) -> _Part:
    """Returns a part with the name in its form, if there is one; raises ``FilterError`` if its name is none."""
    if "as" in form:
        part = replace(part, name=_read_text(form, "as", at))
    try:
        names.check_name(part.name)
    except ValueError as error:
        raise FilterError(f"{at}: {error}") from None
    return part


def _require_object(form: Any, at: str) -> None:
    """Raises ``FilterError`` unless a form is an object."""
    if not isinstance(form, dict):
        raise FilterError(f"{at}: an object was expected, found {describe_kind(form)}")


def _read_list(form: Mapping[str, Any], member: str, most: int) -> list[Any]:
    """Returns a member that is a list of at most ``most`` parts; an empty list if the form lacks it."""
    parts = form.get(member, [])
    if not isinstance(parts, list):
        raise FilterError(f"stats.{member}: a list was expected, found {describe_kind(parts)}")
    if len(parts) > most:
        raise FilterError(f"stats.{member}: at most {most} fit, found {len(parts):,}")
    return parts


def _read_text(form: Mapping[str, Any], member: str, at: str) -> str:
    """Returns a member that is a text of one or more characters."""
    text = form.get(member)
    if not isinstance(text, str) or not text:
        raise FilterError(f"{at}.{member}: a name was expected, found {_describe_found(text)}")
    return text


def _convert(
    form: Mapping[str, Any], member: str, at: str, convert: Callable[[Any], _Value], kinds: tuple[type, ...]
) -> _Value:
    """Returns a converted member; raises ``FilterError`` if it does not fit or is of no type of ``kinds``."""
    value = form.get(member)
    if not isinstance(value, kinds) or isinstance(value, bool):
        wanted = "a string" if kinds == (str,) else "a number"
        raise FilterError(f"{at}.{member}: {wanted} was expected, found {describe_kind(value)}")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise FilterError(f"{at}.{member}: a number of so many digits does not fit")
    try:
        return convert(value)
    except ValueError as error:
        raise FilterError(f"{at}.{member}: {error}") from None


def _describe_found(value: Any) -> str:
    return "an empty string" if value in ("", "-") else describe_kind(value)
