"""Delimited lines: the quick cutting of whole chunks gives what `split_slowly` and Python's csv give for each line.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from parser_fixtures import parse

from watchfloor.ingest.columns.rows import split_rows
from watchfloor.ingest.columns.separated import SeparatedRows, split_slowly
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.registry import check_format
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.source import Source

LINE = st.text(st.sampled_from('ab,"  é\t'), min_size=1, max_size=12).filter(str.strip)


def cut_all(data: bytes, separator: str, quote: str | None, *, is_merged: bool) -> dict[int, list[str]]:
    """Returns the cells of all lines that are not odd, by the line's number."""
    rows = split_rows(Chunk(0, data))
    cells = SeparatedRows(rows, ord(separator), None if quote is None else ord(quote), is_merged=is_merged)
    found: dict[int, list[str]] = {}
    for width in {*cells.widths[~cells.is_odd].tolist()}:
        keep = [row for row in range(len(rows)) if cells.widths[row] == width and not cells.is_odd[row]]
        columns = [column.to_pylist() for column in cells.cut(keep, width, range(width))]
        found |= {row: list(values) for row, values in zip(keep, zip(*columns, strict=True), strict=True)}
    return found


@given(st.lists(LINE, min_size=1, max_size=5), st.sampled_from([",", "\t"]), st.sampled_from(['"', None]))
@example(['a,"b""c",d', '"a,b"'], ",", '"')
@example(['a"b,c', '"a" b,c'], ",", '"')
@example(['"', '"a'], ",", '"')
def test_lines_that_are_cut_at_once_have_the_cells_that_one_line_has(
    lines: list[str], separator: str, quote: str | None
) -> None:
    for row, cells in cut_all("\n".join(lines).encode(), separator, quote, is_merged=False).items():
        assert cells == split_slowly(lines[row], separator, quote)


@given(st.lists(st.text(st.sampled_from("ab  é"), min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=5))
def test_delimiters_that_are_merged_are_words_apart(lines: list[str]) -> None:
    for row, cells in cut_all("\n".join(lines).encode(), " ", None, is_merged=True).items():
        assert [cell for cell in cells if cell] == lines[row].split()


@given(
    st.lists(st.lists(st.text(st.sampled_from('ab,"é;'), max_size=4), min_size=2, max_size=4), min_size=1, max_size=4)
)
def test_what_csv_writes_is_read_back(table: list[list[str]]) -> None:
    lines = []
    for cells in table:
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(cells)
        lines.append(out.getvalue())
    found = cut_all("\n".join(lines).encode(), ",", '"', is_merged=False)
    assert found == dict(enumerate(table))


DOORS: dict[str, Any] = {
    "name": "lab.doors",
    "parser": {
        "format": "delimited",
        "delimiter": "|",
        "comment": "#",
        "columns": ["day", "clock", "who", "way", "ms", "floors", "code", "mac", "n/a"],
        "ignore": ["n/a"],
        "fields": {
            "ts": {"from": ["day", "clock"], "join": " "},
            "seconds": {"from": "ms", "scale": 0.001},
            "is_in": {"from": "way", "values": {"in": "T", "out": "F"}},
            "floors": {"split": ";"},
            "status": {"from": "code", "pattern": "^[A-Z]+/(?P<value>[0-9]+)$"},
            "mac": {"convert": ["mac"]},
            "site": {"constant": "north"},
        },
    },
    "timestamp": {"field": "ts", "format": "%Y-%m-%d %H:%M:%S"},
    "unknown_fields": "extra",
    "fields": [
        {"name": "ts", "type": "time"},
        {"name": "who", "type": "string"},
        {"name": "seconds", "type": "float"},
        {"name": "is_in", "type": "bool"},
        {"name": "floors", "type": "list", "items": "int"},
        {"name": "status", "type": "int"},
        {"name": "mac", "type": "string"},
        {"name": "site", "type": "string"},
        {"name": "extra", "type": "string"},
    ],
}


def define(**changed: Any) -> Source:
    return check_format(parse_definition({**DOORS, "parser": {**DOORS["parser"], **changed}}))


def test_a_definition_makes_its_fields() -> None:
    data = b"# doors\n2024-03-05|08:00:01|maria|in|1500|1;2|OK/200|a0b1.c2d3.e4f5|x\n"
    (row,) = parse("lab.doors", data, sources=(define(),)).rows()
    assert row == {
        "source": "lab.doors", "ts": 1_709_625_601_000_000, "who": "maria", "seconds": 1.5, "is_in": True,
        "floors": [1, 2], "status": 200, "mac": "A0-B1-C2-D3-E4-F5", "site": "north", "(offset)": 8,
    }  # fmt: skip


def test_a_value_that_does_not_fit_is_kept_in_extra_and_a_time_or_a_required_field_rejects_the_line() -> None:
    data = b"2024-03-05|08:00:01|-||soon|1;x|no|-|\n2024-03-05|25:00:01|eva|in|1|1|OK/1|-|\n"
    loaded = parse("lab.doors", data, sources=(define(),))
    (row,) = loaded.rows()
    assert row == {
        "source": "lab.doors", "ts": 1_709_625_601_000_000, "site": "north", "floors": [1, None], "(offset)": 0,
        "extra": '{"seconds":"soon","floors":"1;x","code":"no"}',
    }  # fmt: skip
    ((_, reason),) = loaded.faults()
    assert reason == "field ts: '2024-03-05 25:00:01' is not a time like 2000-10-10 13:55:36"
    fields = {**DOORS["parser"]["fields"], "seconds": {"from": "ms", "scale": 0.001, "required": True}}
    loaded = parse("lab.doors", data, sources=(define(fields=fields),))
    assert not loaded.rows() and "field seconds: 'soon' is not a finite number" in loaded.faults()[0][1]


def test_lines_that_do_not_fit_say_why() -> None:
    data = b'2024-03-05|08:00:01|"maria|in|1|1|OK/1|-|\n2024-03-05|08:00:01|maria\n\xff|\n'
    reasons = [reason for _, reason in parse("lab.doors", data, sources=(define(),)).faults()]
    assert reasons[0].startswith("its quotes do not fit: ")
    assert reasons[1] == "the line has 3 columns; 9 are named"
    assert reasons[2].startswith("not UTF-8: ")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"delimeter": ","}, "'delimeter' was unexpected"),
        ({"delimiter": ",,"}, ".parser.delimiter: ',,' is too long"),
        (
            {"fields": {"whom": {"from": "who"}}},
            ".parser.fields.whom: 'whom' is not among the fields; did you mean who",
        ),
        ({"fields": {"who": {"pattern": "(?P<value>"}}}, ".parser.fields.who.pattern: '(?P<value>' is no regular"),
        ({"fields": {"who": {"pattern": "(a)"}}}, ".parser.fields.who.pattern: "),
        ({"fields": {"who": {"convert": ["rot13"]}}}, ".parser.fields.who.convert[0]: 'rot13' is not one of"),
    ],
)
def test_a_definition_that_a_format_does_not_understand_is_refused_with_the_place(
    changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(DefinitionError) as error:
        define(**changed)
    assert told in str(error.value)


@given(groups=st.lists(st.tuples(st.sampled_from(["date time c-ip", "c-ip date time"]), st.integers(0, 3)), max_size=8))
def test_columns_may_change_and_come_again_in_an_extended_log(groups: list[tuple[str, int]]) -> None:
    """Each line is read by the names before it, whether they are new or the same again."""
    lines = ["#Software: Microsoft Internet Information Services 10.0", "#Fields: date time c-ip"]
    expected: list[str] = []
    for names, count in groups:
        lines.append(f"#Fields: {names}")
        for _ in range(count):
            expected.append(f"192.0.2.{len(expected)}")
            values = {"date": "2026-03-05", "time": "08:00:01", "c-ip": expected[-1]}
            lines.append(" ".join(values[name] for name in names.split()))
    data = "".join(line + "\n" for line in lines).encode()
    loaded = parse("iis.access", data, b"#Fields: date time c-ip")
    assert [row["c-ip"] for row in loaded.rows()] == expected
    begins = [row["(offset)"] for row in loaded.rows()]
    assert [
        data[at:].split(b"\n")[0].count(address.encode()) for at, address in zip(begins, expected, strict=True)
    ] == [1] * len(expected)
    assert not loaded.rejected
