"""Finds out which of Zeek's logs the JSON lines of a file belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from watchfloor.ingest.formats.json.json_values import Record, decode_records
from watchfloor.ingest.parsing.format import Match, SniffResult
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

from .log_keys import LineLogs, keys_of_records, list_logs, log_keys
from .zeek_fields import FAMILY, ID_ALIASES, TIME_FIELD
from .zeek_json import SAMPLE_LINES, log_path, sample_source

_MAX_LOGS = 1000
_LOG_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_FEWEST_KEYS = 4
"""The number of keys from which on they alone tell that lines are Zeek's."""


def match_json(sample: FileSample, sources: Mapping[str, Source]) -> Match:
    """Returns how well JSON lines fit Zeek's logs: by keys that Zeek writes, by the file's name, or by all keys."""
    records = decode_records(sample.lines) if sample.is_json else []
    if any(map(_is_zeek_record, records)):
        return Match.CONTENT
    known, keys = log_keys(sources.values()), keys_of_records(records)
    named = known.find_named(sample.path)
    if keys and named and (TIME_FIELD in keys or keys <= known.keys[named]):
        return Match.FILE_NAME
    has_enough = len(keys) >= _FEWEST_KEYS and TIME_FIELD in keys
    return Match.FIELDS if has_enough and len(known.find_fitting(keys)) == 1 else Match.NONE


def describe_json(sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
    """Returns how the lines are to be read.

    Lines that do not name their log belong to the log of the feed, or else to the one that their keys tell, or else to
    the one that the file's name tells. Raises ``InputFileError`` if nothing tells a log.
    """
    log = feed[len(FAMILY) + 1 :] if feed is not None else ""
    nameless = [record for record in decode_records(sample.lines) if not log_path(record)]
    if not log and nameless:
        log = _find_log(sample.path, nameless, sources)
    return SniffResult(
        f"{FAMILY}.{log}" if log else FAMILY,
        b"",
        tuple(sample_source(name, records, sources) for name, records in _records_by_log(sample, log).items()),
    )


def _is_zeek_record(record: Record) -> bool:
    """Returns true if a JSON object names its log, or has a time and an address as Zeek writes them."""
    return bool(log_path(record)) or (TIME_FIELD in record and bool({*ID_ALIASES, *ID_ALIASES.values()} & set(record)))


def _find_log(path: Path, records: Sequence[Record], sources: Mapping[str, Source]) -> str:
    """Returns the log of lines that do not name one; empty if each line's keys tell its own."""
    known, keys = log_keys(sources.values()), keys_of_records(records)
    fitting, named = known.find_fitting(keys), known.find_named(path)
    if len(fitting) == 1:
        return fitting[0]
    line_logs = LineLogs()
    told = set() if fitting else {_only(line_logs.find_logs(record)) for record in records} - {""}
    if told:
        return told.pop() if len(told) == 1 else ""
    log = named or path.name.partition(".")[0].lower()
    if _LOG_NAME.fullmatch(log):
        return log
    which = f"; its lines may be of {list_logs(fitting)}" if fitting else ""
    raise InputFileError(
        f"{show_path(path)}: Zeek JSON of no named log{which}; name its source: zeek.conn, zeek.dns, …"
    )


def _records_by_log(sample: FileSample, log: str) -> dict[str, list[Record]]:
    """Returns the first JSON objects of each log; ``log`` is the log of lines that do not name one.

    If it is empty, their keys tell it.
    """
    samples: dict[str, list[Record]] = {}
    line_logs = LineLogs()
    for record in (record for line in sample.read_lines() for record in decode_records([line])):
        name = log_path(record) or log or _only(line_logs.find_logs(record))
        if not name or (name not in samples and len(samples) >= _MAX_LOGS):
            continue
        records = samples.setdefault(name, [])
        if len(records) < SAMPLE_LINES:
            records.append(record)
    return samples


def _only(logs: Sequence[str]) -> str:
    return logs[0] if len(logs) == 1 else ""
