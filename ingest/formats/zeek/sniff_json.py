"""Finds out which of Zeek's logs the JSON lines of a file belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from watchfloor.ingest.formats.json.json_values import Record, decode_records
from watchfloor.ingest.parsing.format import SniffResult
from watchfloor.ingest.parsing.sample import FileSample
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.source import Source

from .zeek_fields import FAMILY, ID_ALIASES, KNOWN_LOGS, TIME_FIELD
from .zeek_json import SAMPLE_LINES, log_path, sample_source

_MAX_LOGS = 1000
_LOG_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def is_zeek_record(record: Record) -> bool:
    """Returns true if a JSON object names its log, or has a time and an address as Zeek writes them."""
    return bool(log_path(record)) or (TIME_FIELD in record and bool({*ID_ALIASES, *ID_ALIASES.values()} & set(record)))


def has_log_name(path: Path) -> bool:
    """Returns true if the file is named as a log that Zeek's own scripts write."""
    return _log_in_name(path) in KNOWN_LOGS


def describe_json(sample: FileSample, feed: str | None, sources: Mapping[str, Source]) -> SniffResult:
    """Returns how the lines are to be read.

    Lines that do not name their log belong to the log of the feed, or else to the one that the file's name tells.


    Raises ``InputFileError`` if neither names a log.
    """
    log = feed[len(FAMILY) + 1 :] if feed is not None else ""
    if not log and not all(map(log_path, decode_records(sample.lines))):
        log = _log_in_name(sample.path)
        if not _LOG_NAME.fullmatch(log):
            raise InputFileError(
                f"{show_path(sample.path)}: Zeek JSON of no named log; name its source: zeek.conn, zeek.dns, …"
            )
    return SniffResult(
        f"{FAMILY}.{log}" if log else FAMILY,
        b"",
        tuple(sample_source(name, records, sources) for name, records in _records_by_log(sample, log).items()),
    )


def _records_by_log(sample: FileSample, log: str) -> dict[str, list[Record]]:
    """Returns the first JSON objects of each log; ``log`` is the log of lines that do not name one."""
    samples: dict[str, list[Record]] = {}
    for line in sample.read_lines():
        for record in decode_records([line]):
            name = log_path(record) or log
            if not name or (name not in samples and len(samples) >= _MAX_LOGS):
                continue
            records = samples.setdefault(name, [])
            if len(records) < SAMPLE_LINES:
                records.append(record)
    return samples


def _log_in_name(path: Path) -> str:
    """Returns the log that a file is named after: ``conn`` for ``conn.log`` and ``conn.2024-05-01.log.gz``."""
    return path.name.partition(".")[0].lower()
