"""Figures of ``bench ycsb`` are those of YCSB's output, and each published cell of the study stands beside them.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from watchfloor.loadgen.experiments.ycsb.figures import label_buffer, make_due_figures, make_run_figures
from watchfloor.loadgen.experiments.ycsb.plot import draw
from watchfloor.loadgen.experiments.ycsb.published import make_published_figures
from watchfloor.loadgen.experiments.ycsb.run import BUFFERS, _list_cases, _read_numbers
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.plots.canvas import render_pictures
from watchfloor.loadgen.published.read_published import load_published
from watchfloor.loadgen.ycsb.output import OperationLatency, YcsbOutput
from watchfloor.loadgen.ycsb.workloads import WORKLOADS
from watchfloor.loadgen.ycsb.ycsb_client import RunRequest, YcsbResult
from watchfloor.schema.errors import UserError

TABLES = ("6-13", "6-14", "7-9", "7-10")


def latency(operations: int, mean: float) -> OperationLatency:
    return OperationLatency(operations, mean, 0.1, 90.0, {"50": mean, "95": 20.0, "99": 30.0, "99.9": 40.0})


OUTPUT = YcsbOutput(
    2.0,
    500.0,
    {
        "READ": latency(600, 2.0),
        "READ-NOT_FOUND": latency(300, 1.0),
        "INSERT": latency(90, 10.0),
        "INSERT-ERROR": latency(10, 100.0),
        "CLEANUP": latency(4, 1000.0),
        "Intended-READ": latency(600, 7.0),
    },
    {"READ": {"OK": 600, "NOT_FOUND": 300}, "INSERT": {"BATCHED_OK": 90, "ERROR": 10}},
)
CASE = RunRequest(WORKLOADS["D"], "bench_t", 1000, 50)


def value_of(figures: list[Figure], metric: str, **labels: str) -> float:
    (figure,) = (f for f in figures if f.metric.name == metric and labels.items() <= f.labels.items())
    return figure.value


def test_figures_are_those_of_the_output() -> None:
    figures = list(make_run_figures({CASE: [YcsbResult(OUTPUT, "the table is offline")]}))
    assert value_of(figures, "ycsb_operations_per_second") == 500
    assert value_of(figures, "ycsb_mean_ms") == pytest.approx((1200 + 300 + 900 + 1000) / 1000)
    assert value_of(figures, "ycsb_50_percentile_ms", operation="read") == 2
    assert value_of(figures, "ycsb_99_9_percentile_ms", operation="read, not found") == 40
    assert value_of(figures, "ycsb_not_found") == pytest.approx(100 / 3)
    (failed,) = (figure for figure in figures if figure.metric.name == "ycsb_failed")
    assert (failed.value, failed.meets_goal, failed.note) == (10, False, "the table is offline")
    closed = YcsbResult(replace(OUTPUT, returns={"INSERT": {"BATCHED_OK": 90}}), "a buffer was lost at its end")
    assert (closed.output.failures, closed.failures) == (0, 1)
    assert {figure.labels.get("threads", "50 threads") for figure in figures} == {"50 threads"}
    due = list(make_due_figures(RunRequest(WORKLOADS["D"], target=250), [YcsbResult(OUTPUT, "")]))
    assert value_of(due, "ycsb_due_99_percentile_ms", operation="read", latency="from when it was due") == 30


def test_each_published_cell_of_the_study_is_shown() -> None:
    figures = list(make_published_figures(list(WORKLOADS.values()), (1, 50), BUFFERS))
    study = load_published()["benchmark"]
    for metric, column in (
        ("ycsb_published_operations_per_second", "operations_per_second"),
        ("ycsb_published_ms", "latency_ms"),
    ):
        shown = Counter(sample for f in figures if f.metric.name == metric for sample in f.samples)
        assert shown == Counter(row[column] for number in TABLES for row in study.tables[number].rows)
    assert all("nodes; " in figure.note and "table " in figure.note for figure in figures)
    of_a = [f for f in figures if f.labels["workload"] == "A" and f.labels["threads"] == "50 threads"]
    assert [f.samples for f in of_a if f.metric.name.endswith("second")] == [(369.45, 575.27, 94.63), (570.2, 1310.6)]


def test_published_figures_are_of_the_cases_that_ran() -> None:
    figures = list(make_published_figures([WORKLOADS["insert"]], (50,), (10_000,)))
    assert {(f.labels["mode"], f.labels["threads"]) for f in figures} == {("buffer of 10 KB", "50 threads")}
    assert not list(make_published_figures([WORKLOADS["F"]], (1, 50), BUFFERS)), "the study's F is another"


def test_a_turn_has_each_workload_buffered_and_flushed_and_inserts_at_its_end() -> None:
    cases = list(_list_cases("t", [WORKLOADS["insert"], WORKLOADS["A"], WORKLOADS["C"]], [1], [10_000, 1_000_000], 5))
    assert [(case.workload.name, case.flush, case.buffer) for case in cases] == [
        *(("A", False, 100_000), ("A", True, 100_000), ("C", False, 100_000)),
        *(("insert", False, 10_000), ("insert", False, 1_000_000), ("insert", True, 100_000)),
    ]


def test_pictures_name_ours_and_the_study() -> None:
    pytest.importorskip("matplotlib")
    figures = [
        *make_run_figures({CASE: [YcsbResult(OUTPUT, "")]}),
        *make_due_figures(RunRequest(WORKLOADS["D"], target=250), [YcsbResult(OUTPUT, "")]),
        *make_published_figures([WORKLOADS["D"]], (50,), BUFFERS),
    ]
    pictures = {picture.name: picture for picture in render_pictures("ycsb", draw, figures)}
    assert set(pictures) == {
        "ycsb-rates-50-threads",
        "ycsb-means-50-threads",
        "ycsb-percentiles-50-threads",
        "ycsb-due",
    }
    for words in ("ours, buffered", "published, 2014 study, 10 and 100 virtual nodes", "operations a second"):
        assert words in pictures["ycsb-rates-50-threads"].svg


def test_sizes_are_as_the_study_prints_them() -> None:
    assert [label_buffer(size) for size in BUFFERS] == ["10 KB", "100 KB", "1 MB", "10 MB", "100 MB"]
    assert label_buffer(500) == "500 bytes"


def test_a_list_of_numbers_is_checked() -> None:
    assert _read_numbers("threads", "1,50") == [1, 50]
    with pytest.raises(UserError, match="--threads '1;50' is no list of whole numbers such as 1,50"):
        _read_numbers("threads", "1;50")
