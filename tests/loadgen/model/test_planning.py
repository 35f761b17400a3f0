"""The published runs are read right, a plan follows from measured rates, and bad profiles and options are refused.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from watchfloor.loadgen.experiments.model.run import EXPERIMENT, TABLES
from watchfloor.loadgen.model import own_pipeline
from watchfloor.loadgen.model.own_pipeline import PROFILE, predict_curve, read_profile
from watchfloor.loadgen.model.planning import SizingRequest, plan_cluster
from watchfloor.loadgen.model.prediction import fit_value, predict_run, read_calibration
from watchfloor.loadgen.model.published_runs import list_runs
from watchfloor.loadgen.suite import bench
from watchfloor.schema.errors import InputFileError

DOC = (Path(__file__).parents[3] / "docs/measuring/model.md").read_text("utf-8")
DOCUMENTED = {
    (cells[1], cells[3]): float(cells[6])
    for cells in ([cell.strip() for cell in line.split("|")] for line in DOC.splitlines() if line.startswith("| "))
    if cells[1] in TABLES
}
"""The ratios that the page tells, by table and run."""
RUNS = list(list_runs())
CALIBRATION = read_calibration()


@pytest.mark.parametrize("table", ["6-1", "7-1"])
def test_the_page_tells_the_errors_that_the_model_has(table: str) -> None:
    for run in (run for run in RUNS if run.table == table):
        ratio = predict_run(run, CALIBRATION[run.cluster_name].make_costs()).ratio
        assert ratio == pytest.approx(DOCUMENTED[table, run.label], abs=0.011)


def test_the_page_has_every_run_and_the_fitted_costs() -> None:
    assert set(DOCUMENTED) == {(run.table, run.label) for run in RUNS}
    for costs in CALIBRATION.values():
        assert f" {costs.speed:.4g} " in DOC and f" {costs.split_seconds:.4g} " in DOC


def test_only_the_smallest_runs_of_a_cluster_are_fitted() -> None:
    fitted = [run for run in RUNS if run.fits]
    assert [(run.table, run.servers, run.fits) for run in fitted] == [
        ("6-1", 287, "speed"),
        ("6-3", 287, "split_seconds"),
        ("7-1", 10, "speed"),
        ("7-3", 10, "split_seconds"),
    ]
    for run in fitted:
        assert run.servers == min(other.servers for other in RUNS if other.cluster_name == run.cluster_name)
        ratio = predict_run(run, CALIBRATION[run.cluster_name].make_costs()).ratio
        assert ratio == pytest.approx(1, abs=0.04)


def test_a_value_is_found_wherever_it_lies() -> None:
    for wanted in (0.001, 0.7, 3.0, 400.0):
        assert fit_value(lambda x: x**2, wanted**2, 1.0) == pytest.approx(wanted, rel=0.01)
        assert fit_value(lambda x: 5 / x, 5 / wanted, 1.0) == pytest.approx(wanted, rel=0.011)


def test_one_worker_calibrates_and_more_never_exceed_the_cores() -> None:
    profile = read_profile(PROFILE)
    for servers in {load.tablet_servers for load in profile.loads}:
        points = predict_curve(profile, servers)
        assert points[0].calibrates and points[0].ratio == pytest.approx(1, abs=0.02)
        costs = own_pipeline.measure_costs(points[0].measured)
        for point in points:
            free = profile.cores - point.measured.foreign_cores
            assert point.events_per_second <= 1.01 * free / costs.sum_us * 1e6
            assert point.ratio == pytest.approx(1, abs=0.15)
            assert (
                f"| {point.events_per_second:,.0f} |" in DOC and f"| {point.measured.events_per_second:,.0f} |" in DOC
            )


def test_a_plan_is_the_arithmetic_of_its_request() -> None:
    profile, request = read_profile(PROFILE), SizingRequest(20e9, 90)
    plan = plan_cluster(request, profile)
    stored = 20e9 * 500 * 0.12 * 90 * 3
    assert plan.stored_bytes == pytest.approx(stored) and plan.disks == math.ceil(stored / 0.7 / 4e12)
    assert plan.nodes == math.ceil(plan.disks / 12) == plan.nodes_for_disks and plan.limit == "disks"
    assert plan.saturated_rate * 0.7 >= request.peak_rate
    assert plan.workers >= request.peak_rate / 0.7 / plan.worker_rate


def test_more_events_and_less_headroom_need_more_and_less() -> None:
    profile = read_profile(PROFILE)
    plans = [plan_cluster(SizingRequest(5e9, 1, headroom=free), profile) for free in (0.5, 0.1)]
    assert plans[0].workers > plans[1].workers and plans[0].nodes == plans[1].nodes == 3


def test_the_worked_example_of_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    line = next(line for line in DOC.splitlines() if line.startswith("    $ watchfloor bench plan"))
    assert bench.main(line.split()[3:]) == 0
    shown = [f"    {said}".rstrip() for said in capsys.readouterr().out.splitlines()]
    example = DOC.split(line)[1].strip("\n").splitlines()
    assert [said for said in shown if said] == [said for said in example if said]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--events-per-day", "0"], "'0' is not a number from 1"),
        (["--events-per-day", "many"], "'many' is not a number"),
        (["--events-per-day", "nan"], "'nan' is not a number"),
        (["--retention", "0d"], "'0d'"),
        (["--retention", "soon"], "soon"),
        (["--headroom", "1"], "'1' is not a number from 0 to 0.9"),
        (["--peak", "0.5"], "'0.5' is not a number from 1"),
        (["--cores", "0"], "'0' is not a whole number from 1"),
        (["--event-bytes", "0"], "'0' is not a number above 0"),
        (["--disk-tb", "inf"], "'inf' is not a number above 0"),
    ],
    ids=str,
)
def test_bad_options_are_refused(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["plan", "--events-per-day", "1e9", "--retention", "9d", *options])
    assert said in capsys.readouterr().err


def test_a_table_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["model", "--tables", "6-6"])
    assert "'6-6' is no table of ingest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"experiment": "blocks"}, "bench ingest is needed"),
        ({"figures": []}, "no run in closed loop"),
        ({"figures": None}, "was not written by"),
        ({"machine": {}}, "was not written by"),
        ({"busy": 1.0}, "busy with other work"),
        ({"clients": "3 clients"}, "no run of one client"),
    ],
    ids=str,
)
def test_a_profile_that_tells_nothing_is_refused(change: dict[str, object], said: str, tmp_path: Path) -> None:
    written = json.loads(PROFILE.read_text())
    for figure in written["figures"]:
        if figure["of"].get("process") == "machine":
            figure["value"] += change.get("busy", 0)
        if figure["of"]["clients"] == "1 client":
            figure["of"]["clients"] = change.get("clients", "1 client")
    path = tmp_path / "ingest.json"
    path.write_text(json.dumps({**written, **{k: v for k, v in change.items() if k in written}}))
    with pytest.raises(InputFileError, match=said):
        read_profile(path)
    with pytest.raises(InputFileError, match="No such file"):
        read_profile(tmp_path / "none.json")


def test_the_experiment_needs_no_stack() -> None:
    assert EXPERIMENT.run is None and EXPERIMENT.compute is not None
