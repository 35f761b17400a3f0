"""The quick paths of a parser give the same events as the careful ones.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from parsing_support import ParsedFile, outcome

from watchfloor.ingest.columns import scalars
from watchfloor.ingest.columns.convert import convert_texts
from watchfloor.ingest.columns.rows import split_rows
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.access_log.access_log import AccessLogParser
from watchfloor.ingest.formats.json.json_lines import JsonRowReader
from watchfloor.ingest.parsing.parsed import ParsedChunk
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.field import FieldType

PROXY = builtin_definitions()["proxy.events"]

TEXT = st.one_of(st.text(max_size=6), st.sampled_from(["10.0.0.1", "::1", "2024-03-05T08:00:00Z", "1.5", "x}y", "{}"]))
NUMBER = st.one_of(st.integers(-3, 70_000), st.integers(), st.floats(width=32), st.floats(), st.just(1 << 63))
VALUE = st.one_of(st.none(), st.booleans(), NUMBER, TEXT)
STAMP = st.one_of(
    st.datetimes().map(lambda t: t.isoformat() + "Z"),
    st.just("2024-03-05T08:00:00.5+01:00"),
    st.just("2024-03-05T08:00:00.5+01:00"),
    VALUE,
)
FITTING = st.fixed_dictionaries(
    {"ts": st.just("2024-03-05T08:00:00Z")},
    optional={
        "user": TEXT,
        "status": st.integers(-(2**63), 2**63 - 1),
        "src_port": st.integers(0, 65535),
        "duration_ms": st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-5, 5)),
        "cached": st.booleans(),
        "src_ip": st.ip_addresses().map(str),
    },
)
ANY = st.fixed_dictionaries(
    {"ts": STAMP},
    optional={
        name: st.one_of(VALUE, st.lists(VALUE, max_size=2), st.dictionaries(TEXT, VALUE, max_size=1))
        for name in ("user", "status", "src_port", "duration_ms", "cached", "src_ip", "colour")
    },
)
LINES = st.lists(st.one_of(FITTING, FITTING, ANY).map(json.dumps), min_size=1, max_size=6)


@given(LINES, st.sampled_from(["", " ", "\t", ",", "}", "{}", "null", " null ", "\r"]))
@example(['{"ts":"2024-03-05T08:00:00Z","status":1}', '{"ts":"2024-03-05T08:00:00Z","duration_ms":NaN}'], "")
@settings(max_examples=150)
def test_fast_and_slow_json_agree(lines: list[str], tail: str) -> None:
    data = "\n".join([*lines[:-1], lines[-1] + tail]).encode()
    rows = split_rows(Chunk(0, data))
    reader = JsonRowReader(PROXY)
    fast, slow = ParsedChunk(), ParsedChunk()
    reader.read_rows(rows, fast)
    reader.read_rows_slowly(rows, slow)

    def result(parsed: ParsedChunk) -> list[dict[str, Any]]:
        return outcome(ParsedFile(None, parsed.events, parsed.rejected))

    assert result(fast) == result(slow)
    one_by_one = ParsedChunk()
    for row in range(len(rows)):
        JsonRowReader(PROXY).read_rows(rows.select(slice(row, row + 1)), one_by_one)
    assert result(one_by_one) == result(fast)


CLOCK = r"[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{0,9})?)?"
ISO = rf"(0000|1969|2024|2261|2262|9999)-[01][0-9]-[0-3][0-9][T ]{CLOCK}(Z|[+-][0-9]{{2}}:?([0-9]{{2}})?)?"
SCALARS = {
    FieldType.INT: st.one_of(st.integers().map(str), st.from_regex(r"[-+]?[0-9]{1,20}", fullmatch=True)),
    FieldType.PORT: st.one_of(st.integers(-2, 65_540).map(str), st.just("0080")),
    FieldType.FLOAT: st.one_of(
        st.floats().map(str), st.from_regex(r"[-+]?[0-9.]{1,5}([eE][-+]?[0-9]{1,3})?", fullmatch=True)
    ),
    FieldType.BOOL: st.sampled_from(["T", "F"]),
    FieldType.IP: st.one_of(st.ip_addresses().map(str), st.just("::FFFF:1.2.3.4"), st.just("1.2.3.04")),
    FieldType.TIME: st.one_of(
        st.datetimes().map(lambda t: t.isoformat() + "Z"),
        st.from_regex(r"-?[0-9]{1,10}(\.[0-9]{0,11})?", fullmatch=True),
        st.from_regex(ISO, fullmatch=True),
    ),
}


@pytest.mark.parametrize("kind", list(SCALARS))
@pytest.mark.parametrize("time_format", ["epoch", "epoch_us", "iso8601"])
@given(data=st.data())
@settings(max_examples=40)
def test_columns_and_single_values_agree(kind: FieldType, time_format: str, data: st.DataObject) -> None:
    odd = st.sampled_from(["", "-", "0x1f", " 1", "1 ", "é", "nan", "inf", "1_0", "T", "１"])
    values = data.draw(st.lists(st.one_of(st.none(), SCALARS[kind], SCALARS[kind], odd), max_size=5))
    parse_one = scalars.scalar_parser(kind, time_format)
    expected, faults = [], set()
    for place, value in enumerate(values):
        try:
            expected.append(None if value is None else parse_one(value.rstrip("\n")))
        except scalars.Unfit:
            expected.append(None)
            faults.add(place)
    reasons: dict[int, str] = {}
    text = pa.array([None if v is None else v.rstrip("\n") for v in values], pa.string())
    column = convert_texts("f", kind, text, time_format, reasons)
    got = column.cast(pa.int64()).to_pylist() if kind is FieldType.TIME else column.to_pylist()
    assert (got, set(reasons)) == (expected, faults)


PART = st.text(st.sampled_from('ab "\\\\[]-/'), max_size=5)
ACCESS_LINE = st.tuples(
    st.sampled_from(["h", "::1", "a b", ""]),
    st.sampled_from(["-", "ann", "ann lee", "", "a [b"]),
    st.sampled_from(["05/Mar/2024:08:00:01 +0100", "31/Feb/2024:08:00:01 +0100", "05/Mar/2024:08:00:61 +0100", "x"]),
    st.one_of(PART, st.just("GET /x HTTP/1.1"), st.just('GET /\\"q\\" HTTP/1.1')),
    st.sampled_from(["200", "-", "20", "2x0"]),
    st.sampled_from(["5", "-", "", "5 ", "5-", "99999999999999999999", "123456789012345678901"]),
    st.one_of(st.just(""), st.tuples(PART, PART).map(lambda p: f' "{p[0]}" "{p[1]}"'), PART),
).map(lambda p: f'{p[0]} - {p[1]} [{p[2]}] "{p[3]}" {p[4]} {p[5]}{p[6]}')


@given(st.lists(ACCESS_LINE, min_size=1, max_size=5))
@settings(max_examples=200)
def test_fast_and_slow_access_lines_agree(lines: list[str]) -> None:
    parser = AccessLogParser(builtin_definitions()["web.access"])
    chunk = Chunk(0, "\n".join(lines).encode())
    fast, slow = parser.parse(chunk), ParsedChunk()
    parser.parse_slowly(split_rows(chunk), slow)
    assert outcome(ParsedFile(None, fast.events, fast.rejected)) == outcome(
        ParsedFile(None, slow.events, slow.rejected)
    )
