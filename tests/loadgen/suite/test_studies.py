"""A report opens with the studies: all that they published with its place, ours beside it, and what is found.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

import pytest
from every_drawing import (
    of_blocks,
    of_continuous,
    of_first_result,
    of_ingest,
    of_lookups,
    of_peers,
    of_responsiveness,
    of_stats,
    of_ycsb,
)
from runs import asking, experiment, write

from watchfloor.loadgen.engines.peers.peer_process import PEERS, SQL_PEERS
from watchfloor.loadgen.experiments.continuous.figures import INGEST, LINKED
from watchfloor.loadgen.experiments.stats.questions import list_questions
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.measurement.metric import Metric
from watchfloor.loadgen.published.column_words import COLUMN_WORDS
from watchfloor.loadgen.published.read_published import load_published
from watchfloor.loadgen.report.ahead import list_ahead
from watchfloor.loadgen.report.report import write_report
from watchfloor.loadgen.report.studies.pages import make_study_pages
from watchfloor.loadgen.report.studies.study_page import StudyPage, StudyTable

pytest.importorskip("matplotlib", reason="reports need matplotlib: pip install 'watchfloor[bench]'")

STUDIES = load_published()
ALL = (of_responsiveness, of_ingest, of_continuous, of_ycsb, of_lookups)


def make_pages(*measured: Measurement) -> dict[str, StudyPage]:
    return {page.study.name: page for page in make_study_pages(measured, [])}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a run in which one study was measured again."""
    run = write(tmp_path_factory.mktemp("studies") / "run", of_continuous(), of_stats(), of_first_result())
    return write_report(run).read_text()


@pytest.fixture(scope="module")
def sections(page: str) -> dict[str, str]:
    """The text of each study's section."""
    found = re.findall(r'<h2 id="study-([a-z-]+)">(.*?)(?=<h2 )', page, re.DOTALL)
    return {name: unescape(re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)) for name, text in found}


def test_studies_come_first_then_ours_then_other_engines(page: str) -> None:
    places = [page.index(f'id="study-{name}"') for name in STUDIES]
    places += [page.index(f'id="{part}"') for part in ("contents", "continuous", "first-result", "engines", "ahead")]
    places += [page.index(f'id="{part}"') for part in ("stats", "reading")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_has_its_question_what_differs_and_findings(name: str, sections: dict[str, str]) -> None:
    study, text = next(each for each in STUDIES.values() if each.name == name), sections[name]
    for told in (study.title, study.source, study.question, study.differs, study.cluster):
        assert told in text, told
    assert "What we find." in text and re.search(r"<ul>\s*<li>.+?\.</li>", text)
    assert "Measure it again." in text and "<code>watchfloor " in text


@pytest.mark.parametrize(("name", "number"), [(s.name, number) for s in STUDIES.values() for number in s.tables])
def test_each_published_table_is_there_with_source_and_place(name: str, number: str, sections: dict[str, str]) -> None:
    study = next(each for each in STUDIES.values() if each.name == name)
    table = study.tables[number]
    assert re.search(r"table|section|page", table.place)
    details = next(
        part for part in sections[name].split("<details>") if f"{table.title} <span" in part and table.place in part
    )
    assert study.cite(number) in details and details.count("<tr>") == len(table.rows) + 1
    assert all(note[1:] in details for note in table.notes)


def test_all_that_was_published_stands_beside_ours_or_says_why_not() -> None:
    for name, shown in make_pages(*(make() for make in ALL)).items():
        beside = {number for table in shown.tables for number in table.numbers}
        assert beside | set(shown.others) == set(shown.study.tables), name
        assert not beside & set(shown.others)


def test_columns_of_published_tables_are_words() -> None:
    columns = {column for study in STUDIES.values() for table in study.tables.values() for column in table.columns}
    assert columns == set(COLUMN_WORDS)
    assert not [words for words in COLUMN_WORDS.values() if "_" in words]


def test_a_table_without_ours_names_the_command_that_makes_them(sections: dict[str, str]) -> None:
    for name, section in sections.items():
        for table in make_pages(of_continuous())[name].tables:
            text = section.split(f"<h3>{table.title}</h3>")[1].split("<h3>")[0]
            assert ("Not measured in this run: <code>watchfloor " in text) == (not table.has_ours), table.title


def test_a_study_of_which_nothing_was_measured_says_so() -> None:
    found = make_pages(asking(1))
    assert len(found["llcysa"].findings) == 1
    assert found["llcysa"].findings[0].startswith("Nothing of this study was measured in this run; `watchfloor bench")
    assert all(each.findings for each in found.values())


def ours_of(table: StudyTable) -> dict[str, list[float]]:
    return {row.label: [cell.value for cell in row.cells if cell] for row in table.rows if row.is_ours}


def find_table(tables: Sequence[StudyTable], title: str) -> StudyTable:
    return next(table for table in tables if table.title.startswith(title))


def test_rates_stand_beside_ours_for_each_node_and_tablet_server() -> None:
    settings = {"tservers": 2}
    page = make_pages(experiment("continuous", [Figure(INGEST, (90e3,), {"way": LINKED})], settings=settings))
    table = find_table(page["benchmark"].tables, "Continuous ingest into pre-split")
    assert ours_of(table) == {"here": [2, 90e3, 90e3, 45e3]}
    published = {row.label: [cell.value for cell in row.cells if cell] for row in table.rows}
    assert published["published: AWB, 300 nodes"] == [
        287,
        37e6,
        pytest.approx(123_333, 1e-3),
        pytest.approx(128_920, 1e-3),
    ]
    (first, *_) = page["benchmark"].findings
    assert "takes 45,000 entries a second" in first and "14,147 to 128,920" in first


def test_an_existing_cluster_has_no_share_for_each_server() -> None:
    settings = {"tservers": 2, "cluster_properties": "cluster.properties"}
    page = make_pages(experiment("continuous", [Figure(INGEST, (90e3,), {"way": LINKED})], settings=settings))
    assert ours_of(find_table(page["benchmark"].tables, "Continuous ingest into pre-split")) == {"here": [90e3]}


def test_times_are_compared_in_the_unit_of_the_column() -> None:
    table = find_table(make_pages(of_responsiveness())["llcysa"].tables, "Time to the first row")
    (row,) = (row for row in table.rows if row.label.startswith("batched-index, query C"))
    assert [cell.value for cell in row.cells if cell] == [0.16, pytest.approx(0.010), pytest.approx(0.010)]


def test_findings_are_sentences_about_the_figures() -> None:
    found = make_pages(*(make() for make in ALL))
    for each in found.values():
        assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in each.findings)
        assert not [sentence for sentence in each.findings if re.search(r"\w_\w|nan|None", sentence)]
    told = " ".join(sentence for each in found.values() for sentence in each.findings)
    assert "The first row comes soonest by scan for A, B and C here (block layout, warm)" in told
    assert "by index for A and B and batched-index for C in the study" in told
    assert "A client takes up to 32.0 megabytes a second here" in told
    assert "68% of the rate of one that is; in the study 3% to 38%" in told
    assert "in the study 114%, 85%, 100% and 100%" in told


def test_published_values_have_a_mark_of_their_own(page: str) -> None:
    drawn = re.findall(r"<figure>(.*?)</figure>", page, re.DOTALL)
    theirs = [figure for figure in drawn if "published, " in figure]
    legends = {label for figure in theirs for label in re.findall(r">(published, [^<]*)<", figure)}
    assert legends == {
        "published, 2014 study, 300 to 1,000 nodes of AWB",
        "published, 2014 study, 16 to 1,000 nodes of EC2",
        "published, 2017 study, 8 workers",
    }
    assert all("fill: none; stroke: currentColor" in figure or "fill-opacity: 0" in figure for figure in theirs)


def test_goals_of_larger_runs_are_not_judged(page: str) -> None:
    text = unescape(page)
    assert "not judged at this size: 260,000 entries, the goal is for 5,000,000 and more" in text
    assert "not judged at this size: 50,000 events, the goal is for 200,000 and more" in text
    assert 'class="missed"' not in text


def test_where_another_engine_is_ahead_there_is_a_reason() -> None:
    measured = (of_peers(), of_stats(), of_blocks())
    groups = list(list_ahead(measured))
    noted = [f for m in measured for f in m.figures if f.note == f"{f.labels.get('engine')} is ahead"]
    assert sum(map(len, groups)) == len(noted) > 10
    assert not [each for group in groups for each in group if "No reason is known" in each.reason]
    assert all(len({(each.question, each.reason) for each in group}) == 1 for group in groups)
    told = {(each.measurement.experiment, each.question, each.engine): each.reason for g in groups for each in g}
    assert "no index of events" in told["peers", "load", "DuckDB"]
    assert told["stats", "client ports by server", "DuckDB"] != told["stats", "top domains", "DuckDB"]


def test_every_engine_and_question_has_a_reason() -> None:
    ratio = Metric("ratio", "", "theirs / ours")
    rows = ("load", "disk", "popular, row 1", "popular, last row")
    peers = [(engine, {"engine": engine, "what": what}) for engine in PEERS for what in rows]
    questions = [question.name for question in list_questions(0.01)]
    stats = [(engine, {"engine": engine, "question": name}) for engine in SQL_PEERS for name in questions]
    for name, cases in (("peers", peers), ("stats", stats)):
        figures = [Figure(ratio, (0.5,), labels, note=f"{engine} is ahead") for engine, labels in cases]
        groups = list(list_ahead([experiment(name, figures)]))
        assert sum(map(len, groups)) == len(cases)
        assert not [each.question for group in groups for each in group if "No reason is known" in each.reason]
