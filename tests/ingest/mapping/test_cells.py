"""Cells within a text are those that Python's csv finds, and named changes of texts do what a definition asks.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watchfloor.ingest.mapping.cell_columns import CellColumns
from watchfloor.ingest.mapping.conversions import CHANGES
from watchfloor.ingest.mapping.text_parts import TextParts

CELLS = st.lists(st.text(st.sampled_from('ab,"é;'), max_size=4), min_size=1, max_size=6)
NAMES = ["one", "two", "three"]


def write_line(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()


@given(st.lists(st.one_of(st.none(), CELLS), min_size=1, max_size=6))
@example([None, ["a"], ["a", "b,c", 'd"', "e"], [""]])
def test_texts_of_any_number_of_cells_have_the_cells_that_were_written(table: list[list[str] | None]) -> None:
    text = pa.array([None if cells is None else write_line(cells) for cells in table], pa.string())
    columns = {
        name: column.to_pylist() for name, column in CellColumns({"of": "x", "columns": NAMES}).split(text).items()
    }
    for row, cells in enumerate(table):
        found = {name: values[row] for name, values in columns.items() if values[row] is not None}
        names = [*NAMES, "cell 4", "cell 5", "cell 6"]
        assert found == dict(zip(names, cells or [], strict=False))


def test_a_text_whose_quotes_do_not_fit_has_no_cells() -> None:
    columns = CellColumns({"of": "x", "columns": NAMES, "delimiter": "|"}).split(pa.array(['a|"b', "c|d"]))
    assert {name: column.to_pylist() for name, column in columns.items()} == {"one": [None, "c"], "two": [None, "d"]}
    assert CellColumns({"of": "x", "columns": NAMES}).split(pa.array([None], pa.string())) == {}


@pytest.mark.parametrize(
    ("change", "text", "changed"),
    [
        ("seconds", "0h:10m:20s", "620"),
        ("seconds", "1d 2h:03m:04s", "93784"),
        ("seconds", "0:01:30", "90"),
        ("seconds", ":", ":"),
        ("labels", "(3)www(4)shop(7)example(0)", "www.shop.example"),
        ("labels", "(0)", "."),
        ("labels", "www.shop.example", "www.shop.example"),
        ("micros", "1500000", "1.500000"),
        ("micros", "1.5", "1.5"),
        ("micros", "-", "-"),
        ("quotes", r"a \"b\" \\ \x41", r'a "b" \ \x41'),
        ("audit", '"/usr/bin/su"', "/usr/bin/su"),
        ("audit", "2F62696E2F7375002D6C", "/bin/su -l"),
        ("audit", '"ABCD"', "ABCD"),
        ("audit", "ABC", "ABC"),
        ("audit", "(null)", "(null)"),
        ("audit", 'a0="ls" a1=2D6C a2="10" a3=', "ls -l 10"),
        ("audit", "a0=6C73 a1_len=6 a1[0]=61 a1[1]=6263", "ls abc"),
        ("audit", "FF", "\\xff"),
    ],
)
def test_changes_of_texts(change: str, text: str, changed: str) -> None:
    assert CHANGES[change](pa.array([text])).to_pylist() == [changed]


def test_parts_of_a_text_come_from_groups_and_then_from_pairs() -> None:
    parts = TextParts(
        {
            "patterns": {"both": "^(?P<a>[0-9]+) (?P<rest>.*)$", "one": "^x (?P<rest>.*)$"},
            "pairs": {"of": "rest"},
        }
    )
    columns = parts.split(pa.array(["1 a=2 b=3", "x a=4", "none"]))
    assert {name: column.to_pylist() for name, column in columns.items()} == {
        "a": ["1", "4", None], "b": ["3", None, None], "(pattern)": ["both", "one", None],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ("|a=1 2\tb=3", {"a": "1 2", "b": "3"}),
        ("^|a=1 2^b=3", {"a": "1 2", "b": "3"}),
        ("x5E|a=1 2^b=3", {"a": "1 2", "b": "3"}),
        ("0x09|a=1 2\tb=^", {"a": "1 2", "b": "^"}),
    ],
)
def test_a_text_may_name_its_separator(line: str, pairs: dict[str, str]) -> None:
    parts = TextParts(
        {"patterns": {"p": r"^(?P<by>[^|]*)\|(?P<rest>.*)$"}, "pairs": {"of": "rest", "separator_from": "by"}}
    )
    columns = parts.split(pa.array([line, "|other=1"]))
    assert {name: column[0].as_py() for name, column in columns.items()} == {**pairs, "(pattern)": "p", "other": None}
