"""Reads the first lines of an unknown file as named columns, in the form that its lines show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from watchfloor.ingest.columns.scalars import parse_ip
from watchfloor.ingest.formats.delimited.dialect import Dialect
from watchfloor.ingest.formats.json.json_values import decode_records
from watchfloor.ingest.formats.syslog.context import FAMILY
from watchfloor.ingest.formats.syslog.header import split_lines
from watchfloor.ingest.mapping.pairs import PairStyle, split_pairs
from watchfloor.ingest.mapping.patterns import NamedPatterns
from watchfloor.schema.errors import InputFileError

from .value_types import can_parse

_MOST_DEPTH = 8
_ABSENT = ("", "-")
_DELIMITERS = (",", "\t", ";", "|")
_PAIRS = r"^(?:<\d{1,3}>)?(?P<pairs>[A-Za-z0-9_.-]+=.*)$"
_NEARLY_ALL, _LEAST_PAIRS, _LEAST_UNNAMED = 0.95, 3, 4
_HEADER_COLUMNS = ("time", "host", "program", "pid", "facility", "severity")


@dataclass(frozen=True)
class SampleColumns:
    """The raw columns of a sample, each with a value a record, None where the record has none.

    ``parser`` is what a definition's parser must say to read them. ``name`` is that of the source if the form wants
    one, else empty. ``is_text`` is False for JSON, whose values have types.
    """

    parser: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]
    name: str = ""
    is_text: bool = True

    @property
    def count(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def read_sample(lines: Sequence[bytes]) -> SampleColumns:
    """Returns the columns of lines of JSON objects, syslog, ``key=value`` pairs, or cells between delimiters.

    Raises ``InputFileError`` for lines of another form.
    """
    for read in (_read_json, _read_syslog, _read_pairs, _read_cells):
        if (sample := read(lines)) is not None:
            return sample
    raise InputFileError(
        "its lines are not JSON objects, syslog, key=value pairs or cells between commas, tabs, semicolons or bars, so "
        "regular expressions must take them apart: write a definition with the format text (docs/definitions.md)"
    )


def _read_json(lines: Sequence[bytes]) -> SampleColumns | None:
    records = [dict(_flatten(record)) for record in decode_records(lines)]
    if len(records) < _NEARLY_ALL * len(lines):
        return None
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: [record.get(name) for record in records] for name in names}
    return SampleColumns({"format": "json"}, columns, is_text=False)


def _flatten(record: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yields the values of a record that are no objects, with their names joined by dots."""
    for key, value in record.items():
        if isinstance(value, dict) and depth < _MOST_DEPTH:
            yield from _flatten(value, f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", value


def _read_syslog(lines: Sequence[bytes]) -> SampleColumns | None:
    header = split_lines(lines)
    programs = header["program"].drop_null().to_pylist()
    if len(programs) < _NEARLY_ALL * len(lines):
        return None
    ((program, _),) = Counter(programs).most_common(1)
    of_program = [index for index, name in enumerate(header["program"].to_pylist()) if name == program]
    own = {name: column.take(pa.array(of_program)) for name, column in header.items()}
    pairs = split_pairs(own["message"], PairStyle())
    has_pairs = _count_pairs(pairs, len(of_program)) >= _LEAST_PAIRS
    texts = {name: own[name] for name in _HEADER_COLUMNS} | (pairs if has_pairs else {}) | {"message": own["message"]}
    columns = {("ts" if name == "time" else name): _list_texts(text) for name, text in texts.items()}
    word = "".join(c if c.isalnum() else "_" for c in program.lower()).strip("_") or "program"
    parser = {"format": FAMILY, "programs": [program], **({"pairs": {}} if has_pairs else {})}
    return SampleColumns(parser, columns, f"{FAMILY}.{word}")


def _read_pairs(lines: Sequence[bytes]) -> SampleColumns | None:
    text = pa.array([line.decode(errors="replace").rstrip("\r") for line in lines], pa.string())
    found = NamedPatterns({"pairs": _PAIRS}).match(text).get("pairs")
    if found is None or found.null_count > (1 - _NEARLY_ALL) * len(lines):
        return None
    separator = max(
        (" ", ",", ";", "|"), key=lambda mark: _count_pairs(split_pairs(found, PairStyle(mark)), len(lines))
    )
    pairs = split_pairs(found, PairStyle(separator))
    if _count_pairs(pairs, len(lines)) < _LEAST_PAIRS:
        return None
    told = {"of": "pairs"} | ({} if separator == " " else {"separator": separator})
    columns = {name: _list_texts(column) for name, column in pairs.items()}
    return SampleColumns({"format": "text", "patterns": {"pairs": _PAIRS}, "pairs": told}, columns)


def _count_pairs(pairs: Mapping[str, pa.StringArray], lines: int) -> float:
    """Returns the number of pairs that a line has on average."""
    return sum(len(column) - column.null_count for column in pairs.values()) / lines


def _read_cells(lines: Sequence[bytes]) -> SampleColumns | None:
    comment = "#" if lines[0].startswith(b"#") else ""
    kept = [line.rstrip(b"\r") for line in lines if not (comment and line.startswith(b"#"))]
    if len(kept) < 2:
        return None
    dialects = [Dialect(delimiter=mark, comment=comment) for mark in _DELIMITERS]
    widths = [_find_width(dialect, kept) for dialect in dialects]
    width, dialect = max(zip(widths, dialects, strict=True), key=lambda found: found[0])
    if width < 2:
        return None
    header, rows = dialect.split(kept[0]), [dialect.split(line) for line in kept]
    has_header = _is_header(header)
    if not has_header and width < _LEAST_UNNAMED:  # text with a comma in it
        return None
    names = header if has_header else [f"column_{number}" for number in range(1, width + 1)]
    rows = [row for row in rows[has_header:] if len(row) == width]
    parser = {
        "format": "delimited",
        **({"delimiter": dialect.delimiter} if dialect.delimiter != "," else {}),
        **({"comment": comment} if comment else {}),
        **({} if has_header else {"columns": names}),
    }
    columns = {name: [_drop_absent(row[at]) for row in rows] for at, name in enumerate(names)}
    return SampleColumns(parser, columns)


def _find_width(dialect: Dialect, lines: Sequence[bytes]) -> int:
    """Returns the number of cells that nearly all lines have; 0 if they differ."""
    ((width, count),) = Counter(len(dialect.split(line)) for line in lines).most_common(1)
    return width if count >= _NEARLY_ALL * len(lines) else 0


def _is_header(cells: Sequence[str]) -> bool:
    """Returns True if the cells are names: none is empty, a number or an address, and none comes twice."""
    return len(set(cells)) == len(cells) and all(
        any(c.isalpha() for c in cell) and not can_parse(cell, parse_ip) for cell in cells
    )


def _list_texts(column: pa.StringArray) -> list[str | None]:
    return [None if text is None else _drop_absent(text) for text in column.to_pylist()]


def _drop_absent(text: str) -> str | None:
    return None if text.strip() in _ABSENT else text.strip()
