"""Proposes a definition for a file that no known source reads: its fields, their types, its time, and what to index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from watchfloor.ingest.files.open_file import FileOrPath, name_log, open_file_or_path
from watchfloor.ingest.formats.syslog.context import FAMILY
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.schema.definition import EXTRA_FIELD
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.field import VALUE_INDEX, Field, FieldType
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.meaning.guess import guess_ecs_name

from .index_choice import IndexAdvice, choose_indexed
from .samples import SampleColumns, read_sample
from .value_types import STRING, ValueType, find_json_type, find_text_type, find_time_format, is_ambiguous

SAMPLE_LINES = 20_000
_MOST_FIELDS = 500
_FIELD_NAME = re.compile(r"[A-Za-z_@][A-Za-z0-9_.@#-]{0,199}")
_TIME_NAMES = ("@timestamp", "timestamp", "ts", "time", "datetime", "date_time", "event_time", "eventtime", "date")
_DATE_NAME, _CLOCK_NAME = re.compile(r"date|day", re.I), re.compile(r"time|clock|hour", re.I)
_SYSLOG_NAMES = {"host": "host.name", "pid": "process.pid"}
_SYSLOG_TYPES = {
    "ts": ValueType(FieldType.TIME, time_format="iso8601"),
    "pid": ValueType(FieldType.INT),
    **dict.fromkeys(("host", "program", "facility", "severity", "message"), STRING),
}
"""The types of a syslog line's header, whatever its values are in the sample."""


@dataclass(frozen=True)
class FieldProposal:
    """A field, the raw name of its values and their type, and the reason why it is indexed or not."""

    field: Field
    origin: str
    type: ValueType
    advice: IndexAdvice


@dataclass(frozen=True)
class Proposal:
    """A definition, the reasons for its fields, and remarks on what could not be told from the sample."""

    definition: Mapping[str, Any]
    fields: Sequence[FieldProposal]
    remarks: Sequence[str]


@dataclass(frozen=True)
class _Time:
    """The time of the events: its field, its format and the raw names that make it, more than one if joined."""

    name: str
    format: str
    origins: tuple[str, ...]


def propose_definition(file: FileOrPath, name: str | None = None) -> Proposal:
    """Returns a definition for a file, made from its first lines. ``name`` is the source's; None: by the file's name.

    Raises ``InputFileError`` if the lines have no form that is known here, or no time.
    """
    with open_file_or_path(file) as opened:
        path = show_path(name_log(opened))
        lines = list(islice(FileSample(opened).read_lines(), SAMPLE_LINES))
    if not lines:
        raise InputFileError(f"{path}: has no lines, so nothing can be proposed")
    try:
        sample = read_sample(lines)
        return _propose(sample, name or sample.name or _name_source(Path(name_log(opened))))
    except InputFileError as error:
        raise InputFileError(f"{path}: {error}") from None


def _name_source(path: Path) -> str:
    """Returns the name of a source by the name of its file."""
    word = re.sub(r"[^a-z0-9]+", "_", path.name.partition(".")[0].lower()).strip("_")
    return f"logs.{word or 'events'}"


def _propose(sample: SampleColumns, name: str) -> Proposal:
    remarks: list[str] = []
    values = {raw: [value for value in column if value is not None] for raw, column in sample.columns.items()}
    types = dict(_find_types(sample, values, remarks))
    time = _find_time(sample, values, types, remarks)
    if not sample.is_text:
        types = {raw: _keep_one_format(kind, values[raw], time) for raw, kind in types.items()}
    if is_ambiguous(time.format, values[time.origins[0]]):
        remarks.append(f"{time.name}: day and month could be the other way round in all of these times; look at it")
    if len(time.origins) == 1:
        types = {**types, time.origins[0]: ValueType(FieldType.TIME, time_format=time.format)}
    names = _name_fields(types, time)
    told = _SYSLOG_NAMES if sample.parser["format"] == FAMILY else {}
    told = {**told, time.name: "@timestamp"}
    fields = [_make_field(names[raw], kind, told) for raw, kind in types.items()]
    by_name = {names[raw]: values[raw] for raw in types}
    advice = choose_indexed([field for field in fields if field.name != time.name], by_name)
    advice[time.name] = IndexAdvice(None, "the time: events are in its order")
    proposals = [
        FieldProposal(field, raw, kind, advice[field.name])
        for (raw, kind), field in zip(types.items(), fields, strict=True)
    ]
    if time.name not in by_name:
        made = Field(time.name, FieldType.TIME, ecs="@timestamp")
        joined = ValueType(FieldType.TIME, time_format=time.format)
        proposals.insert(0, FieldProposal(made, time.origins[0], joined, advice[time.name]))
    return Proposal(_write_definition(sample, name, time, proposals), proposals, remarks)


def _find_types(
    sample: SampleColumns, values: Mapping[str, Sequence[Any]], remarks: list[str]
) -> Iterator[tuple[str, ValueType]]:
    """Yields the raw names that become fields, with their types."""
    is_syslog = sample.parser["format"] == FAMILY
    for raw in list(values)[:_MOST_FIELDS]:
        if is_syslog and raw in _SYSLOG_TYPES:
            yield raw, _SYSLOG_TYPES[raw]
        elif raw == EXTRA_FIELD:
            remarks.append(f"{raw}: its name cannot be a field's; it is kept in {EXTRA_FIELD}")
        elif sample.is_text:
            yield raw, find_text_type(raw, values[raw])
        elif not values[raw]:
            remarks.append(f"{raw}: no value in the sample; it is kept in {EXTRA_FIELD}")
        elif any(other.startswith(f"{raw}.") for other in values):
            remarks.append(
                f"{raw}: an object in some records and a value in others; the value is kept in {EXTRA_FIELD}"
            )
        elif (kind := find_json_type(raw, values[raw])) is None:
            remarks.append(f"{raw}: values of several kinds; it is kept in {EXTRA_FIELD}")
        else:
            yield raw, kind
    if len(values) > _MOST_FIELDS:
        remarks.append(f"{len(values) - _MOST_FIELDS:,} more names are kept in {EXTRA_FIELD}")


def _find_time(
    sample: SampleColumns, values: Mapping[str, Sequence[Any]], types: Mapping[str, ValueType], remarks: list[str]
) -> _Time:
    """Returns the time that every record has. A name that is usual for it comes first, then the first column."""
    times = [
        raw for raw, kind in types.items() if kind.type is FieldType.TIME and len(values[raw]) >= 0.99 * sample.count
    ]
    if times:
        best = min(times, key=lambda raw: (_rank_time_name(raw), times.index(raw)))
        return _Time(_make_name(best), types[best].time_format, (best,))
    if (relative := _find_relative_time(sample, values)) is not None:
        remarks.append(f"{relative.name}: seconds from an unknown start; they count from 1970 here")
        return relative
    if sample.is_text and (joined := _join_times(sample)) is not None:
        return joined
    raise InputFileError(
        "no field has a time in every line (ISO 8601, seconds since 1970 under a name such as ts or time, "
        f"or a usual order of day, month, year and clock); the fields are {', '.join(list(types)[:20])}"
    )


def _keep_one_format(kind: ValueType, values: Sequence[Any], time: _Time) -> ValueType:
    """Returns the type of a JSON key. JSON has one format of times, so that another time is text or a number."""
    if kind.type is not FieldType.TIME or kind.time_format == time.format:
        return kind
    if all(isinstance(value, str) for value in values):
        return STRING
    return ValueType(FieldType.INT if all(isinstance(value, int) for value in values) else FieldType.FLOAT)


def _find_relative_time(sample: SampleColumns, values: Mapping[str, Sequence[Any]]) -> _Time | None:
    """Returns the column of numbers that has the name of a time; None if there is none."""
    for raw, found in values.items():
        if raw.lower() not in _TIME_NAMES or len(found) < sample.count:
            continue
        kind = (find_text_type if sample.is_text else find_json_type)(raw, found)
        if kind is not None and kind.type in (FieldType.INT, FieldType.FLOAT) and min(map(float, found)) >= 0:
            return _Time(_make_name(raw), "epoch", (raw,))
    return None


def _rank_time_name(raw: str) -> int:
    return _TIME_NAMES.index(raw.lower()) if raw.lower() in _TIME_NAMES else len(_TIME_NAMES)


def _join_times(sample: SampleColumns) -> _Time | None:
    """Returns the time that a column of days and a column of clock times make; None if there are no two such."""
    for day in filter(_DATE_NAME.search, sample.columns):
        for clock in filter(_CLOCK_NAME.search, sample.columns):
            both = zip(sample.columns[day], sample.columns[clock], strict=True)
            texts = [f"{one} {other}" for one, other in both if one and other]
            if day != clock and len(texts) >= 0.99 * sample.count and (found := find_time_format(texts)):
                return _Time("ts", found, (day, clock))
    return None


def _name_fields(types: Mapping[str, ValueType], time: _Time) -> dict[str, str]:
    """Returns the names of the fields by their raw names; no two are the same."""
    taken = {EXTRA_FIELD} | ({time.name} if len(time.origins) > 1 else set())
    names: dict[str, str] = {}
    for raw in types:
        name, number = _make_name(raw), 2
        while name in taken:
            name, number = f"{_make_name(raw)}_{number}", number + 1
        taken.add(name)
        names[raw] = name
    return names


def _make_name(raw: str) -> str:
    """Returns a raw name as a field may have it."""
    if _FIELD_NAME.fullmatch(raw):
        return raw
    word = re.sub(r"[^A-Za-z0-9_.@-]+", "_", raw).strip("_")[:200]
    return word if _FIELD_NAME.fullmatch(word) else f"field_{word}"[:200]


def _make_field(name: str, kind: ValueType, ecs_names: Mapping[str, str]) -> Field:
    ecs = ecs_names.get(name) or guess_ecs_name(name, (kind.items or kind.type).value)
    return Field(name, kind.type, items=kind.items, ecs=ecs)


def _write_definition(
    sample: SampleColumns, name: str, time: _Time, proposals: Sequence[FieldProposal]
) -> dict[str, Any]:
    rules = {}
    for proposal in proposals:
        if rule := _write_rule(sample, proposal, time):
            rules[proposal.field.name] = rule
    fields = [
        Field(
            p.field.name,
            p.field.type,
            (VALUE_INDEX,) if p.advice.rank is not None else (),
            "",
            p.field.items,
            p.field.ecs,
        )
        for p in proposals
    ]
    return {
        "name": name,
        "title": f"Proposed from {sample.count:,} records",
        "parser": {**sample.parser, **({"fields": rules} if rules else {})},
        "timestamp": {"field": time.name, "format": time.format},
        "unknown_fields": "extra",
        "fields": [*(field.to_json() for field in fields), {"name": EXTRA_FIELD, "type": "string"}],
    }


def _write_rule(sample: SampleColumns, proposal: FieldProposal, time: _Time) -> dict[str, Any]:
    """Returns the rule in ``parser.fields`` for a field; empty if it needs none."""
    name, raw = proposal.field.name, proposal.origin
    if sample.parser["format"] == FAMILY and name == time.name:
        return {}
    if not sample.is_text:
        return {} if name == raw else {"from": raw}
    rule: dict[str, Any] = {}
    if name == time.name and len(time.origins) > 1:
        rule |= {"from": list(time.origins), "join": " "}
    elif name != raw:
        rule["from"] = raw
    if proposal.type.values:
        rule["values"] = proposal.type.values
    if proposal.field.type is FieldType.TIME and proposal.type.time_format != time.format:
        rule["format"] = [proposal.type.time_format]
    return rule
