"""A small `bench durability` has every figure with flush and with sync, on local files and on replicas in HDFS.

In `make soak`: its stacks are started once for each case.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from missing import require_kerberos

from watchfloor.loadgen.experiments.registry import draw_pictures, load_experiment
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.suite import bench

pytestmark = [pytest.mark.stack, pytest.mark.soak, pytest.mark.timeout(900)]
FILES = ("local", "1 replica", "3 replicas")
SMALL = ("--entries", "5000", "--interval", "500", "--events", "2000", "--turns", "1", "--questions", "2")


def test_a_small_run_measures_each_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_kerberos()
    monkeypatch.delenv("WATCHFLOOR_HOME", raising=False)
    path = tmp_path / "out.json"
    assert bench.main(["durability", "--json", str(path), *SMALL]) == 0
    written = json.loads(path.read_text())
    cases = {(files, durability) for files in FILES for durability in ("flush", "sync")}
    for metric in load_experiment("durability").metrics:
        of = [figure for figure in written["figures"] if figure["metric"] == metric.name]
        assert {(figure["of"]["files"], figure["of"]["durability"]) for figure in of} == cases
        assert all(sample >= 0 for figure in of for sample in figure["samples"])
    flushes = [len(f["samples"]) for f in written["figures"] if f["metric"] == "durability_flush_ms"]
    assert len(flushes) == len(cases) and all(count >= 10 for count in flushes)
    assert list(draw_pictures("durability", Measurement.from_json(written).figures))


def test_unknown_files_are_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["durability", "--files", "local,tape"])
    assert "'local,tape' is not a list of local, 1 replica, 3 replicas" in capsys.readouterr().err
