"""A small `bench security` has every figure at each level, its pictures, and a page with the study's figures beside it.

In `make soak`: its stack is started once for each level.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from missing import require_kerberos

from watchfloor.loadgen.experiments.registry import draw_pictures, load_experiment
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.report.studies.own_figures import OwnFigures
from watchfloor.loadgen.report.studies.security import CONTENT
from watchfloor.loadgen.suite import bench

pytestmark = [pytest.mark.stack, pytest.mark.soak]
LEVELS = ("none", "auth-conf")
SMALL = ("--entries", "20000", "--iterations", "2", "--seconds", "1", "--events", "3000", "--turns", "1")


def test_a_small_run_measures_each_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_kerberos()
    monkeypatch.delenv("WATCHFLOOR_HOME", raising=False)
    path = tmp_path / "out.json"
    assert bench.main(["security", "--json", str(path), "--levels", ",".join(LEVELS), *SMALL]) == 0
    written = json.loads(path.read_text())
    assert {f["metric"] for f in written["figures"]} == {m.name for m in load_experiment("security").metrics}
    for metric in (
        "security_elapsed_ms",
        "security_processor_seconds",
        "security_loaded_events_per_second",
        "security_row_ms",
    ):
        of = [figure for figure in written["figures"] if figure["metric"] == metric]
        assert {figure["of"]["level"] for figure in of} == set(LEVELS)
        assert all(sample > 0 for figure in of for sample in figure["samples"])
    assert [len(f["samples"]) for f in written["figures"] if f["metric"] == "security_elapsed_ms"] == [2, 2]
    measurement = Measurement.from_json(written)
    assert list(draw_pictures("security", measurement.figures))
    levels, *others = CONTENT.make_tables(OwnFigures([measurement]))
    assert [row.label for row in levels.rows if row.cells[2]] == ["none", "Kerberos, confidentiality"]
    assert [table.title for table in others][-1] == "Our own pipeline by security level"
    assert any("Kerberos, confidentiality" in line for line in CONTENT.state_findings(OwnFigures([measurement])))
