"""The Node that builds the page is the system's if that is new enough, else the one that set-up has installed.

In `make test`: it starts a few short processes.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci/node.sh"


def run_node(folder: Path, *command: str) -> str:
    """Returns what a command of the script prints where ``folder`` has the programs of the system."""
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run([SCRIPT, *command], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("version", "is_used"),
    [
        ("v18.20.4", False),
        ("v20.10.0", False),
        ("v20.11.0", True),
        ("v21.1.0", False),
        ("v30.1.0", True),
        ("nonsense", False),
    ],
)
def test_the_node_of_the_system_is_used_if_it_is_new_enough(tmp_path: Path, version: str, is_used: bool) -> None:
    write_program(tmp_path / "node", f'[ "$*" = --version ] && echo {version} || echo "system node $*"')
    write_program(tmp_path / "npm", 'echo "system npm $*"')
    if is_used:
        assert run_node(tmp_path, "node", "a.mjs", "b c") == "system node a.mjs b c"
        assert run_node(tmp_path, "npm", "ci") == "system npm ci"
    else:
        assert run_node(tmp_path, "node", "-p", "1 + 1") == "2"
        assert run_node(tmp_path, "npm", "--version")[0].isdigit()


def test_a_system_without_node_has_that_of_set_up(tmp_path: Path) -> None:
    write_program(tmp_path / "node", "exit 1")
    assert run_node(tmp_path, "node", "-p", "1 + 1") == "2"
