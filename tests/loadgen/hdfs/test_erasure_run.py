"""A small `bench erasure` has every figure by policy and state, its pictures, and a page beside the study's figures.

In `make soak`: nine DataNodes are started, two of them are killed, and their blocks are made anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from missing import require_kerberos

from watchfloor.loadgen.experiments.erasure.figures import STATES
from watchfloor.loadgen.experiments.registry import draw_pictures, load_experiment
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.report.studies.erasure_coding import CONTENT
from watchfloor.loadgen.report.studies.own_figures import OwnFigures
from watchfloor.loadgen.suite import bench

pytestmark = [pytest.mark.stack, pytest.mark.soak, pytest.mark.timeout(900)]
POLICIES = ("replication", "RS-6-3-64k", "RS-6-3-1024k")
SMALL = (
    *("--datanodes", "9", "--rows", "40000", "--bulk-rows", "40000", "--executors", "2", "--queries", "5"),
    *("--turns", "1", "--megabytes", "12", "--codecs", "none", "--at-once", "1,2"),
)


def test_a_small_run_measures_each_policy_in_each_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_kerberos()
    monkeypatch.delenv("WATCHFLOOR_HOME", raising=False)
    path = tmp_path / "out.json"
    assert bench.main(["erasure", "--json", str(path), *SMALL]) == 0
    assert "RS-10-4-1024k: not measured, 9 DataNodes are too few" in capsys.readouterr().err
    written = json.loads(path.read_text())
    figures = written["figures"]
    assert {f["metric"] for f in figures} == {m.name for m in load_experiment("erasure").metrics}
    lookups = {(f["of"]["files"], f["of"]["state"]) for f in figures if f["metric"] == "erasure_lookup_ms"}
    assert lookups == {(policy, state) for policy in POLICIES for state in STATES}
    (disk,) = ({f["of"]["files"]: f["value"] for f in figures if f["metric"] == "erasure_disk_bytes_per_row"},)
    # Three replicas are three times the bytes; six parts of data and three of parity half as much.
    assert all(0.4 < disk[policy] / disk["replication"] < 0.75 for policy in POLICIES[1:])
    (repair,) = (f for f in figures if f["metric"] == "erasure_repair_seconds")
    assert int(repair["note"].split()[0].replace(",", "")) > 0
    measurement = Measurement.from_json(written)
    assert list(draw_pictures("erasure", measurement.figures))
    ours = OwnFigures([measurement])
    assert all(table.has_ours for table in CONTENT.make_tables(ours))
    assert any(line.startswith("A look-up under RS-6-3-64k takes") for line in CONTENT.state_findings(ours))


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--policies", "RS-6-3-64k,RAID"), "'RS-6-3-64k,RAID' is not a list of replication, RS-6-3-64k,"),
        (("--at-once", "1,0"), "'1,0' is not a list of numbers from 1 to 256"),
        (("--codecs", "zip"), "'zip' is not a list of gz, none, snappy"),
    ],
)
def test_what_is_unknown_is_refused_before_anything_starts(
    option: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["erasure", *option])
    assert said in capsys.readouterr().err
