"""Comparisons of runs find a run equal to itself, name what is slower, and do not report noise.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ASKED, DISK, RATE, asking, drawn, experiment, loading, write

from watchfloor.api.cli import main as cli
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.registry import open_parser
from watchfloor.loadgen.experiments.ingest.figures import (
    OFFERED,
    STEADY,
    make_closed_figures,
    make_closed_labels,
    make_open_figures,
    make_open_labels,
    make_saturation_figures,
)
from watchfloor.loadgen.experiments.peers.figures import SAME
from watchfloor.loadgen.experiments.readers import run as readers
from watchfloor.loadgen.experiments.registry import list_names, load_experiment
from watchfloor.loadgen.experiments.responsiveness import figures as responsiveness
from watchfloor.loadgen.harness.cpu_usage import CpuMeter
from watchfloor.loadgen.harness.ingest.feeder import FeedingRecord
from watchfloor.loadgen.harness.ingest.rates import DurableItem, TimeWindow
from watchfloor.loadgen.harness.ingest.runs import OpenIngestRun
from watchfloor.loadgen.harness.ingest.server_watch import ServerSample
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.harness.open_loop import Response
from watchfloor.loadgen.suite import bench
from watchfloor.loadgen.suite.bootstrap import RESAMPLES, resample_ratios
from watchfloor.loadgen.suite.verdicts import CORRECTNESS_METRICS, Verdict, compare_figure, judge_figures
from watchfloor.schema.settings.settings import Settings

ITEMS = Metric("items", "", "things counted")
RUNNING = replace(RATE, name="rate_over_time")
LASTING = Metric("lasting_seconds", "s", "how long it was looked at", better=None)
NOW = 1_800_000_000.0


def slower(measured: Measurement, factor: float) -> Measurement:
    """Every time takes so much longer, and every rate is so much lower."""

    def changed(figure: Figure) -> Figure:
        by = {"lower": factor, "higher": 1 / factor}[figure.metric.better or "lower"]
        derived = None if figure.derived is None else figure.derived * by
        return replace(figure, samples=tuple(sample * by for sample in figure.samples), derived=derived)

    return replace(measured, figures=tuple(map(changed, measured.figures)))


def verdict(before: Figure, after: Figure) -> Verdict:
    """Of one figure that is alone in its runs."""
    key = ("it", before.metric.name, ())
    return judge_figures([compare_figure(key, before, after, 1)])[key]


Said = Callable[..., tuple[int, str]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """The status and standard output of ``compare``."""

    def run(*arguments: object) -> tuple[int, str]:
        status = cli.main(["compare", *map(str, arguments)])
        return status, capsys.readouterr().out

    return run


def test_a_run_is_like_itself(tmp_path: Path, said: Said) -> None:
    run = write(tmp_path / "a", loading(1), asking(1))
    status, told = said(run, run)
    assert status == 0
    assert told.splitlines()[-1] == "The two have the same samples: every ratio is 1.00. Nothing is worse."
    rows = [line.split() for line in told.splitlines() if line.startswith(("loading ", "asking "))]
    assert len(rows) == 17 and all(row[-1] == "same" and "1.00" in row for row in rows)
    assert "are the same" in told


def test_of_a_slower_run_exactly_the_slower_experiment_is_named(tmp_path: Path, said: Said) -> None:
    a = write(tmp_path / "a", loading(1), asking(1))
    b = write(tmp_path / "b", loading(2), slower(asking(2), 1.5))
    status, told = said(a, b)
    assert status == 1
    assert told.splitlines()[-1] == "WORSE: asking (asked_ms, ours_to_best)"
    status, told = said(b, a)
    assert status == 0 and told.splitlines()[-1] == "Nothing is worse. Of 3 figures there are too few samples to tell."
    assert "asking: 10 better, 2 too few samples" in told
    assert said(a, b) == said(a, b)
    assert said(a, b, "--seed", "2")[1] != said(a, b)[1]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_few_samples_tell_together_what_none_tells_alone(count: int) -> None:
    before, after = asking(1, count), slower(asking(2, count), 1.5)
    found = [
        compare_figure(("asking", str(place), ()), one, two, 1)
        for place, (one, two) in enumerate(zip(before.figures, after.figures, strict=True))
    ]
    assert "worse" in judge_figures(found).values() and "better" not in judge_figures(found).values()
    if count == 1:
        assert list(judge_figures(found[:1]).values()) == ["too few samples"]


def test_two_runs_of_the_same_are_rarely_called_different() -> None:
    """Of 15 pairs of equal runs, with few and many samples and much noise, one or so is expected to differ."""
    differing = 0
    for seed in range(15):
        rng = random.Random(seed)
        found = []
        for name in ("one", "two", "three"):
            for place, count in enumerate((1, 1, 3, 3, 3, 5, 5, 9, 20) * 2):
                around = rng.uniform(1, 1000)
                before, after = (Figure(ASKED, drawn(rng, around, count, 0.25)) for _ in range(2))
                found.append(compare_figure((name, str(place), ()), before, after, seed))
        differing += bool({"better", "worse"} & set(judge_figures(found).values()))
    assert differing <= 2


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=12), st.lists(st.floats(0.1, 1e6), min_size=1, max_size=12))
def test_one_way_is_the_other_way_round(one: list[float], two: list[float]) -> None:
    a, b = Figure(ASKED, tuple(one)), Figure(ASKED, tuple(two))
    opposite = {"better": "worse", "worse": "better"}
    there, back = verdict(a, b), verdict(b, a)
    # An end of an interval may touch 1 from one side only.
    assert back == opposite.get(there, there) or "same" in (there, back)
    assert verdict(a, a) == "same"


def test_intervals_hold_the_true_ratio_as_often_as_they_say() -> None:
    rng = random.Random(7)
    held = 0
    for number in range(100):
        before, after = drawn(rng, 10, 25, 0.2), drawn(rng, 13, 25, 0.2)
        low, high = resample_ratios(before, after, "median", 1, str(number)).compute_interval(0.95)
        held += low <= 1.3 <= high
    assert 88 <= held <= 99


def test_resampled_medians_are_medians_of_the_samples() -> None:
    found = resample_ratios((2.0,), (3.0, 6.0, 12.0), "median", 1, "it").values
    assert len(found) == RESAMPLES and set(found) == {1.5, 3.0, 6.0}
    # Two or three of three draws are the same sample with a chance of 7 / 27 at either end.
    assert np.mean(found == 1.5) == pytest.approx(7 / 27, abs=0.02)


@pytest.mark.parametrize(
    ("overlapping", "seeds", "wanted"),
    [(2, range(1, 6), "same"), (1, range(1, 2), "worse")],
)
def test_of_many_figures_an_interval_ends_where_enough_resamples_tell(
    overlapping: int, seeds: range, wanted: Verdict
) -> None:
    """An interval for 1,000 figures leaves 12.5 of a million resamples beyond each end.

    Of 11 samples the median of a resampling is one of the 2 highest with a chance of 0.0072, and the highest with a
    chance of 0.00017. So both medians are on the wrong side in 52 of a million; or, where one sample overlaps, in one
    of 33 million. Among 10,000 resamples there may be none of either.
    """
    before = Figure(ASKED, (10.0,) * (11 - overlapping) + (13.0,) * overlapping)
    after = Figure(ASKED, (12.0,) * overlapping + (14.0,) * (11 - overlapping))
    one = Figure(ASKED, (1.0,))
    others = [compare_figure(("it", str(number), ()), one, one, 1) for number in range(999)]
    for seed in seeds:
        found = compare_figure(("it", "in question", ()), before, after, seed)
        assert judge_figures([*others, found])[found.key] == wanted


def test_each_exact_metric_is_of_right_answers_or_of_sizes() -> None:
    """Of a new one it has to be decided whether any change counts."""
    exact = {metric.name for name in list_names() for metric in load_experiment(name).metrics if metric.exact}
    sizes = {"disk_share", "encoded_share", "entries_per_event", "bytes_per_row", "erasure_disk_bytes_per_row"}
    assert exact == CORRECTNESS_METRICS | sizes


def made_up(folder: Path) -> OpenIngestRun:
    """A client that ends four items a second for ten seconds, all but the first a quarter of a second late."""
    items = [DurableItem("a", NOW + number / 4, NOW + (number + 1) / 4, 1000, 480_000) for number in range(40)]
    responses = [Response(max(0, number - 1) / 4, number / 4, (number + 1) / 4) for number in range(40)]
    whole = TimeWindow(NOW, NOW + 10)
    looks = [ServerSample(NOW + 1, 0, 0, 0, 0), ServerSample(NOW + 2, 1, 0, 0, 0)]
    # The ledger tells of items in an order of its own.
    return OpenIngestRun(items[::-1], whole, whole.drop_settling(), looks, CpuMeter(Settings(home=folder)), responses)


def test_samples_of_one_run_have_their_times(tmp_path: Path) -> None:
    run = made_up(tmp_path)
    of_closed = make_closed_figures(run, make_closed_labels(2, 1), 2)
    figures = [*of_closed, *make_open_figures(run, make_open_labels(1, 50), 2), *make_saturation_figures({2: run}, 1)]
    several = [figure for figure in figures if len(figure.samples) > 1]
    assert {figure.metric.name for figure in several} >= {
        "median_events_per_second", "steady_megabytes_per_second", "item_service_ms", "item_service_99th_ms",
        "item_latency_99th_ms", "saturation_events_per_second",
    }  # fmt: skip
    for figure in several:
        assert len(figure.at) == len(figure.samples) and list(figure.at) == sorted(figure.at), figure.metric.name
        assert 0 <= figure.at[0] < figure.at[-1] < 10, figure.metric.name
    (service,) = [figure for figure in of_closed if figure.metric.name == "item_service_ms"]
    assert service.at[:3] == (0.0, 0.25, 0.5) and service.samples == (250.0,) * 40


def test_runs_by_a_schedule_are_of_the_same_whatever_number_of_clients_saturates(tmp_path: Path) -> None:
    run = made_up(tmp_path)
    two, four = (make_open_figures(run, make_open_labels(2, 80), clients) for clients in (2, 4))
    assert [(figure.metric, figure.labels) for figure in two] == [(figure.metric, figure.labels) for figure in four]
    assert [{figure.note for figure in figures} for figures in (two, four)] == [{"by 2 clients"}, {"by 4 clients"}]


def test_queries_and_items_that_wait_for_one_another_have_times() -> None:
    found = responsiveness.LayoutResults("block", 0.5, saturation=1.0, queries_per_second=1.0)
    found.feeding = FeedingRecord(
        due=[9.0, 10.5], durable=[DurableItem("a", 9.5, 10.5, 1, 9), DurableItem("a", 10.5, 11.0, 1, 9)]
    )
    found.open_loop["idle", 0.5] = [Response(0.25, 0.25, 1.0), Response(0.5, 1.0, 2.0)]
    waited = {f.metric: f.at for f in responsiveness.make_figures(found) if len(f.samples) > 1}
    by_schedule = (*responsiveness.SERVICE, *responsiveness.LATENCY)
    assert waited == {responsiveness.DELAY: (0.0, 1.5)} | dict.fromkeys(by_schedule, (0.25, 0.5))


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (Figure(ASKED, (1.0,) * 9), Figure(ASKED, (1.09,) * 9), "same"),
        (Figure(ASKED, (1.0,) * 9), Figure(ASKED, (1.2,) * 9), "worse"),
        (Figure(RATE, (1.0,) * 9), Figure(RATE, (1.2,) * 9), "better"),
        (Figure(ITEMS, (1.0,) * 9), Figure(ITEMS, (1.2,) * 9), "changed"),
        (Figure(ITEMS, (1.0,) * 9, goal=Goal(3, True)), Figure(ITEMS, (2.0,) * 9, goal=Goal(3, True)), "worse"),
        (Figure(ITEMS, (1.0,) * 9, goal=Goal(3, False)), Figure(ITEMS, (2.0,) * 9, goal=Goal(3, False)), "better"),
        (Figure(DISK, (10.0,)), Figure(DISK, (12.0,)), "worse"),
        (Figure(DISK, (10.0,)), Figure(DISK, (10.5,)), "same"),
        (Figure(DISK, (0.0,)), Figure(DISK, (1.0,)), "worse"),
        (Figure(ASKED, (0.0,) * 9), Figure(ASKED, (1.0,) * 9), "worse"),
        (Figure(ASKED, (-1.0,) * 9), Figure(ASKED, (1.0,) * 9), "no ratio"),
        (Figure(ASKED, (-1.0, 1.0)), Figure(ASKED, (-1.0, 1.0)), "same"),
        (Figure(ASKED, (1.0,) * 2), Figure(ASKED, (9.0,) * 9), "too few samples"),
        (Figure(ITEMS, (3.0,) * 2), Figure(ITEMS, (3.0,)), "same"),
        (Figure(RUNNING, (9.0,) * 99, at=(1.0,) * 99), Figure(RUNNING, (1.0,) * 99, at=(1.0,) * 99), "too few samples"),
        (Figure(RUNNING, (9.0,) * 99), Figure(RUNNING, (1.0,) * 99, at=(1.0,) * 99), "too few samples"),
        (Figure(RUNNING, (9.0,) * 99, at=(1.0,) * 99), Figure(RUNNING, (1.0,) * 99), "too few samples"),
        (Figure(SAME, (1.0,)), Figure(SAME, (0.95,)), "worse"),
        (Figure(SAME, (0.95,)), Figure(SAME, (1.0,)), "better"),
        (Figure(SAME, (0.95,)), Figure(SAME, (0.95,) * 2), "same"),
        (Figure(readers.TAKEN, (10.0,)), Figure(readers.TAKEN, (11.0,)), "worse"),
        (Figure(readers.KEPT, (100.0,)), Figure(readers.KEPT, (98.3,)), "worse"),
        (Figure(LASTING, (1.0,) * 9), Figure(LASTING, (2.0,) * 9), "changed"),
    ],
)
def test_verdicts(before: Figure, after: Figure, wanted: Verdict) -> None:
    assert verdict(before, after) == wanted


def test_what_the_runs_were_run_with_is_said_first(tmp_path: Path, said: Said) -> None:
    a = write(tmp_path / "a", loading(1), asking(1))
    other = replace(loading(1), machine={**loading(1).machine, "cores": 8, "available_bytes": 5, "load_average": 3.5})
    changed = replace(other, options={"events": 2000, "seed": 1}, versions={**other.versions, "chdb": "4.0"})
    _, told = said(a, write(tmp_path / "b", changed, experiment("third", [Figure(RATE, (1.0,))])))
    assert told.splitlines()[2:8] == [
        "only in A: asking",
        "only in B: third",
        "machine: cores 2 → 8",
        "machine: load_average 0.5 → 3.5",
        "versions: chdb – → 4.0",
        "options: events 1000 → 2000",
    ]


@pytest.mark.parametrize(("loop", "told_of"), [(21.0, False), (40.0, True)])
def test_a_machine_that_was_slower_is_told_of(loop: float, told_of: bool, tmp_path: Path, said: Said) -> None:
    one, other = (replace(loading(1), machine={**loading(1).machine, "loop_ms": ms}) for ms in (20.0, loop))
    _, told = said(write(tmp_path / "a", one), write(tmp_path / "b", other))
    assert (f"machine: loop_ms 20.0 → {loop}" in told) == told_of


def test_figures_of_one_run_alone_are_counted(tmp_path: Path, said: Said) -> None:
    less = replace(asking(1), figures=asking(1).figures[:5])
    status, told = said(write(tmp_path / "a", asking(1)), write(tmp_path / "b", less))
    assert status == 0 and "asking: 5 same, 7 only in A" in told


@pytest.mark.parametrize("entry", [{"options": [], "failed": "exit status 3: no more horses"}, {"options": []}])
@pytest.mark.parametrize(
    ("b", "last"),
    [
        ([asking(1)], "WORSE: loading (not measured)"),
        ([slower(asking(2), 1.5)], "WORSE: asking (asked_ms, ours_to_best); loading (not measured)"),
        ([experiment("third", [Figure(RATE, (1.0,))])], "WORSE: loading (not measured)"),
        ([], "WORSE: loading (not measured)"),
    ],
)
def test_an_experiment_that_failed_or_never_ran_is_named(
    b: list[Measurement], last: str, entry: dict[str, Any], tmp_path: Path, said: Said
) -> None:
    asked = {measured.experiment: {"options": []} for measured in b}
    record = {"quick": True, "seed": 1, "experiments": {**asked, "loading": entry}}
    status, told = said(write(tmp_path / "a", loading(1), asking(1)), write(tmp_path / "b", *b, record=record))
    assert status == 1
    assert told.splitlines()[-1] == last
    (line,) = [line for line in told.splitlines() if line.startswith("only in A: ")]
    assert f"loading (not measured{': ' if 'failed' in entry else ''}{entry.get('failed', '')})" in line


def test_an_experiment_that_was_not_asked_for_is_no_failure(tmp_path: Path, said: Said) -> None:
    """Of the second run some were chosen; of the third nobody knows what was asked."""
    a = write(tmp_path / "a", loading(1), asking(1))
    chosen = {"quick": True, "seed": 1, "experiments": {"asking": {"options": []}}}
    for b in (write(tmp_path / "b", asking(1), record=chosen), write(tmp_path / "c", asking(1))):
        status, told = said(a, b)
        assert status == 0 and told.splitlines()[-1].endswith("Nothing is worse.")
        assert "only in A: loading" in told.splitlines()


def test_files_of_one_experiment_are_compared(tmp_path: Path, said: Said) -> None:
    run = write(tmp_path / "a", asking(1), loading(1))
    assert said(run / "asking.json", run / "asking.json")[0] == 0
    assert said(run / "asking.json", run)[0] == 0


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ("run", "none", "cannot be read"),
        ("run", "empty", "holds no experiment's JSON"),
        ("run/asking.json", "run/loading.json", "no experiment is in both"),
        ("run", "text.json", "is not JSON"),
    ],
)
def test_what_cannot_be_compared(a: str, b: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "run", asking(1), loading(1))
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.json").write_text("so fast!")
    assert cli.main(["compare", str(tmp_path / a), str(tmp_path / b)]) == cli.USER
    assert told in capsys.readouterr().err


@pytest.mark.stack
def test_an_experiment_that_is_really_slower_is_named(
    store_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Said
) -> None:
    """The second time the worker's parser takes ten times as long, which no noise of a busy machine hides."""

    def measure(name: str) -> Path:
        path = tmp_path / name
        options = ["--home", str(store_settings.home), "--json", str(path), "--events", "3000", "--repeats", "9"]
        assert bench.main(["readers", *options]) == 0
        return path

    def slow(*arguments: Any) -> Any:
        parser = open_parser(*arguments)

        def ten_times(chunk: Chunk) -> Any:
            for _ in range(9):
                parse(chunk)
            return parse(chunk)

        parse, parser.parse = parser.parse, ten_times  # type: ignore[method-assign]
        return parser

    before = measure("before.json")
    monkeypatch.setattr(readers, "open_parser", slow)
    status, told = said(before, measure("after.json"))
    assert status == 1
    assert told.splitlines()[-1] == "WORSE: readers (read_megabytes_per_cpu_second)"
    # A busy machine may slow the other readers down in one of the two runs.
    worse = [line.split()[:3] for line in told.splitlines() if line.endswith("  worse")]
    assert ["readers", "read_megabytes_per_cpu_second", "watchfloor"] in worse


def test_units_tell_which_way_is_better() -> None:
    told = {unit: Metric("it", unit, "").better for unit in ("ms", "s", "MB", "MB/s", "events/s", "%", "", "cores")}
    assert told == {"ms": "lower", "s": "lower", "MB": "lower", "MB/s": "higher", "events/s": "higher"} | dict.fromkeys(
        ("%", "", "cores")
    )
    assert Metric("it", "%", "", better="higher").better == "higher"
    assert Metric("it", "s", "", better=None).better is OFFERED.better is STEADY.better is None
    lasted = Figure(LASTING, (1.0,))
    assert Figure.from_json(lasted.to_json(), {LASTING.name: LASTING.definition}, {}) == lasted
    assert json.loads(json.dumps(Figure(DISK, (1.0,)).to_json()))["better"] == "lower"
