"""A real run and a real experiment that are terminated leave no process and no folder.

In `make soak`: each starts a stack of its own and is terminated in the middle.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from watchfloor.api.cli import main as cli

pytestmark = [pytest.mark.stack, pytest.mark.soak]


def processes_of(folder: Path) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if any(str(folder) in word for word in p.info["cmdline"] or ())]


def terminated(folder: Path, *arguments: str) -> list[str]:
    """Returns the standard error of ``bench`` that got SIGTERM in the middle of an experiment. It has left no
    process, and no folder of its stack."""
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "bench", *arguments]
    env = {key: value for key, value in os.environ.items() if key != "WATCHFLOOR_HOME"} | {"TMPDIR": str(folder)}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = []
        for line in process.stderr:
            told.append(line)
            if "events generated" in line:
                assert processes_of(folder)
                process.terminate()
        assert process.wait(60) == cli.INTERRUPTED, told
    until = time.monotonic() + 10
    while processes_of(folder) and time.monotonic() < until:
        time.sleep(0.1)
    assert not processes_of(folder)
    assert not list(folder.glob("watchfloor-bench-*"))
    return told


def test_a_real_run_that_is_terminated_leaves_nothing(tmp_path: Path) -> None:
    """The experiment ends, then the stack; the run's folder can go on."""
    told = terminated(tmp_path, "all", "--quick", "--only", "readers", "--out", str(tmp_path / "run"))
    assert any("interrupted; the same command goes on" in line for line in told)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["experiments"]["readers"]["options"]
    assert not (tmp_path / "run" / "readers.json").exists()


def test_a_real_experiment_that_is_terminated_leaves_nothing(tmp_path: Path) -> None:
    told = terminated(tmp_path, "readers", "--events", "20000", "--json", str(tmp_path / "readers.json"))
    assert any("SIGTERM: stopping what was started" in line for line in told)
    assert not (tmp_path / "readers.json").exists()
