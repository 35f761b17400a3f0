"""Makes the typed columns of a source from raw columns of texts.

What becomes no value of a field is left over (``columns/leftovers.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.convert import Reasons, text_column, text_list_column
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.source import Source

from .conversions import CHANGES, replace_values
from .field_rule import ABSENT, FieldRule, read_rules
from .patterns import PATTERN_COLUMN

RawColumns = Mapping[str, pa.Array]
"""Columns of texts, or of lists of texts, by their raw names, null where a line has none."""
_NOTHING = pa.scalar(None, pa.string())


class FieldMapper:
    """Makes the columns of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rules = read_rules(source)
        self._ignored = frozenset({*source.parser.get("ignore", ()), PATTERN_COLUMN})
        self._uses = Counter(origin for rule in self._rules for origin in rule.origins)
        whole = {origin for rule in self._rules if rule.pattern is None for origin in rule.origins}
        self._partial = sorted(self._uses.keys() - whole - self._ignored)
        """The raw names of which fields have but what patterns match."""

    def is_wanted(self, name: str) -> bool:
        """Returns True if a raw column makes a field or is kept in ``extra``."""
        return name in self._uses or name not in self._ignored

    @property
    def wanted(self) -> dict[str, bool]:
        """The raw names that fields are made from; true for those that are columns of lists where a format has such."""
        fields = self._source.fields_by_name
        return {
            origin: fields[rule.name].is_list and rule.split is None for rule in self._rules for origin in rule.origins
        }

    def map_columns(self, raw: RawColumns, count: int, leftovers: Leftovers) -> dict[str, pa.Array]:
        """Returns the columns of the fields that occur, of ``count`` rows, and adds what is left over."""
        columns: dict[str, pa.Array] = {}
        matched: dict[str, pa.Array] = {}
        for rule in self._rules:
            text = _read_text(rule, raw, count)
            if text is None or text.null_count == len(text):
                continue
            columns[rule.name] = self._convert(rule, text, leftovers)
            if rule.pattern is not None:
                matched[rule.name] = text.is_valid()
            if len(rule.origins) > 1 and rule.join is None and leftovers.keeps_unknown:
                self._keep_others(rule, raw, leftovers)
        if leftovers.keeps_unknown:
            for name in self._partial:
                if name in raw and not pa.types.is_list(raw[name].type):
                    self._keep_unknown(name, self._drop_matched(name, raw[name], matched), leftovers)
        for name in raw:
            if name not in self._uses and name not in self._ignored:
                self._keep_unknown(name, raw[name], leftovers)
        return columns

    def add_unknown(self, unknown: Mapping[int, Mapping[str, Any]], leftovers: Leftovers) -> None:
        """Adds values, by row and name, of which no field is made, to what is left over."""
        absent = frozenset(self._source.parser.get("absent", ABSENT))
        for row, values in unknown.items():
            present = {name: value for name, value in values.items() if type(value) is not str or value not in absent}
            leftovers.add_all_unknown(row, present)

    def _convert(self, rule: FieldRule, text: pa.Array, leftovers: Leftovers) -> pa.Array:
        """Converts a column of texts to the type of its field."""
        field = self._source.fields_by_name[rule.name]
        faults: Reasons = {}
        column = _convert_texts(field, rule, text, self._source.time_format, faults)
        leftovers.add_misfits(rule.name, faults, text)
        return column

    def _drop_matched(self, origin: str, text: pa.StringArray, matched: Mapping[str, pa.Array]) -> pa.StringArray:
        """Returns the texts of which no pattern has made a value; ``matched`` has by field where one has."""
        for rule in self._rules:
            if origin in rule.origins and rule.name in matched:
                text = pc.if_else(matched[rule.name], _NOTHING, text)
        return text

    def _keep_others(self, rule: FieldRule, raw: RawColumns, leftovers: Leftovers) -> None:
        """Keeps the values of raw columns of a field of which another one counts, if they make no field elsewhere."""
        present = [origin for origin in rule.origins if origin in raw and pa.types.is_string(raw[origin].type)]
        counting = None
        for origin in present:
            text = _drop_absent(raw[origin], rule.absent)
            if counting is not None and self._uses[origin] == 1 and origin not in self._ignored:
                differs = pc.fill_null(pc.not_equal(text, counting), False)
                for row in np.flatnonzero(differs.to_numpy(zero_copy_only=False)).tolist():
                    leftovers.add_unknown(row, origin, text[row].as_py())
            counting = text if counting is None else pc.coalesce(counting, text)

    def _keep_unknown(self, name: str, text: pa.StringArray, leftovers: Leftovers) -> None:
        """Keeps the values of a raw column that makes no field, or rejects the rows that have one."""
        absent = self._source.parser.get("absent", ABSENT)
        has_value = pc.and_kleene(text.is_valid(), pc.invert(pc.is_in(text, pa.array(absent, pa.string()))))
        for row in np.flatnonzero(has_value.to_numpy(zero_copy_only=False)).tolist():
            leftovers.add_unknown(row, name, text[row].as_py())


def _read_text(rule: FieldRule, raw: RawColumns, count: int) -> pa.Array | None:
    """Returns a field's column of texts, or of lists of texts, changed as its rule says; None if it has no raw column.

    Texts in lists are changed one by one.
    """
    if rule.constant is not None:
        return pa.array([rule.constant]).take(pa.array(np.zeros(count, np.int64)))
    found = [_drop_absent(raw[origin], rule.absent) for origin in rule.origins if origin in raw]
    if not found or (rule.join is not None and len(found) < len(rule.origins)):
        return None
    if rule.join is not None:
        text = pc.binary_join_element_wise(*found, rule.join) if len(found) > 1 else found[0]
    else:
        text = pc.coalesce(*found) if len(found) > 1 else found[0]
    if pa.types.is_list(text.type):
        elements = _change_texts(rule, _drop_absent(text.flatten(), rule.absent))
        return pa.ListArray.from_arrays(_list_offsets(text), elements, mask=text.is_null())
    return _change_texts(rule, text)


def _list_offsets(lists: pa.ListArray) -> pa.Int32Array:
    """Returns where each list begins and ends in the elements of all lists."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())


def _change_texts(rule: FieldRule, text: pa.StringArray) -> pa.StringArray:
    """Returns a column of texts, changed as a rule says."""
    if rule.pattern is not None:
        text = _match_group(text, rule.pattern)
    for name in rule.convert:
        text = CHANGES[name](text)
    if rule.values:
        text = replace_values(text, rule.values)
    return text


def _convert_texts(field: Field, rule: FieldRule, text: pa.Array, time_format: str, misfits: Reasons) -> pa.Array:
    if pa.types.is_list(text.type):
        return text_list_column(field, text, rule.formats[0] if rule.formats else time_format, misfits)
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


def _drop_absent(text: pa.Array, absent: frozenset[str]) -> pa.Array:
    """Returns a column without the texts that mean that there is no value. Lists stay as they are."""
    if pa.types.is_list(text.type):
        return text
    is_absent = pc.is_in(text, pa.array(sorted(absent), pa.string()))
    return pc.if_else(is_absent, _NOTHING, text) if pc.any(is_absent).as_py() else text


def _match_group(text: pa.StringArray, pattern: str) -> pa.StringArray:
    """Returns what the group ``value`` of a pattern matches in each text; null where the pattern does not match."""
    found = pc.extract_regex(text, pattern)
    return pc.if_else(found.is_valid(), found.field("value"), _NOTHING)
