"""`bench chaos` with fixed seeds: servers and commands are killed and paused, and nothing differs.

In `make soak`: a stack of its own, faults, and the recovery from all of them take minutes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from watchfloor.loadgen.experiments.registry import load_experiment
from watchfloor.loadgen.suite import bench
from watchfloor.store import store

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(900)]

GRACE_SECONDS = 20.0
"""For which a compaction keeps what it has replaced, here: it ends that much sooner, and the next one begins."""
# Imported by every command as it starts.
HASTY = f"import watchfloor.store.store as store; store.GRACE_SECONDS = {GRACE_SECONDS}"


# Half a minute with the deaths of a tablet server and of workers; a minute with the pause of a tablet server, and the
# deaths of both, of the manager and of the REST service.
@pytest.mark.parametrize(("minutes", "seed", "faults"), [("0.5", "50", 3), ("1", "5", 5)], ids=["half", "whole"])
def test_minutes_of_chaos_leave_no_difference(
    minutes: str, seed: str, faults: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.delenv("WATCHFLOOR_HOME", raising=False)
    monkeypatch.setattr(store, "GRACE_SECONDS", GRACE_SECONDS)
    (tmp_path / "sitecustomize.py").write_text(HASTY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    out, figures = tmp_path / "out", tmp_path / "figures.json"
    status = bench.main(["chaos", "--minutes", minutes, "--seed", seed, "--out", str(out), "--json", str(figures)])
    said = capsys.readouterr()
    assert status == 0, said.err
    history = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    assert len(history) >= faults and all(line["recovered_after"] > 0 for line in history)
    written = json.loads(figures.read_text())["figures"]
    assert {f["metric"] for f in written} == {m.name for m in load_experiment("chaos").metrics}
    of = {(f["metric"], *f["of"].values()): f["value"] for f in written}
    assert of["differences",] == of["faults", "not seen recovered"] == 0
    assert all(of["chaos_items", layout, mode] for layout in ("block", "cell") for mode in ("bulk", "live"))
    assert "recovery_seconds" in said.out
