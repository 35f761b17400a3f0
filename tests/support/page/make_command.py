"""Runs targets of the Makefile that need a browser."""

from __future__ import annotations

import subprocess
from pathlib import Path

from browser import find_browser

ROOT = Path(__file__).parents[3]


def run_make(*arguments: str) -> str:
    """Returns what a target prints."""
    find_browser()
    done = subprocess.run(["make", "-C", ROOT, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
