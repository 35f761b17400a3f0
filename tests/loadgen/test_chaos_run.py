"""A minute of `bench chaos` with a fixed seed: servers and commands are killed and paused, and nothing differs.

In `make soak`: a minute of faults, a stack of its own, and the recovery from all of it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from watchfloor.loadgen.experiments.registry import load_experiment
from watchfloor.loadgen.suite import bench

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(900)]

SEED = "5"
"""Its minute has the pause of a tablet server, and the deaths of both, of the manager and of the REST service."""


def test_a_minute_of_chaos_leaves_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WATCHFLOOR_HOME", raising=False)
    out, figures = tmp_path / "out", tmp_path / "figures.json"
    status = bench.main(["chaos", "--minutes", "1", "--seed", SEED, "--out", str(out), "--json", str(figures)])
    said = capsys.readouterr()
    assert status == 0, said.err
    history = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    assert len(history) >= 5 and all(line["recovered_after"] > 0 for line in history)
    written = json.loads(figures.read_text())["figures"]
    assert {f["metric"] for f in written} == {m.name for m in load_experiment("chaos").metrics}
    of = {(f["metric"], *f["of"].values()): f["value"] for f in written}
    assert of["differences",] == of["faults", "not seen recovered"] == 0
    assert all(of["chaos_items", layout, mode] for layout in ("block", "cell") for mode in ("bulk", "live"))
    assert "recovery_seconds" in said.out
