"""Half a minute of faults on the continuous suite, and what its verification would find.

In `make soak`: it has a stack of its own, whose servers are killed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from watchfloor.loadgen.experiments.chaos.faults.fault_plan import PROCESSES, SERVERS, make_plan
from watchfloor.loadgen.suite import bench

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak]


def test_a_plan_hits_the_processes_that_it_is_given_and_no_others() -> None:
    own = (*SERVERS, "supervisor", "client1")
    plan = make_plan(5, 3600, own)
    assert {name for fault in plan for name in fault.processes} == set(own)
    assert plan == make_plan(5, 3600, own) != make_plan(6, 3600, own)
    assert {name for fault in make_plan(5, 3600) for name in fault.processes} == set(PROCESSES)


@pytest.mark.timeout(400)
def test_nothing_that_was_flushed_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    options = ["--minutes", "0.5", "--calm", "6", "--interval", "2000", "--seed", "108", "--out", str(out)]
    assert bench.main(["continuous-chaos", *options, "--json", str(tmp_path / "figures.json")]) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())["figures"]
    values = {figure["metric"]: figure["value"] for figure in figures}
    assert values["continuous_broken"] == 0 and values["chaos_entries"] > 4_000
    # A tablet server and a client are killed.
    history = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    assert len(history) == 2 and all(fault["recovered_after"] is not None for fault in history), history
