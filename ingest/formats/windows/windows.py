"""Parses Windows events as JSON lines: each line goes to the source of its channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import orjson

from watchfloor.ingest.columns.rows import Rows
from watchfloor.ingest.columns.scalars import Unfit
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.json.json_mapped import MappedRecords
from watchfloor.ingest.formats.json.json_values import Record, decode_unique, hides_colons
from watchfloor.ingest.mapping.field_mapper import RawColumns
from watchfloor.ingest.parsing.parsed import ParsedChunk, ResolveSource, parse_lines
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import UserError
from watchfloor.schema.source import Source

from .channels import add_rules, bare_source, channel_source, name_source
from .names import CHANNEL_PATHS, EVENT_TIME, RECEIVED_TIME, SHIPPED_TIME, find_channel, rename_path
from .times import make_times

SAMPLE_LINES = 1000


class WindowsRecords(MappedRecords):
    """Makes events of one source of decoded lines."""

    def __init__(self, source: Source) -> None:
        super().__init__(add_rules(source), rename_path)
        self._wanted = {**self._wanted, **dict.fromkeys((EVENT_TIME, RECEIVED_TIME, SHIPPED_TIME), False)}

    def prepare_columns(self, raw: RawColumns, count: int) -> RawColumns:
        others = {name: column for name, column in raw.items() if name not in (EVENT_TIME, RECEIVED_TIME, SHIPPED_TIME)}
        return {**others, **make_times(raw, count)}


class WindowsParser:
    """Reads events into a source per channel, or all of them into ``fixed``.

    ``header`` has the names of known sources by channel, as JSON.
    """

    ordered = True

    def __init__(self, header: bytes, resolve: ResolveSource, fixed: Source | None = None) -> None:
        self._channels: Mapping[str, str] = orjson.loads(header) if header else {}
        self._resolve = resolve
        self._fixed = None if fixed is None else WindowsRecords(fixed)
        self._readers: dict[str, WindowsRecords | str] = {}

    def parse(self, chunk: Chunk) -> ParsedChunk:
        return parse_lines(chunk, self._read_rows)

    def _read_rows(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of lines, grouped by their channel, and the rejected lines."""
        groups: dict[str, tuple[list[int], list[Record]]] = {}
        is_plain = not hides_colons(rows.data)
        for row in range(len(rows)):
            try:
                record = decode_unique(rows.line_at(row), is_plain)
                channel = find_channel(record).lower() if self._fixed is None else ""
                if not channel and self._fixed is None:
                    raise Unfit(f"none of {', '.join(CHANNEL_PATHS)} names the channel of a Windows event")
            except Unfit as error:
                parsed.rejected.append(rows.reject_line(row, str(error)))
                continue
            places, records = groups.setdefault(channel, ([], []))
            places.append(row)
            records.append(record)
        for channel, (places, records) in groups.items():
            reader = self._fixed or self._find_reader(channel, records)
            rows_of_channel = rows.select(np.array(places, np.int64))
            if isinstance(reader, str):
                parsed.rejected += rows_of_channel.reject_all(reader)
            else:
                reader.add_records(rows_of_channel, records, parsed)

    def _find_reader(self, channel: str, records: Sequence[Record]) -> WindowsRecords | str:
        """Returns the reader of a channel's events; a text with the reason if no source can be made."""
        if channel not in self._readers:
            try:
                self._readers[channel] = WindowsRecords(self._resolve_source(channel, records[:SAMPLE_LINES]))
            except UserError as error:
                self._readers[channel] = f"no source can be made for the channel {channel[:100]!r}: {error}"
        return self._readers[channel]

    def _resolve_source(self, channel: str, records: Sequence[Record]) -> Source:
        """Returns the catalogued source as it is; only one that is new to the catalog gets fields from a sample."""
        name = self._channels.get(channel) or name_source(channel)
        if name in (curated := builtin_definitions()):
            return self._resolve(name, lambda: curated[name])
        bare = bare_source(name, channel)
        source = self._resolve(name, lambda: bare)
        if source.fields_by_name.keys() == bare.fields_by_name.keys():
            source = self._resolve(name, lambda: channel_source(name, channel, records))
        return source
