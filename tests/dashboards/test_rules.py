"""Prometheus' own tool finds no fault in the alert rules, and each fires when it should and not otherwise.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
import subprocess

import pytest
from prometheus import ROOT, find_program

FOLDER = ROOT / "dashboards"


@pytest.mark.parametrize("command", [["check", "rules", "rules.yml"], ["test", "rules", "rules_test.yml"]])
def test_promtool(command: list[str]) -> None:
    done = subprocess.run([find_program("promtool"), *command], cwd=FOLDER, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "SUCCESS" in done.stdout


def test_every_alert_is_tested_both_ways_and_says_what_to_do() -> None:
    rules, tests = (FOLDER / "rules.yml").read_text(), (FOLDER / "rules_test.yml").read_text()
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert len(alerts) == len(set(alerts)) == rules.count("remedy:") == rules.count("summary:") >= 15
    for alert in alerts:
        cases = re.findall(rf'alertname="{alert}", .*\n.*\n +exp_samples: (\[.*)', tests)
        assert [case == "[]" for case in cases] == [False, True], alert
