"""The systemd units that ship: systemd understands them, and their commands are ones of Watchfloor.

In `make test`: it needs no servers; what systemd says is left out where there is no systemd.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from watchfloor.api.cli.main import CommandLine, find_groups

FOLDER = Path(__file__).parents[2] / "deploy/systemd"
UNITS = sorted(FOLDER.glob("*.service"))
NEWER = ("RestartSteps", "RestartMaxDelaySec")
"""Settings that systemd has since version 254, and of which older ones say that they ignore them."""


def test_every_server_has_a_unit() -> None:
    assert {unit.stem for unit in UNITS} == {
        *("watchfloor-master", "watchfloor-worker", "watchfloor-serve", "watchfloor-sigma", "zookeeper", "kafka"),
        *("accumulo-manager", "accumulo-tserver", "accumulo-gc", "watchfloor-retention"),
    }


def test_each_timer_starts_a_command_that_ends() -> None:
    timers = sorted(FOLDER.glob("*.timer"))
    assert timers
    for timer in timers:
        assert "Type=oneshot" in timer.with_suffix(".service").read_text().splitlines()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", [*UNITS, *sorted(FOLDER.glob("*.timer"))], ids=lambda unit: unit.name)
def test_systemd_understands_the_unit(unit: Path, tmp_path: Path) -> None:
    for path in {unit, unit.with_suffix(".service")}:
        # Users and programs are those of an installation.
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", path.read_text(), flags=re.M)
        (tmp_path / path.name).write_text(re.sub(r"^User=.*", "User=root", text, flags=re.M))
    copy = tmp_path / unit.name
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, timeout=60)
    said = [line for line in done.stderr.splitlines() if unit.name in line and not any(key in line for key in NEWER)]
    assert not said


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit.stem.startswith("watchfloor")], ids=lambda u: u.stem)
def test_the_command_of_a_unit_is_one_of_watchfloor(unit: Path) -> None:
    command = re.search(r"^ExecStart=\S+ (.*)$", unit.read_text(), flags=re.M)
    assert command
    assert CommandLine(find_groups()).parse(shlex.split(command[1])).command in command[1]
