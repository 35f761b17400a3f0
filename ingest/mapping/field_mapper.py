"""Makes the typed columns of a source from raw columns of texts.

A text that does not fit its field's type is kept in ``extra`` under the field's name, where the source has such a
field, and the event goes without the value. Only the time, and fields that the definition marks as required, reject
the line; in a source without ``extra`` every field does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.convert import Reasons, text_column, text_list_column
from watchfloor.schema.definition import EXTRA_FIELD
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.source import Source
from watchfloor.schema.text import shorten_value

from .conversions import CHANGES, replace_values
from .field_rule import FieldRule, read_rules
from .patterns import PATTERN_COLUMN

RawColumns = Mapping[str, pa.StringArray]
"""Columns of texts by their raw names, null where a line has none."""
_NOTHING = pa.scalar(None, pa.string())


class FieldMapper:
    """Makes the columns of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rules = read_rules(source)
        self._ignored = frozenset({*source.parser.get("ignore", ()), PATTERN_COLUMN})
        self._used = {origin for rule in self._rules for origin in rule.origins}
        self._keeps_extra = source.unknown_fields == "extra"

    def is_wanted(self, name: str) -> bool:
        """Returns True if a raw column makes a field or is kept in ``extra``."""
        return name in self._used or name not in self._ignored

    def map_columns(self, raw: RawColumns, count: int, reasons: Reasons) -> dict[str, pa.Array]:
        """Returns the columns of the fields that occur, of ``count`` rows, and adds a reason for each rejected row."""
        columns: dict[str, pa.Array] = {}
        kept: dict[int, dict[str, str]] = defaultdict(dict)
        for rule in self._rules:
            text = _read_text(rule, raw, count)
            if text is None or text.null_count == len(text):
                continue
            columns[rule.name] = self._convert(rule, text, kept, reasons)
        for name in raw:
            if name not in self._used and name not in self._ignored:
                self._keep_unknown(name, raw[name], kept, reasons)
        if kept:
            texts = [orjson.dumps(kept[row]).decode() if row in kept else None for row in range(count)]
            columns[EXTRA_FIELD] = pa.array(texts, pa.string())
        return columns

    def _convert(
        self, rule: FieldRule, text: pa.StringArray, kept: dict[int, dict[str, str]], reasons: Reasons
    ) -> pa.Array:
        """Converts a column of texts to the type of its field, and decides about those that do not fit."""
        field = self._source.fields_by_name[rule.name]
        misfits: Reasons = {}
        column = _convert_texts(field, rule, text, self._source.time_format, misfits)
        for row, reason in misfits.items():
            if rule.is_required or not self._keeps_extra:
                reasons.setdefault(row, reason)
            else:
                kept[row][rule.name] = text[row].as_py()
        return column

    def _keep_unknown(self, name: str, text: pa.StringArray, kept: dict[int, dict[str, str]], reasons: Reasons) -> None:
        """Keeps the values of a raw column that makes no field, or rejects the rows that have one."""
        absent = self._source.parser.get("absent", ("", "-"))
        has_value = pc.and_kleene(text.is_valid(), pc.invert(pc.is_in(text, pa.array(absent, pa.string()))))
        for row in np.flatnonzero(has_value.to_numpy(zero_copy_only=False)).tolist():
            value = text[row].as_py()
            if self._keeps_extra:
                kept[row][name] = value
            else:
                shown = f"{self._source.name} has no such field (its value is {shorten_value(value)})"
                reasons.setdefault(row, f"column {name[:60]}: {shown}")


def _read_text(rule: FieldRule, raw: RawColumns, count: int) -> pa.StringArray | None:
    """Returns a field's column of texts, changed as its rule says; None if no raw column makes it."""
    if rule.constant is not None:
        return pa.array([rule.constant]).take(pa.array(np.zeros(count, np.int64)))
    found = [_drop_absent(raw[origin], rule.absent) for origin in rule.origins if origin in raw]
    if not found or (rule.join is not None and len(found) < len(rule.origins)):
        return None
    if rule.join is not None:
        text = pc.binary_join_element_wise(*found, rule.join) if len(found) > 1 else found[0]
    else:
        text = pc.coalesce(*found) if len(found) > 1 else found[0]
    if rule.pattern is not None:
        text = _match_group(text, rule.pattern)
    for name in rule.convert:
        text = CHANGES[name](text)
    if rule.values:
        text = replace_values(text, rule.values)
    return text


def _convert_texts(field: Field, rule: FieldRule, text: pa.StringArray, time_format: str, misfits: Reasons) -> pa.Array:
    if rule.formats:
        return _convert_times(field, text, rule.formats, misfits)
    if field.is_list:
        return text_list_column(field, pc.split_pattern(text, rule.split or ","), time_format, misfits)
    if rule.scale is None:
        return text_column(field, text, time_format, misfits)
    number = Field(field.name, FieldType.FLOAT)
    scaled = pc.multiply(text_column(number, text, time_format, misfits), rule.scale)
    return pc.round(scaled).cast(field.arrow) if field.type is FieldType.INT else scaled


def _convert_times(field: Field, text: pa.StringArray, formats: Sequence[str], misfits: Reasons) -> pa.Array:
    """Converts texts to times by the first format that fits each; the reasons are those of the last format."""
    times, rest, faults = pa.nulls(len(text), field.arrow), text, Reasons()
    for time_format in formats:
        faults = {}
        times = pc.coalesce(times, text_column(field, rest, time_format, faults))
        if not faults:
            break
        rest = pc.if_else(times.is_valid(), _NOTHING, text)
    misfits.update(faults)
    return times


def _drop_absent(text: pa.StringArray, absent: frozenset[str]) -> pa.StringArray:
    """Returns a column without the texts that mean that there is no value."""
    is_absent = pc.is_in(text, pa.array(sorted(absent), pa.string()))
    return pc.if_else(is_absent, _NOTHING, text) if pc.any(is_absent).as_py() else text


def _match_group(text: pa.StringArray, pattern: str) -> pa.StringArray:
    """Returns what the group ``value`` of a pattern matches in each text; null where the pattern does not match."""
    found = pc.extract_regex(text, pattern)
    return pc.if_else(found.is_valid(), found.field("value"), _NOTHING)
