"""Parses Suricata's EVE JSON: each line goes to the source of its ``event_type``, its nested names joined by dots."""

from __future__ import annotations

import re

import numpy as np

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Rows
from watchfloor.ingest.columns.scalars import Unfit
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.json.json_values import (
    FieldNaming,
    Record,
    decode_unique,
    flatten_record,
    hides_colons,
    value_columns,
)
from watchfloor.ingest.parsing.parsed import ParsedChunk, ResolveSource, parse_lines
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.errors import UserError
from watchfloor.schema.source import Source
from watchfloor.schema.text import shorten_value

from .object_lists import ObjectLists

TYPE_KEY = "event_type"
_NAMING = FieldNaming({}, frozenset({TYPE_KEY}))
_PLAIN_SOURCE = "suricata.anomaly"
"""The curated source that shows which fields all EVE records share: those that do not begin with its own name."""


class EveParser:
    """Reads EVE lines into a source per type, or all of them into ``fixed``."""

    ordered = True

    def __init__(self, resolve: ResolveSource, fixed: Source | None = None) -> None:
        self._resolve, self._fixed = resolve, fixed
        self._sources: dict[str, Source | str] = {}  # by type; a text says why there is no source
        self._lists: dict[str, ObjectLists] = {}

    def parse(self, chunk: Chunk) -> ParsedChunk:
        return parse_lines(chunk, self._read_rows)

    def _read_rows(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of lines, grouped by their source, and the rejected lines."""
        groups: dict[str, _Group] = {}
        is_plain = not hides_colons(rows.data)
        naming = _NAMING if self._fixed is None else FieldNaming({})
        for row in range(len(rows)):
            try:
                value = decode_unique(rows.line_at(row), is_plain)
                source = self._find_source(value)
                record, unknown = flatten_record(source, value, naming)
                record = {**self._find_members(source, value), **record}
            except Unfit as error:
                parsed.rejected.append(rows.reject_line(row, str(error)))
                continue
            group = groups.get(source.name)
            if group is None:
                group = groups[source.name] = _Group(source)
            group.add(row, record, unknown)
        for group in groups.values():
            group.add_events(rows, parsed)

    def _find_members(self, source: Source, value: Record) -> Record:
        lists = self._lists.get(source.name)
        if lists is None:
            lists = self._lists[source.name] = ObjectLists(source)
        return lists.find_members(value)

    def _find_source(self, value: Record) -> Source:
        """Returns the source of a record by its type. Raises ``Unfit`` if it has no type or none can be made."""
        if self._fixed is not None:
            return self._fixed
        kind = value.get(TYPE_KEY)
        if kind is None:
            raise Unfit(f"field {TYPE_KEY}: missing; an EVE record needs its type")
        if not isinstance(kind, str) or not kind:
            raise Unfit(f"field {TYPE_KEY}: {shorten_value(kind)} is not the name of a type")
        source = self._sources.get(kind)
        if source is None:
            try:
                source = self._resolve(eve_source_name(kind), lambda: eve_source(kind))
            except UserError as error:
                source = f"no source can be made for the type {shorten_value(kind)}: {error}"
            self._sources[kind] = source
        if isinstance(source, str):
            raise Unfit(source)
        return source


class _Group:
    """The lines of one source in a chunk."""

    def __init__(self, source: Source) -> None:
        self._source, self._leftovers = source, Leftovers(source)
        self._places: list[int] = []
        self._records: list[Record] = []

    def add(self, row: int, record: Record, unknown: Record) -> None:
        if unknown:
            self._leftovers.add_all_unknown(len(self._records), unknown)
        self._places.append(row)
        self._records.append(record)

    def add_events(self, rows: Rows, parsed: ParsedChunk) -> None:
        columns = value_columns(self._source, self._records, self._leftovers)
        own = rows.select(np.array(self._places, np.int64))
        parsed.add(self._source, *event_batch(self._source, columns, own, self._leftovers))


def eve_source(kind: str) -> Source:
    """Returns the curated source of an event type, or one with the fields that all records share.

    The latter keeps all other fields in ``extra``.
    """
    name = eve_source_name(kind)
    curated = builtin_definitions()
    if name in curated:
        return curated[name]
    shared = curated[_PLAIN_SOURCE].definition
    own = _PLAIN_SOURCE.rpartition(".")[2] + "."
    fields = [f for f in shared["fields"] if not f["name"].startswith(own)]
    return parse_definition(
        {**shared, "name": name, "title": f"Suricata {kind[:100]}", "fields": fields},
        f"the Suricata type {kind[:100]!r}",
    )


def eve_source_name(kind: str) -> str:
    """Returns the name of an event type's source: ``suricata.alert`` for ``alert``."""
    part = re.sub(r"[^a-z0-9_]+", "_", kind.lower()).lstrip("_")
    return f"suricata.{part or 'unnamed'}"[:100]
