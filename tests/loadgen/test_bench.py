"""Experiments run small on the stack, and every metric has a definition."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.access_log.access_log import AccessLogParser
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.loadgen.engines.peers.peer_process import PEERS, SQL_PEERS, explain_missing
from watchfloor.loadgen.experiments.blocks import run as blocks
from watchfloor.loadgen.experiments.encodings import run as encodings
from watchfloor.loadgen.experiments.registry import draw_pictures, list_names, load_experiment
from watchfloor.loadgen.experiments.responsiveness import run as responsiveness
from watchfloor.loadgen.generator.access_log import write_access_log
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.measurement.table import format_figures
from watchfloor.loadgen.harness.session import open_session
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.loadgen.suite import bench
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import list_tables
from watchfloor.store.store import Store

DOC = (Path(__file__).parents[2] / "docs/measuring/bench.md").read_text()
SPEED = Metric("speed", "m/s", "metres / seconds")
NAMES = list_names()
# `ingest` has a stack of its own: see test_ingest_scaling.
SMALL = {
    "batching": ["--events", "10000", "--turns", "1", "--first-turns", "2"],
    "blocks": ["--events", "10000", "--loads", "1", "--repeats", "1"],
    "cancel": ["--events", "10000", "--repeats", "2"],
    "ceiling": ["--events", "2000", "--log-bytes", "300000", "--repeats", "1"],
    "crossover": ["--events", "10000", "--turns", "1"],
    "encodings": ["--events", "2000", "--repeats", "1"],
    "first-result": ["--events", "3000", "--turns", "2"],
    "generator": ["--events", "2000", "--repeats", "1"],
    "memory": ["--bytes", "2000000"],
    "peers": ["--events", "10000", "--loads", "1", "--repeats", "1"],
    "readers": ["--events", "2000", "--repeats", "1"],
    "responsiveness": ["--events", "10000", "--turns", "1", "--layout", "block", "--seconds", "0.3"],
}


def test_a_figure_is_the_median_of_its_samples_unless_it_is_derived() -> None:
    assert Figure(SPEED, (1.0, 9.0, 2.0)).value == 2.0
    assert Figure(SPEED, (1.0, 9.0), derived=3.0).value == 3.0
    assert Figure(Metric("peak", "MB", "", "max"), (1.0, 9.0, 2.0)).value == 9.0


def test_goals_are_bounds_from_above_or_below() -> None:
    slow, fast = Figure(SPEED, (3.0,), goal=Goal(4, at_most=False)), Figure(SPEED, (3.0,), goal=Goal(4, at_most=True))
    assert (slow.meets_goal, fast.meets_goal, Figure(SPEED, (3.0,)).meets_goal) == (False, True, None)
    assert str(slow.goal) == "≥ 4"


def test_the_table_names_what_missed_its_goal() -> None:
    lines = format_figures([Figure(SPEED, (3.0, 5.0), {"by": "a bicycle"}, Goal(6, at_most=False))]).splitlines()
    assert len(lines) == 2
    assert lines[1].split() == ["speed", "a", "bicycle", "4.00", "m/s", "≥", "6", "MISSED", "3.00", "5.00", "2"]


def test_small_numbers_keep_two_digits() -> None:
    assert format_figures([Figure(SPEED, (0.00273,))]).splitlines()[1].split() == [
        "speed",
        "0.0027",
        "m/s",
        *["0.0027"] * 2,
        "1",
    ]


def test_the_table_says_what_is_noted_of_a_figure() -> None:
    figures = [Figure(SPEED, (3.0,), note="a train is ahead"), Figure(SPEED, (3.0,), goal=Goal(2, False), note="late")]
    lines = format_figures(figures).splitlines()
    assert "a train is ahead" in lines[1] and "met late" in lines[2]
    assert figures[0].to_json()["note"] == "a train is ahead"


def test_a_figure_is_read_back_from_its_json() -> None:
    figures = [
        Figure(SPEED, (3.0, 5.0), {"by": "a bicycle"}, Goal(6, at_most=False), note="late"),
        Figure(SPEED, (3.0,), derived=2.5, goal=Goal(0.25, at_most=True)),
        Figure(Metric("waiting", "ms", "from due to done", "99th percentile"), (1.0, 2.0), at=(0.5, 1.0)),
    ]
    for figure in figures:
        definitions = {figure.metric.name: figure.metric.definition}
        assert Figure.from_json(json.loads(json.dumps(figure.to_json())), definitions) == figure


def test_shuffled_each_case_comes_after_each_other() -> None:
    cases = ("scan", "index", "auto")
    orders = [shuffle_cases(cases, turn) for turn in range(30)]
    assert all(sorted(order) == sorted(cases) for order in orders)
    assert orders == [shuffle_cases(cases, turn) for turn in range(30)]
    assert {pair for order in orders for pair in itertools.pairwise(order)} == set(itertools.permutations(cases, 2))


def test_percentiles_are_samples_by_nearest_rank() -> None:
    samples = tuple(float(n) for n in range(100, 0, -1))
    assert Figure(Metric("waiting", "ms", "", "99th percentile"), samples).value == 99
    assert Figure(Metric("waiting", "ms", "", "90th percentile"), samples[-1:]).value == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_and_metric_is_documented(name: str) -> None:
    assert f"## {name}" in DOC
    section = DOC.split(f"## {name}")[1].split("\n## ")[0]
    for metric in load_experiment(name).metrics:
        assert f"`{metric.name}`" in section and metric.unit in section


def test_access_log_lines_are_the_same_for_the_same_seed_and_all_parse(tmp_path: Path) -> None:
    first, again, other = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    lines = write_access_log(first, 200_000, seed=1)
    write_access_log(again, 200_000, seed=1)
    write_access_log(other, 200_000, seed=2)
    assert first.read_bytes() == again.read_bytes() != other.read_bytes()
    assert first.read_bytes().count(b"\n") == lines and 200_000 <= first.stat().st_size < 201_000
    parser = AccessLogParser(builtin_definitions()["web.access"])
    times = []
    for chunk in read_chunks(first):
        parsed = parser.parse(chunk)
        assert not parsed.rejected
        times += [t for _, events in parsed.events for t in events.column("ts").to_pylist()]
    assert len(times) == lines and times == sorted(times)


@pytest.mark.stack
@pytest.mark.parametrize("name", SMALL)
def test_small_runs_write_all_and_leave_nothing(
    name: str,
    store_settings: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # More workers and sizes would prove no more than these do, and take as long again.
    monkeypatch.setattr(blocks, "CASES", [case for case in blocks.CASES if case.workers == 1][:4])
    monkeypatch.setattr(encodings, "SIZES", encodings.SIZES[:1])
    monkeypatch.setattr(encodings, "CODECS", encodings.CODECS[-1:])
    monkeypatch.setattr(responsiveness, "SHARES", responsiveness.SHARES[:1])
    monkeypatch.setattr(responsiveness, "PAPER_SCHEMES", responsiveness.PAPER_SCHEMES[-1:])
    path = tmp_path / "out.json"
    assert bench.main([name, "--home", str(store_settings.home), "--json", str(path), *SMALL[name]]) == 0
    written = json.loads(path.read_text())
    unmeasured = {"peer_to_block"} if all(map(explain_missing, SQL_PEERS)) else set()
    unmeasured |= {"peer_to_watchfloor"} if all(map(explain_missing, PEERS)) else set()
    assert {f["metric"] for f in written["figures"]} == {m.name for m in load_experiment(name).metrics} - unmeasured
    assert all(f["samples"] for f in written["figures"])
    assert written["experiment"] == name and written["options"]["seed"] == 1
    assert (
        written["machine"]["cores"] and written["settings"]["sink_memory_mb"] and written["versions"]["accumulo-core"]
    )
    shown = capsys.readouterr().out
    assert all(figure["metric"] in shown for figure in written["figures"])
    assert all(figure["value"] == 1 for figure in written["figures"] if figure["metric"] == "same_answers")
    assert list(draw_pictures(name, Measurement.from_json(written).figures))
    assert_nothing_is_left(store_settings)


def assert_nothing_is_left(settings: Settings) -> None:
    """No source, table, line of the ledger, or topic of an experiment."""
    with Store.open(settings) as store:
        assert not [source for source in store.catalog.read_sources() if source.startswith("bench.")]
        assert not [name for name in list_tables(store.connection) if name.startswith("bench")]
        assert not [row for row in Ledger(store).read_rows() if row.item and row.item.feed.startswith("bench.")]
    admin = KafkaAdminClient(bootstrap_servers=settings.bootstrap_servers.split(","))
    try:
        until = time.monotonic() + 10  # brokers hear of it a moment later
        while found := [topic for topic in admin.list_topics() if topic.startswith("watchfloor.bench.")]:
            assert time.monotonic() < until, found
            time.sleep(0.1)
    finally:
        admin.close()


@pytest.mark.stack
def test_an_experiment_that_fails_leaves_nothing(store_settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "proxy.json"
    with path.open("wb") as out:
        generate_events(out, 100, 1)
    with pytest.raises(RuntimeError, match="halfway"), open_session(str(store_settings.home)) as session:
        item = session.make_item(path, session.create_source("proxy.events"))
        ledger = Ledger(session.store)
        ledger.write_queued([item])
        with ItemProducer(session.settings) as producer:
            producer.send([item])
        ledger.close()
        raise RuntimeError("halfway")
    assert_nothing_is_left(store_settings)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_quick_run_asks_is_understood(name: str) -> None:
    quick = load_experiment(name).quick_options
    assert quick and bench._make_parser().parse_args([name, *quick]).name == name


def test_an_unknown_experiment_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["horses"])
    assert "ceiling" in capsys.readouterr().err
