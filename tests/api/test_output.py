"""Writers of result formats write to files, pipes and terminals.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.api.cli.terminal.output import open_output
from watchfloor.api.formats.ndjson_writer import encode_ndjson
from watchfloor.api.formats.table_writer import TableWriter, fit_widths, pad_cell
from watchfloor.api.formats.visible import VisibleStream, escape_controls, escape_raw_line
from watchfloor.api.formats.writers import open_writer
from watchfloor.schema.errors import UserError

TIME = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("ts", TIME),
        ("name", pa.string()),
        ("size", pa.int64()),
        ("share", pa.float64()),
        ("port", pa.uint16()),
        ("ok", pa.bool_()),
        ("words", pa.list_(pa.string())),
        ("times", pa.list_(TIME)),
        ("ratios", pa.list_(pa.float64())),
    ]
)
MOMENT = datetime(2026, 1, 8, 12, 0, 0, 5, tzinfo=UTC)


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def batch(*rows: dict[str, Any], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)


def written(form: str, *batches: pa.RecordBatch, out: io.BytesIO | None = None, **options: Any) -> str:
    out = out or io.BytesIO()
    writer = open_writer(form, out, **options)
    for one in batches:
        writer.write(one)
    writer.close()
    return out.getvalue().decode()


def plain(value: Any) -> Any:
    """Returns a value as JSON has it: the oracle."""
    if isinstance(value, datetime):
        return f"{value.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
    return [plain(element) for element in value] if isinstance(value, list) else value


MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2261, 12, 31), timezones=st.just(UTC))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.fixed_dictionaries(
    {
        "ts": MOMENTS,
        "name": st.none() | st.text(max_size=8),
        "size": st.none() | st.integers(-(2**63), 2**63 - 1),
        "share": st.none() | FLOATS,
        "port": st.none() | st.integers(0, 65535),
        "ok": st.none() | st.booleans(),
        "words": st.none() | st.lists(st.none() | st.text(max_size=4), max_size=3),
        "times": st.none() | st.lists(st.none() | MOMENTS, max_size=3),
        "ratios": st.none() | st.lists(st.none() | FLOATS, max_size=3),
    }
)


@given(st.lists(ROWS, max_size=12), st.integers(0, 5), st.integers(0, 12))
def test_ndjson_is_each_event_without_its_nulls(rows: list[dict[str, Any]], start: int, length: int) -> None:
    wanted = [{k: plain(v) for k, v in row.items() if v is not None} for row in rows][start : start + length]
    lines = encode_ndjson(batch(*rows).slice(start, length)).splitlines()
    assert [json.loads(line) for line in lines] == wanted


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=6), min_size=1))
def test_ndjson_lines_survive_any_text_and_name(texts: list[str]) -> None:
    name = texts[0] or "x"
    schema = pa.schema([(name, pa.string())])
    text = encode_ndjson(batch(*({name: text} for text in texts), schema=schema)).decode()
    assert text.count("\n") == len(texts)
    assert [json.loads(line)[name] for line in text.split("\n")[:-1]] == texts


def test_ndjson_of_special_floats_is_null() -> None:
    text = encode_ndjson(batch({"ts": MOMENT, "share": float("nan")}, {"ts": MOMENT, "share": float("inf")}))
    assert [json.loads(line)["share"] for line in text.splitlines()] == [None, None]


def test_ndjson_of_an_event_without_values_is_an_empty_object() -> None:
    assert encode_ndjson(batch({}, {}).select(["name", "size"])) == b"{}\n{}\n"
    assert encode_ndjson(batch()) == b""


def test_csv_has_one_header_and_tells_empty_from_null() -> None:
    rows = [
        {"ts": MOMENT, "name": 'a,"b"\nc', "words": ["x", "y"], "ok": True},
        {"ts": MOMENT, "name": "", "words": []},
    ]
    text = written("csv", batch(rows[0]), batch(rows[1]))
    assert text.splitlines()[-1].startswith('"2026-01-08T12:00:00.000005Z","",,')
    header, first, second = csv.reader(io.StringIO(text))
    assert header == SCHEMA.names
    assert first == ["2026-01-08T12:00:00.000005Z", 'a,"b"\nc', "", "", "", "true", "x,y", "", ""]
    assert second[1:3] == ["", ""]


def test_arrow_keeps_the_types() -> None:
    out = io.BytesIO()
    writer = open_writer("arrow", out)
    writer.write(batch({"ts": MOMENT}))
    writer.write(batch({"ts": MOMENT, "words": ["a"]}))
    writer.close()
    table = pa.ipc.open_stream(out.getvalue()).read_all()
    assert table.schema == SCHEMA
    assert table.num_rows == 2


def test_arrow_is_refused_on_a_terminal() -> None:
    with pytest.raises(UserError, match="--output FILE"):
        open_writer("arrow", Terminal())


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_each_batch_is_out_before_the_next_is_asked_for(form: str) -> None:
    out = io.BytesIO()
    writer = open_writer(form, out)
    writer.write(batch({"ts": MOMENT, "name": "first"}))
    assert b"first" in out.getvalue()


def test_a_table_shows_the_columns_that_have_values_on_the_first_page() -> None:
    out = io.BytesIO()
    writer = TableWriter(out)
    writer.write(batch({"ts": MOMENT, "name": "a", "size": 5}, {"ts": MOMENT, "name": "bcd", "size": 17}))
    writer.write(batch(*({"ts": MOMENT + timedelta(days=n), "name": "x"} for n in range(30))))
    writer.write(batch({"ts": MOMENT, "port": 80}))
    writer.close()
    lines = out.getvalue().decode().splitlines()
    assert lines[0].split() == ["ts", "name", "size"]
    assert lines[1] == "2026-01-08T12:00:00.000005Z  a        5"
    assert lines[2] == "2026-01-08T12:00:00.000005Z  bcd     17"
    assert len(lines) == 34
    assert writer.hidden == {"port"}


def test_a_table_with_chosen_columns_shows_all_of_them() -> None:
    text = written("table", batch({"ts": MOMENT}).select(["ts", "port"]), all_columns=True)
    assert text.splitlines()[0].split() == ["ts", "port"]


def test_a_table_without_rows_is_empty() -> None:
    assert written("table") == ""
    assert written("table", batch()) == ""


def test_a_table_fits_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    text = written("table", batch({"ts": MOMENT, "name": "n" * 200, "words": ["w" * 50] * 3}), out=Terminal())
    lines = text.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert all(len(line) <= 50 for line in lines)
    assert "…" in lines[1]


@given(st.lists(st.integers(1, 300), max_size=40), st.integers(1, 200))
def test_widths_fit(wanted: list[int], width: int) -> None:
    widths = fit_widths(wanted, width)
    assert sum(widths) + 2 * max(0, len(widths) - 1) <= width
    assert bool(widths) == bool(wanted)
    assert all(w <= most for w, most in zip(widths, wanted, strict=False))


def test_wide_characters_are_cut_by_cells() -> None:
    assert pad_cell("日本語", 6) == "日本語"
    assert pad_cell("日本語", 4) == "日 …"
    assert pad_cell("7", 3, align_right=True) == "  7"


EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\r\nnext\x7f\x00"


@pytest.mark.parametrize("form", ["table", "ndjson", "csv"])
def test_no_control_character_of_a_log_reaches_a_terminal(form: str) -> None:
    text = written(form, batch({"ts": MOMENT, "name": EVIL, "words": [EVIL]}), out=Terminal())
    own = text.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert not [c for c in own if c != "\n" and (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c == "\u202e")]
    assert "owned" in text


def test_a_table_is_safe_in_a_pipe_too() -> None:
    lines = written("table", batch({"ts": MOMENT, "name": EVIL})).splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202egnp.exe\\r\\nnext\\x7f\\x00")


def test_raw_lines_are_made_visible() -> None:
    assert escape_raw_line(b"a\xff\x1b[0m\tb") == "a\\xff\\x1b[0m\\tb"
    assert escape_controls("plain Ünïcode 日本") == "plain Ünïcode 日本"


def test_a_stream_for_terminals_keeps_line_ends() -> None:
    out = io.BytesIO()
    VisibleStream(out).write(b"a\x1b\nb\r\n")
    assert out.getvalue() == b"a\\x1b\nb\\r\n"


def test_output_that_cannot_be_written_is_the_users_affair(tmp_path: Any) -> None:
    with pytest.raises(UserError, match="cannot write"), open_output(str(tmp_path / "no" / "file")):
        pass
