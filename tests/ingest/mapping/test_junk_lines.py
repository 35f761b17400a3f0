"""Junk and damaged lines of every source that patterns describe are events or rejected, and none is lost.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_support import MemoryCatalog, parse_chunks

from watchfloor.ingest.files.lines import Chunk
from watchfloor.schema.definition import builtin_definitions

FIXTURES = Path(__file__).parents[2] / "fixtures" / "sources"
TEXTS = {
    name: (FIXTURES / name / "in.log").read_bytes()
    for name, source in builtin_definitions().items()
    if source.parser["format"] == "text" and "skip" not in source.parser and (FIXTURES / name / "in.log").is_file()
}
JUNK = [
    b"\n",
    b"\r\n",
    b"\0",
    b'"',
    b"\\",
    b",",
    b" ",
    b"\t",
    b"=",
    b"[",
    b"]",
    b"|",
    b"\xff",
    b"\x1d",
    b"99999",
    b";",
    b":",
]


@pytest.mark.parametrize("name", sorted(TEXTS))
@given(data=st.data())
@settings(max_examples=25)
def test_damaged_lines_are_events_or_rejected(name: str, data: st.DataObject) -> None:
    good = TEXTS[name]
    pieces = st.one_of(
        st.sampled_from(JUNK),
        st.binary(max_size=20),
        st.tuples(st.integers(0, len(good)), st.integers(1, 300)).map(lambda cut: good[cut[0] : sum(cut)]),
    )
    raw = b"".join(data.draw(st.lists(pieces, min_size=1, max_size=12))).removeprefix(b"\xef\xbb\xbf")
    loaded = parse_chunks([Chunk(0, raw)], name, b"", MemoryCatalog())
    assert loaded.lines == len([line for line in raw.split(b"\n") if line.strip(b" \t\r")])
    places = [row["(offset)"] for row in loaded.rows()] + [rejected.offset for rejected in loaded.rejected]
    assert len(places) == len({*places}) == loaded.lines


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_long_line_is_an_event_or_rejected(name: str) -> None:
    beginning = next(line for line in TEXTS[name].split(b"\n") if len(line) > 60)[:60]
    for piece in (b'"', b'\\"', b" a=", b",", b"x"):
        line = beginning + piece * (300_000 // len(piece))
        loaded = parse_chunks([Chunk(0, line + b"\n")], name, b"", MemoryCatalog())
        assert loaded.lines == 1
