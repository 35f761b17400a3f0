"""Reads the ``#`` lines of Zeek's TSV logs: the separators, the texts for no value, and each column's name and type."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.meaning.guess import guess_ecs_name
from watchfloor.schema.source import Source
from watchfloor.schema.text import shorten

from .zeek_fields import TIME_FIELD, choose_indexed, field_name, make_time_field, source_name, zeek_definition

_TYPES = {
    "time": FieldType.TIME,
    "interval": FieldType.FLOAT,
    "double": FieldType.FLOAT,
    "count": FieldType.INT,
    "int": FieldType.INT,
    "counter": FieldType.INT,
    "port": FieldType.PORT,
    "addr": FieldType.IP,
    "bool": FieldType.BOOL,
}
_CONTAINER = re.compile(rb"(?:set|vector|table|list)\[(.+)\]")
_HEX = re.compile(rb"\\x([0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class ZeekHeader:
    """The header of a log. ``fault`` says why lines cannot be read with it; it is empty if they can."""

    separator: bytes = b"\t"
    set_separator: bytes = b","
    empty_field: bytes = b"(empty)"
    unset_field: bytes = b"-"
    path: str = ""
    opened: int | None = None  # microseconds since 1970
    names: tuple[bytes, ...] = ()
    types: tuple[bytes, ...] = ()
    fault: str = field(default="", compare=False)

    def with_line(self, line: bytes) -> ZeekHeader:
        """Returns the header after one more of its lines. Unknown directives are comments."""
        if line.startswith(b"#separator "):
            # A new header starts here; nothing of the earlier one is kept.
            return _begin_header(line[len(b"#separator ") :].strip())
        directive, _, rest = line.partition(self.separator)
        match directive:
            case b"#set_separator":
                return replace(self, set_separator=unescape_bytes(rest))
            case b"#empty_field":
                return replace(self, empty_field=unescape_bytes(rest))
            case b"#unset_field":
                return replace(self, unset_field=unescape_bytes(rest))
            case b"#path":
                return replace(self, path=rest.decode(errors="replace"))
            case b"#open":
                return replace(self, opened=_parse_open_time(rest))
            case b"#fields":
                return replace(self, names=tuple(rest.split(self.separator)), types=())
            case b"#types":
                return replace(self, types=tuple(rest.split(self.separator)))
        return self

    @property
    def source_name(self) -> str:
        """The name of the source of this log's events."""
        return source_name(self.path)

    def find_problem(self, base: Source | None) -> str:
        """Returns why lines cannot be read with this header; empty if they can.

        ``base`` is the known source of the lines, which knows the types of its fields; None if there is none.
        """
        if self.fault:
            return self.fault
        if not self.names:
            return "it has no #fields line"
        if self.types and len(self.types) != len(self.names):
            return f"it names {len(self.names)} fields but {len(self.types)} types"
        if not self.path:
            return "it has no #path line"
        twice = next((name for name in self.field_names if self.field_names.count(name) > 1), None)
        if twice is not None:
            return f"its column {twice!r} is defined twice; name it once"
        untyped = [name for name in self.field_names if base is None or name not in base.fields_by_name]
        if untyped and not self.types:
            return f"it has no #types line, so nothing tells the type of {shorten(', '.join(untyped), 100)}"
        return self._find_time_problem(base) or self._find_source_problem(base)

    def _find_time_problem(self, base: Source | None) -> str:
        """Returns why the lines have no time; empty if they have one."""
        if self.time_column() is not None or (base is not None and base.time_field in self.field_names):
            return ""
        if TIME_FIELD in self.field_names:
            kind = self.types[self.field_names.index(TIME_FIELD)].decode(errors="replace")
            return f"its column {TIME_FIELD} has the type {kind}; if it holds times, write time under #types"
        return "" if self.opened is not None else "its lines have no time, and it has no #open line to take one from"

    def _find_source_problem(self, base: Source | None) -> str:
        """Returns why no source can be made of the header alone; empty if one can, or if there is a source."""
        try:
            if base is None:
                self.derive_source()
        except DefinitionError as error:
            return str(error)
        return ""

    @property
    def field_names(self) -> list[str]:
        """The names of the fields of the columns."""
        return [field_name(name.decode(errors="replace")) for name in self.names]

    def make_fields(self) -> list[Field]:
        """Returns a field per column, in the log's order, indexed as ``choose_indexed`` says."""
        types = self.types or (b"string",) * len(self.names)
        return choose_indexed([_make_field(*pair) for pair in zip(self.field_names, types, strict=True)])

    def time_column(self) -> str | None:
        """Returns the column that holds the events' time: ``ts``, or else the first that is a time."""
        times = [f.name for f in self.make_fields() if f.type is FieldType.TIME]
        return TIME_FIELD if TIME_FIELD in times else times[0] if times else None

    def derive_source(self) -> Source:
        """Returns a source made from the header alone. Raises ``DefinitionError`` if that makes no valid definition."""
        fields = self.make_fields()
        time_field = self.time_column()
        if time_field is None:
            time_field = TIME_FIELD
            fields.insert(0, make_time_field())
        return zeek_definition(self.source_name, self.path, fields, time_field)


def parse_header(data: bytes) -> ZeekHeader:
    """Returns the header after all the ``#`` lines of ``data``."""
    header = ZeekHeader()
    for line in data.splitlines():
        if line.startswith(b"#"):
            header = header.with_line(line)
    return header


def _begin_header(written: bytes) -> ZeekHeader:
    """Returns the header after its first line, which writes the separator so."""
    separator = unescape_bytes(written)
    if len(separator) == 1:
        return ZeekHeader(separator)
    shown = repr(written.decode(errors="backslashreplace"))
    return ZeekHeader(fault=rf"its separator is not one byte but {shown}; write a tab as #separator \x09")


def unescape_bytes(text: bytes) -> bytes:
    r"""Replaces each ``\xNN`` by its byte."""
    return _HEX.sub(lambda match: bytes([int(match[1], 16)]), text)


def _make_field(name: str, kind: bytes) -> Field:
    container = _CONTAINER.fullmatch(kind)
    scalar = _TYPES.get((container[1] if container else kind).decode(errors="replace"), FieldType.STRING)
    ecs = guess_ecs_name(name, scalar.value)
    return Field(name, FieldType.LIST, items=scalar, ecs=ecs) if container else Field(name, scalar, ecs=ecs)


def _parse_open_time(text: bytes) -> int | None:
    """Returns microseconds for ``2016-12-28-16-25-43``: the sensor's local time in an unknown zone, taken as UTC."""
    try:
        moment = datetime.strptime(text.decode().strip(), "%Y-%m-%d-%H-%M-%S")
    except ValueError:
        return None
    return int(moment.replace(tzinfo=UTC).timestamp()) * 1_000_000
