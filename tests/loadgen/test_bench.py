"""Figures, goals and tables of measurements are right, and every experiment and metric has a definition.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.formats.access_log.access_log import AccessLogParser
from watchfloor.loadgen.experiments.registry import list_names, load_experiment
from watchfloor.loadgen.generator.access_log import write_access_log
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.metric import Goal, GoalSize, Metric
from watchfloor.loadgen.harness.measurement.table import format_figures
from watchfloor.loadgen.harness.turns import shuffle_cases
from watchfloor.loadgen.suite import bench
from watchfloor.schema.definition import builtin_definitions

DOC = (Path(__file__).parents[2] / "docs/measuring/bench.md").read_text()
SPEED = Metric("speed", "m/s", "metres / seconds", title="how fast it went")
NAMES = list_names()


def test_a_figure_is_the_median_of_its_samples_unless_it_is_derived() -> None:
    assert Figure(SPEED, (1.0, 9.0, 2.0)).value == 2.0
    assert Figure(SPEED, (1.0, 9.0), derived=3.0).value == 3.0
    assert Figure(Metric("peak", "MB", "", "max"), (1.0, 9.0, 2.0)).value == 9.0


def test_goals_are_bounds_from_above_or_below() -> None:
    slow, fast = Figure(SPEED, (3.0,), goal=Goal(4, at_most=False)), Figure(SPEED, (3.0,), goal=Goal(4, at_most=True))
    assert (slow.meets_goal, fast.meets_goal, Figure(SPEED, (3.0,)).meets_goal) == (False, True, None)
    assert str(slow.goal) == "≥ 4"


def test_a_goal_is_judged_from_its_size_on() -> None:
    for measured, verdict in ((999, None), (1000, False), (2000, False)):
        (figure,) = size_goals([Figure(SPEED, (3.0,), goal=Goal(4, at_most=False))], measured, 1000, "bicycles")
        assert figure.meets_goal is verdict
        told = f"not judged at this size: {measured} bicycles, the goal is for 1,000 and more"
        assert figure.verdict == (told if verdict is None else "missed")
        assert (told in format_figures([figure])) == (verdict is None)


def test_goals_of_answers_are_for_runs_of_all_sizes() -> None:
    wrong = Metric("wrong", "", "wrong answers", better="lower", exact=True)
    (figure,) = size_goals([Figure(wrong, (3.0,), goal=Goal(0, at_most=True))], 1, 1000, "bicycles")
    assert (figure.meets_goal, figure.verdict) == (False, "missed")


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
    assert "a train is ahead" in lines[1] and "met; late" in lines[2]
    assert figures[0].to_json()["note"] == "a train is ahead"


def test_a_figure_is_read_back_from_its_json() -> None:
    figures = [
        Figure(SPEED, (3.0, 5.0), {"by": "a bicycle"}, Goal(6, at_most=False), note="late"),
        Figure(SPEED, (3.0,), derived=2.5, goal=Goal(0.25, at_most=True)),
        Figure(SPEED, (3.0,), goal=Goal(0.25, True, GoalSize(10, 1000, "bicycles"))),
        Figure(Metric("waiting", "ms", "from due to done", "99th percentile"), (1.0, 2.0), at=(0.5, 1.0)),
    ]
    for figure in figures:
        definitions = {figure.metric.name: figure.metric.definition}
        titles = {figure.metric.name: figure.metric.title}
        assert Figure.from_json(json.loads(json.dumps(figure.to_json())), definitions, titles) == figure


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


@pytest.mark.parametrize("name", NAMES)
def test_what_a_quick_run_asks_is_understood(name: str) -> None:
    quick = load_experiment(name).quick_options
    assert quick and bench._make_parser().parse_args([name, *quick]).name == name


def test_an_unknown_experiment_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["horses"])
    assert "ceiling" in capsys.readouterr().err
