"""A proposed definition reads the file from which it was made, with the types and indexes that its values show.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsing_support import DATA

from watchfloor.ingest.authoring.proposal import SAMPLE_LINES, Proposal, propose_definition
from watchfloor.ingest.authoring.trial import Trial, try_source
from watchfloor.ingest.formats.registry import check_format
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.field import FieldType

DOORS = """when,badge,door,port,ok,took,note
2026-03-01 08:00:01,B-1041,north,8080,true,0.5,first of all
2026-03-01 08:00:07,B-2210,north,8080,false,0.25,
2026-03-01 08:01:30,B-1041,vault,443,true,1.5,door stuck
"""


def propose(path: Path, text: str | bytes) -> tuple[Proposal, Trial]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    proposal = propose_definition(path)
    return proposal, try_source(check_format(parse_definition(proposal.definition)), path, SAMPLE_LINES)


def types_of(proposal: Proposal) -> dict[str, str]:
    return {each.field.name: each.field.type_name for each in proposal.fields}


def rows_of(trial: Trial) -> list[dict[str, Any]]:
    return [row for batch in trial.events for row in batch.to_pylist()]


def test_cells_get_the_types_of_their_values(tmp_path: Path) -> None:
    proposal, trial = propose(tmp_path / "doors.csv", DOORS)
    assert types_of(proposal) == {
        "when": "time", "badge": "string", "door": "string", "port": "port", "ok": "bool", "took": "float",
        "note": "string",
    }  # fmt: skip
    assert (proposal.definition["name"], proposal.definition["timestamp"]) == (
        "logs.doors",
        {"field": "when", "format": "iso8601"},
    )
    first, second, _ = rows_of(trial)
    assert (first["when"], first["port"], first["ok"], first["took"]) == (
        datetime(2026, 3, 1, 8, 0, 1, tzinfo=UTC), 8080, True, 0.5,
    )  # fmt: skip
    assert (second["ok"], second["note"]) == (False, None)
    assert not trial.rejected


def test_the_file_is_known_by_its_proposal(tmp_path: Path) -> None:
    proposal, _ = propose(tmp_path / "doors.csv", DOORS)
    source = parse_definition(proposal.definition)
    assert [one.name for one in sniff_file(tmp_path / "doors.csv", None, {source.name: source}).sources] == [
        source.name
    ]


@pytest.mark.parametrize("mark", ["\t", ";", "|"])
def test_other_delimiters_are_found(mark: str, tmp_path: Path) -> None:
    proposal, trial = propose(tmp_path / "doors.txt", DOORS.replace(",", mark))
    assert proposal.definition["parser"]["delimiter"] == mark
    assert trial.count == 3


def test_a_day_and_a_clock_make_one_time(tmp_path: Path) -> None:
    text = "date,time,user\n03/29/2026,08:00:01,eve\n03/30/2026,09:10:11,bob\n"
    proposal, trial = propose(tmp_path / "in.csv", text)
    assert proposal.definition["parser"]["fields"]["ts"] == {"from": ["date", "time"], "join": " "}
    assert [row["ts"] for row in rows_of(trial)] == [
        datetime(2026, 3, 29, 8, 0, 1, tzinfo=UTC),
        datetime(2026, 3, 30, 9, 10, 11, tzinfo=UTC),
    ]
    assert "date" in {each.field.name for each in proposal.fields}


def test_days_and_months_that_could_change_places_are_told(tmp_path: Path) -> None:
    proposal, _ = propose(tmp_path / "in.csv", "at,user\n03/04/2026 08:00:01,eve\n05/06/2026 08:00:01,eve\n")
    assert any("day and month" in remark for remark in proposal.remarks)
    surer, _ = propose(tmp_path / "in.csv", "at,user\n03/04/2026 08:00:01,eve\n25/06/2026 08:00:01,eve\n")
    assert surer.definition["timestamp"]["format"] == "%d/%m/%Y %H:%M:%S"
    assert not surer.remarks


def test_columns_without_names_get_numbers(tmp_path: Path) -> None:
    text = "".join(f"2026-03-01T08:00:0{n}Z,10.0.0.{n},eve,{n}\n" for n in range(5))
    proposal, trial = propose(tmp_path / "in.csv", text)
    assert types_of(proposal) == {"column_1": "time", "column_2": "ip", "column_3": "string", "column_4": "int"}
    assert trial.count == 5


def test_nested_json_is_flattened(tmp_path: Path) -> None:
    lines = [
        {"time": 1_772_352_000.5 + n, "src": {"ip": f"10.0.0.{n}", "port": 40_000 + n}, "tags": ["a", "b"],
         "odd": n if n % 2 else "text", "deep": "x" if n else {"y": 1}}
        for n in range(4)
    ]  # fmt: skip
    proposal, trial = propose(tmp_path / "in.json", "".join(json.dumps(line) + "\n" for line in lines))
    assert types_of(proposal) == {
        "time": "time", "src.ip": "ip", "src.port": "port", "tags": "list of string", "deep.y": "int",
    }  # fmt: skip
    assert (proposal.definition["timestamp"]["format"], trial.count) == ("epoch", 4)
    assert {remark.partition(":")[0] for remark in proposal.remarks} == {"odd", "deep"}
    assert "src.ip" in {f.name for f in trial.source.indexed_fields}
    assert json.loads(rows_of(trial)[1]["extra"])["odd"] == 1


def test_pairs_become_fields(tmp_path: Path) -> None:
    lines = [f'ts=2026-03-01T08:00:0{n}Z srcip=10.0.0.{n} user="eve {n}" bytes={n * 100}\n' for n in range(4)]
    proposal, trial = propose(tmp_path / "in.log", "".join(lines))
    assert types_of(proposal) == {"ts": "time", "srcip": "ip", "user": "string", "bytes": "int"}
    assert [row["user"] for row in rows_of(trial)] == [f"eve {n}" for n in range(4)]


def test_syslog_is_read_by_its_program(tmp_path: Path) -> None:
    lines = [f"2026-03-01T08:00:0{n}Z gate doorsd[7]: badge=B-{n} door=north ok=yes\n" for n in range(4)]
    proposal, trial = propose(tmp_path / "in.log", "".join(lines))
    assert (proposal.definition["name"], proposal.definition["parser"]["programs"]) == ("syslog.doorsd", ["doorsd"])
    assert [row["badge"] for row in rows_of(trial)] == [f"B-{n}" for n in range(4)]
    assert "host" in {f.name for f in trial.source.indexed_fields}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no lines"),
        ("roses are red\nviolets are blue\n", "regular expressions"),
        ("a,b,c,d\n1,2,3,4\n5,6,7,8\n", "no field has a time"),
        (b"\xff\xfe\x00\x01" * 20 + b"\n", "regular expressions"),
        ('{"a": 1}\n{"a": 2}\n', "no field has a time"),
    ],
)
def test_what_cannot_be_proposed_is_said(text: str | bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=told):
        propose(tmp_path / "in.log", text)


def test_no_more_than_nine_fields_are_indexed(tmp_path: Path) -> None:
    names = ["time", *(f"name_{n}" for n in range(12))]
    rows = [[f"2026-03-01T08:00:{n:02}Z", *(f"v{n % 3}" for _ in names[1:])] for n in range(30)]
    text = "".join(",".join(row) + "\n" for row in [names, *rows])
    proposal, trial = propose(tmp_path / "in.csv", text)
    assert len(trial.source.indexed_fields) == 9
    assert sum("other fields come first" in each.advice.reason for each in proposal.fields) == 3


CELLS: dict[str, st.SearchStrategy[str]] = {
    "ip": st.ip_addresses().map(str),
    "int": st.integers(-(10**12), 10**12).map(str),
    "float": st.floats(-1e6, 1e6).map(lambda value: f"{value:.3f}"),
    "string": st.text(st.characters(codec="utf-8", categories=("L", "P", "S"), exclude_characters="\x85"), min_size=1),
}


@given(data=st.data())
def test_any_table_is_read_whole(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each column has values of one type; the definition gives the same values back, and every line is an event."""
    kinds = data.draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5))
    rows = data.draw(st.lists(st.tuples(*(CELLS[kind] for kind in kinds)), min_size=2, max_size=12))
    names = ["time", *(f"{kind}_{number}" for number, kind in enumerate(kinds))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([names, *([f"2026-03-01T08:00:{n:02}Z", *row] for n, row in enumerate(rows))])
    proposal, trial = propose(tmp_path_factory.mktemp("drawn") / "in.csv", out.getvalue())
    assert trial.count == len(rows)
    found = rows_of(trial)
    for at, (kind, name) in enumerate(zip(kinds, names[1:], strict=True)):
        told = proposal.fields[at + 1].field.type
        if kind != "string":
            assert told.value in (kind, "int"), name
        for row, event in zip(rows, found, strict=True):
            assert _is_same(row[at].strip(), event[name], told), name


def _is_same(text: str, value: Any, kind: FieldType) -> bool:
    if value is None:
        return text in ("", "-")
    if kind is FieldType.FLOAT:
        return float(text) == value
    return kind in (FieldType.IP, FieldType.BOOL, FieldType.TIME) or text == str(value)


def service_logs() -> Sequence[Path | None]:
    return sorted(DATA.glob("services/*.log")) or [None]


@pytest.mark.parametrize("path", service_logs(), ids=lambda path: path.name if path else "none")
def test_real_logs_are_read_by_their_proposals(path: Path | None) -> None:
    """Of each log for which something is proposed nearly every line becomes an event, and none is lost."""
    if path is None:
        pytest.skip("the real logs are not here")
    try:
        proposal = propose_definition(path)
    except InputFileError as error:
        assert path.name in str(error)
        return
    trial = try_source(check_format(parse_definition(proposal.definition)), path, SAMPLE_LINES)
    assert trial.lines > 0
    assert len(trial.rejected) <= 0.1 * trial.lines
