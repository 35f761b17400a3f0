"""Comparing runs: a run is like itself, what is slower is named, and noise is not."""

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

from watchfloor.api import cli
from watchfloor.ingest.lines import Chunk
from watchfloor.ingest.parsers import open_parser
from watchfloor.loadgen import bench
from watchfloor.loadgen.experiments import readers
from watchfloor.loadgen.measure import Figure, Goal, Measured, Metric
from watchfloor.loadgen.runs.bootstrap import RESAMPLES, ratios
from watchfloor.loadgen.runs.verdicts import Verdict, compared, verdicts
from watchfloor.store.settings import Settings

ITEMS = Metric("items", "", "things counted")
RUNNING = replace(RATE, name="rate_over_time")


def slower(measured: Measured, factor: float) -> Measured:
    """Every time takes so much longer, and every rate is so much lower."""

    def changed(figure: Figure) -> Figure:
        by = {"lower": factor, "higher": 1 / factor}[figure.metric.better or "lower"]
        derived = None if figure.derived is None else figure.derived * by
        return replace(figure, samples=tuple(sample * by for sample in figure.samples), derived=derived)

    return replace(measured, figures=tuple(map(changed, measured.figures)))


def verdict(before: Figure, after: Figure) -> Verdict:
    """Of one figure that is alone in its runs."""
    key = ("it", before.metric.name, ())
    return verdicts([compared(key, before, after, 1)])[key]


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
    assert status == 0 and told.splitlines()[-1] == "Nothing is worse."
    assert "asking: 10 better, 2 too few samples" in told
    assert said(a, b) == said(a, b)
    assert said(a, b, "--seed", "2")[1] != said(a, b)[1]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_few_samples_tell_together_what_none_tells_alone(count: int) -> None:
    before, after = asking(1, count), slower(asking(2, count), 1.5)
    found = [
        compared(("asking", str(place), ()), one, two, 1)
        for place, (one, two) in enumerate(zip(before.figures, after.figures, strict=True))
    ]
    assert "worse" in verdicts(found).values() and "better" not in verdicts(found).values()
    if count == 1:
        assert list(verdicts(found[:1]).values()) == ["too few samples"]


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
                found.append(compared((name, str(place), ()), before, after, seed))
        differing += bool({"better", "worse"} & set(verdicts(found).values()))
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
        low, high = ratios(before, after, "median", 1, str(number)).interval(0.95)
        held += low <= 1.3 <= high
    assert 88 <= held <= 99


def test_resampled_medians_are_medians_of_the_samples() -> None:
    found = ratios((2.0,), (3.0, 6.0, 12.0), "median", 1, "it").values
    assert len(found) == RESAMPLES and set(found) == {1.5, 3.0, 6.0}
    # Two or three of three draws are the same sample with a chance of 7 / 27 at either end.
    assert np.mean(found == 1.5) == pytest.approx(7 / 27, abs=0.02)


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


def test_figures_of_one_run_alone_are_counted(tmp_path: Path, said: Said) -> None:
    less = replace(asking(1), figures=asking(1).figures[:5])
    status, told = said(write(tmp_path / "a", asking(1)), write(tmp_path / "b", less))
    assert status == 0 and "asking: 5 same, 7 only in A" in told


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
    """The second time the worker's parser takes twice as long; what does not use it is as fast as it was."""

    def measure(name: str) -> Path:
        path = tmp_path / name
        options = ["--home", str(store_settings.home), "--json", str(path), "--events", "3000", "--repeats", "9"]
        assert bench.main(["readers", *options]) == 0
        return path

    def slow(*arguments: Any) -> Any:
        parser = open_parser(*arguments)

        def twice(chunk: Chunk) -> Any:
            parse(chunk)
            return parse(chunk)

        parse, parser.parse = parser.parse, twice  # type: ignore[method-assign]
        return parser

    before = measure("before.json")
    monkeypatch.setattr(readers, "open_parser", slow)
    status, told = said(before, measure("after.json"))
    assert status == 1
    assert told.splitlines()[-1] == "WORSE: readers (read_megabytes_per_cpu_second)"
    (worse,) = [line for line in told.splitlines() if line.endswith("  worse")]
    assert worse.split()[:3] == ["readers", "read_megabytes_per_cpu_second", "watchfloor"]


def test_units_tell_which_way_is_better() -> None:
    told = {unit: Metric("it", unit, "").better for unit in ("ms", "s", "MB", "MB/s", "events/s", "%", "", "cores")}
    assert told == {"ms": "lower", "s": "lower", "MB": "lower", "MB/s": "higher", "events/s": "higher"} | dict.fromkeys(
        ("%", "", "cores")
    )
    assert Metric("it", "%", "", better="higher").better == "higher"
    assert json.loads(json.dumps(Figure(DISK, (1.0,)).to_json()))["better"] == "lower"
