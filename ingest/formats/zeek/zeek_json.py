"""Parses Zeek's logs as JSON lines, one log a file or several in one, told apart by ``_path``, ``@stream`` or keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from watchfloor.ingest.columns.rows import Rows
from watchfloor.ingest.columns.scalars import Unfit
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.json.json_infer import infer_fields
from watchfloor.ingest.formats.json.json_lines import JsonRowReader
from watchfloor.ingest.formats.json.json_values import FieldNaming, Record, decode_line
from watchfloor.ingest.parsing.parsed import ParsedChunk, ResolveSource, parse_lines
from watchfloor.schema.definition import add_fields, builtin_definitions
from watchfloor.schema.errors import UserError
from watchfloor.schema.field import Field
from watchfloor.schema.source import Source

from .log_keys import LineLogs, list_logs
from .zeek_fields import (
    ID_ALIASES,
    PATH_KEYS,
    TIME_FIELD,
    choose_indexed,
    make_aliases,
    make_time_field,
    source_name,
    zeek_definition,
)

SAMPLE_LINES = 1000


class ZeekJsonParser:
    """Reads lines into the source of their log; ``path`` is the log of lines that do not name one.

    ``fixed`` is the source of all lines, whichever log they name.
    """

    ordered = True

    def __init__(self, path: str, resolve: ResolveSource, fixed: Source | None = None) -> None:
        self._path, self._resolve, self._fixed = path, resolve, fixed
        self._readers: dict[str, JsonRowReader | str] = {}
        self._line_logs = LineLogs()

    def parse(self, chunk: Chunk) -> ParsedChunk:
        return parse_lines(chunk, self._read_rows)

    def _read_rows(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of lines, grouped by their log, and the rejected lines."""
        logs: dict[str, tuple[list[int], list[Record]]] = {}
        for row in range(len(rows)):
            try:
                value = decode_line(rows.line_at(row))
                path = log_path(value) or self._path or self._tell_log(value)
            except Unfit as error:
                parsed.rejected.append(rows.reject_line(row, str(error)))
                continue
            places, sample = logs.setdefault(path, ([], []))
            places.append(row)
            if len(sample) < SAMPLE_LINES and path not in self._readers:
                sample.append(value)
        for path, (places, sample) in logs.items():
            reader = self._readers.get(path)
            if reader is None:
                reader = self._readers[path] = self._open_reader(path, sample)
            rows_of_log = rows.select(np.array(places, np.int64))
            if isinstance(reader, str):
                parsed.rejected += rows_of_log.reject_all(reader)
            else:
                reader.read_rows(rows_of_log, parsed)

    def _tell_log(self, value: Record) -> str:
        """Returns the log of a line that does not name it. Raises ``Unfit`` if its keys fit none, or several."""
        logs = self._line_logs.find_logs(value)
        if len(logs) == 1:
            return logs[0]
        which = f"its keys fit {list_logs(logs)} alike" if logs else "no known log has its keys"
        raise Unfit(f"neither {' nor '.join(PATH_KEYS)} says which Zeek log this line belongs to, and {which}")

    def _open_reader(self, path: str, sample: list[Record]) -> JsonRowReader | str:
        """Returns the reader of a log's lines; a text with the reason if no source can be made."""
        try:
            source = self._fixed or self._resolve_source(path, sample)
        except UserError as error:
            return f"no source can be made for the Zeek log {path!r}: {error}"
        return JsonRowReader(source, zeek_naming(source))

    def _resolve_source(self, path: str, sample: list[Record]) -> Source:
        """Returns the catalogued source as it is; only a log that is new to the catalog gets fields from a sample.

        So the result for a line depends on the catalog and not on the lines near it.
        """
        name = source_name(path)
        curated = builtin_definitions().get(name)
        bare = curated or zeek_definition(name, path, [make_time_field()], TIME_FIELD)
        source = self._resolve(name, lambda: bare)
        if curated is None and source.fields_by_name.keys() == bare.fields_by_name.keys():
            source = self._resolve(name, lambda: sample_source(path, sample, {}))
        return source


def zeek_naming(source: Source) -> FieldNaming:
    """Returns the naming by which keys of Zeek's lines become fields of ``source``."""
    return FieldNaming(make_aliases(source.fields), frozenset(PATH_KEYS) - set(source.fields_by_name))


def log_path(value: Record) -> str:
    """Returns the log that a line names as its own; empty if it names none."""
    for key in PATH_KEYS:
        path = value.get(key)
        if isinstance(path, str) and path:
            return path
    return ""


def sample_source(path: str, sample: Iterable[Record], known: Mapping[str, Source]) -> Source:
    """Returns the source of a log, with all fields of a sample.

    It extends the known or curated source if there is one.
    """
    name = source_name(path)
    base = known.get(name) or builtin_definitions().get(name)
    naming = zeek_naming(base) if base else FieldNaming(ID_ALIASES, frozenset(PATH_KEYS))
    fields = infer_fields(sample, naming)
    if base is not None:
        return add_fields(base, [replace(f, indexes=()) for f in fields])
    return zeek_definition(name, path, _with_time(choose_indexed(fields)), TIME_FIELD)


def _with_time(fields: list[Field]) -> list[Field]:
    others = [f for f in fields if f.name != TIME_FIELD]
    return [make_time_field(), *others]
