"""Lines of a file go to the source whose pattern fits, where a definition says which others may be beside its own.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_support import MemoryCatalog, parse_chunks, parse_file

from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.registry import sources_of_feed
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.errors import InputFileError, UnknownSourceError

TRAFFIC = (
    "1,2026/03/05 08:00:01,001801000001,TRAFFIC,end,2561,2026/03/05 08:00:01,192.0.2.10,198.51.100.7,,,allow web,,,ssl,"
    "vsys1,trust,untrust,a,b,l,2026/03/05 08:00:01,5,1,50122,443,0,0,0x19,tcp,allow,150,70,80,2"
)
THREAT = (
    "1,2026/03/05 08:00:02,001801000001,THREAT,url,2561,2026/03/05 08:00:02,192.0.2.11,198.51.100.8,,,deny,,,ssl,"
    'vsys1,trust,untrust,a,b,l,2026/03/05 08:00:02,6,1,40000,443,0,0,0x0,tcp,block-url,"bad.example/",(9999),malware'
)
SYSTEM = '1,2026/03/05 08:00:05,001801000001,SYSTEM,general,0,2026/03/05 08:00:05,,general,,0,0,general,low,"User in"'
LINES = {"panos.traffic": TRAFFIC, "panos.threat": THREAT, "": SYSTEM}


@pytest.mark.parametrize("feed", [None, "panos.traffic", "panos.threat"])
@settings(max_examples=25)
@given(kinds=st.lists(st.sampled_from(["panos.traffic", "panos.threat", ""]), min_size=1, max_size=12))
def test_each_line_is_of_the_source_whose_kind_it_names(
    tmp_path_factory: pytest.TempPathFactory, feed: str | None, kinds: list[str]
) -> None:
    known = [kind for kind in kinds if kind]
    if feed is None and 2 * len(known) <= len(kinds):
        return  # of no more than half of the lines nothing is told
    path = tmp_path_factory.mktemp("panos") / "gate.log"
    path.write_text("".join(f"{LINES[kind]}\n" for kind in kinds))
    parsed = parse_file(path, feed)
    assert [row["source"] for row in parsed.rows()] == known
    assert {(row["source"], row["src"]) for row in parsed.rows()} <= {
        ("panos.traffic", "192.0.2.10"),
        ("panos.threat", "192.0.2.11"),
    }
    both = {"no pattern of panos.traffic or panos.threat fits", "no pattern of panos.threat or panos.traffic fits"}
    assert Counter(reason in both for _, reason in parsed.faults()) == Counter(
        {True: kinds.count("")} if "" in kinds else {}
    )


def test_a_file_is_of_the_source_with_most_lines_and_half_of_each_is_known(tmp_path: Path) -> None:
    path = tmp_path / "gate.log"
    for traffic, threat, feed in [(3, 2, "panos.traffic"), (2, 3, "panos.threat"), (2, 2, "panos.threat")]:
        path.write_text(f"{TRAFFIC}\n" * traffic + f"{THREAT}\n" * threat)
        assert sniff_file(path, None, {}).feed == feed


def test_the_other_source_is_made_only_when_a_line_is_of_it() -> None:
    traffic = builtin_definitions()["panos.traffic"]
    for text, names in {
        f"{TRAFFIC}\n{SYSTEM}\n": {"panos.traffic"},
        f"{TRAFFIC}\n{THREAT}\n": {"panos.traffic", "panos.threat"},
    }.items():
        catalog = MemoryCatalog([traffic])
        parse_chunks([Chunk(0, text.encode())], "panos.traffic", b"", catalog)
        assert set(catalog.sources) == names


def test_a_file_that_is_read_again_is_removed_from_both_sources() -> None:
    shipped = builtin_definitions()
    assert {source.name for source in sources_of_feed("panos.traffic", shipped)} == {"panos.traffic", "panos.threat"}
    assert [source.name for source in sources_of_feed("squid.access", shipped)] == ["squid.access"]


def test_another_source_that_cannot_be_read_so_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gate.log"
    path.write_text(f"{TRAFFIC}\n")
    definition = builtin_definitions()["panos.traffic"].definition
    for other, error, said in [
        ("lab.none", UnknownSourceError, "lab.none"),
        ("zeek.conn", InputFileError, "lines of zeek.conn beside it, whose format is not text"),
    ]:
        own = parse_definition({**definition, "name": "lab.gate", "parser": {**definition["parser"], "also": [other]}})
        with pytest.raises(error, match=said):
            sniff_file(path, "lab.gate", {own.name: own})
