"""The figures of the studies are whole, keep to their columns, and agree with what their texts say elsewhere.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from watchfloor.loadgen.lookups.study import list_lookups
from watchfloor.loadgen.published.read_published import PublishedTable, Study, load_published, scale_rates

STUDIES = load_published()
DOCS = Path(__file__).parents[2] / "docs/measuring"
TABLES = [(study.name, number) for study in STUDIES.values() for number in study.tables]


def read_table(study: str, number: str) -> PublishedTable:
    return next(each for each in STUDIES.values() if each.name == study).tables[number]


def test_all_studies_and_tables_are_there() -> None:
    assert list(STUDIES) == ["llcysa", "benchmark", "security", "erasure-coding"]
    numbers = list(STUDIES["benchmark"].tables)
    assert numbers == [*(f"6-{n}" for n in range(1, 15)), *(f"7-{n}" for n in range(1, 9)), "7-verify", "7-9", "7-10"]
    assert list(STUDIES["llcysa"].tables) == ["I", "II", "ingest"]
    assert list(STUDIES["erasure-coding"].tables) == ["write", "read", "bulk-write", "lookups"]


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_a_study_says_what_it_asked_and_what_differs(study: Study) -> None:
    assert all((study.title, study.source, study.cluster))
    assert study.question.endswith("?") and study.differs.endswith(".")


@pytest.mark.parametrize(("study", "number"), TABLES)
def test_every_table_has_a_place_and_rows_of_one_form(study: str, number: str) -> None:
    table = read_table(study, number)
    assert table.number == number and table.title and table.place and table.rows
    assert set(table.rates) <= set(table.columns)
    for row in table.rows:
        assert tuple(row) == tuple(table.columns)
        assert all(isinstance(row[column], int | float) and row[column] > 0 for column in table.rates)
    keys = [tuple(row.values()) for row in table.rows]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("study", "number", "cells", "column", "value"),
    [
        ("llcysa", "I", {"scheme": "batched-index", "query": "C"}, "seconds", 0.16),
        ("llcysa", "II", {"scheme": "scan", "query": "A"}, "seconds", 316.4),
        ("benchmark", "6-1", {"nodes": 1000}, "mean_entries_per_second", 108e6),
        ("benchmark", "6-4", {"nodes": 500, "split_gb": 10}, "max_entries_per_second", 35.65e6),
        ("benchmark", "6-9", {"nodes": 1000, "initial_entries": 416e9}, "max_queries_per_second", 1653),
        ("benchmark", "6-12", {"nodes": 1000, "mappers": 10_000}, "seconds", 17 * 3600),
        ("benchmark", "6-13", {"nodes": 300, "workload": "C"}, "latency_ms", 172.72),
        ("benchmark", "6-14", {"nodes": 1000, "buffer_kb": 1000}, "operations_per_second", 5000),
        ("benchmark", "7-1", {"nodes": 16}, "mean_entries_per_second", 441_000),
        ("benchmark", "7-4", {"nodes": 1000, "test": "batch walk"}, "entries", 207_358e6),
        ("benchmark", "7-10", {"nodes": 10, "workload": "insert", "buffer_kb": 10}, "latency_ms", 33.82),
        ("security", "2", {"level": "auth-conf"}, "median_change_percent", 21.08),
        ("erasure-coding", "bulk-write", {"compressor": "none", "encoding": "Replication"}, "minutes", 3.0),
        ("erasure-coding", "lookups", {"encoding": "Replication", "failures": True}, "max_ms", 304),
    ],
)
def test_single_values_are_those_of_the_texts(
    study: str, number: str, cells: dict[str, object], column: str, value: float
) -> None:
    (row,) = read_table(study, number).select_rows(**cells)
    assert row[column] == pytest.approx(value)


def test_changes_of_the_security_study_follow_from_its_medians() -> None:
    rows = STUDIES["security"].tables["2"].rows
    for row in rows:
        change = 100 * (row["median_ms"] / rows[0]["median_ms"] - 1)
        assert row["median_change_percent"] == pytest.approx(change, abs=0.02)


@pytest.mark.parametrize("number", ["6-1", "6-2", "7-1", "7-2"])
def test_sizes_hours_and_mean_rates_of_presplit_ingest_agree(number: str) -> None:
    for row in STUDIES["benchmark"].tables[number].rows:
        rate = row["final_entries"] / (row["hours"] * 3600)
        assert rate == pytest.approx(row["mean_entries_per_second"], rel=0.2)


def test_rates_are_shared_among_nodes_and_tablet_servers() -> None:
    (first, *_) = scale_rates(STUDIES["benchmark"].tables["6-1"], "mean_entries_per_second")
    assert (first.nodes, first.tablet_servers, first.rate) == (300, 287, 37e6)
    assert first.per_node == pytest.approx(123_333, rel=1e-3)
    assert first.per_tablet_server == pytest.approx(128_920, rel=1e-3)
    (small, *_) = scale_rates(STUDIES["benchmark"].tables["7-1"], "mean_entries_per_second")
    assert small.tablet_servers is None and small.per_tablet_server is None and small.per_node == 441_000 / 16


@pytest.mark.parametrize(
    ("study", "number", "column"), [("benchmark", "6-1", "hours"), ("benchmark", "6-5", "mean_entries_per_second")]
)
def test_what_is_no_rate_of_a_cluster_is_not_shared(study: str, number: str, column: str) -> None:
    with pytest.raises(ValueError, match=f"table {number}: {column} is no rate"):
        list(scale_rates(read_table(study, number), column))


def test_a_table_is_cited_by_study_and_place() -> None:
    assert STUDIES["benchmark"].cite("7-1").endswith("2014-10-06, table 7-1, section 7.1.1, from page 33")


def list_page_rows() -> Iterator[str]:
    """Yields the rows that the tables of the page of studies must have."""
    for number in ("I", "II"):
        rows = STUDIES["llcysa"].tables[number].rows
        for scheme in dict.fromkeys(row["scheme"] for row in rows):
            yield " | ".join([scheme, *(str(row["seconds"]) for row in rows if row["scheme"] == scheme)])
    for cluster, number in (("AWB", "6-1"), ("EC2", "7-1")):
        for each in scale_rates(STUDIES["benchmark"].tables[number], "mean_entries_per_second"):
            shared = f"{each.per_tablet_server:,.0f} |" if each.per_tablet_server else "|"
            servers = f"{each.tablet_servers} " if each.tablet_servers else ""
            yield f"{cluster}, {each.nodes:,} nodes | {servers}| {each.rate:,.0f} | {each.per_node:,.0f} | {shared}"
    for row in STUDIES["security"].tables["2"].rows:
        yield f"{row['level']} | {row['median_ms'] / 1000:,.0f} | {row['median_change_percent']:g}"
    for times in list_lookups():
        yield f"{times.encoding} | {times.min} | {times.mean} | {times.max:,}"
    for codec in ("gz", "none", "snappy"):
        coded, copied = STUDIES["erasure-coding"].tables["bulk-write"].select_rows(compressor=codec)
        yield f"{codec} | {coded['minutes']} | {copied['minutes']} | {coded['gigabytes']}"


@pytest.mark.parametrize("row", list(list_page_rows()))
def test_the_page_of_studies_has_the_published_figures(row: str) -> None:
    assert f"| {row.removesuffix(' |')} |" in (DOCS / "studies.md").read_text()


def test_the_page_of_studies_has_a_section_for_each() -> None:
    text = (DOCS / "studies.md").read_text()
    sections = text.split("\n## ")[1:]
    assert len(sections) == len(STUDIES)
    for study, section in zip(STUDIES.values(), sections, strict=True):
        question = study.question[0].lower() + study.question[1:]
        assert f"**Its question**: {question}" in section and study.title in section and str(study.year) in section
        assert all(part in section for part in ("**What differs**", "**Rerun**", "**What we find**"))
