"""Skips tests of what this machine lacks, but not in continuous integration, where all of it must be there."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

NEEDS_TOOLS = "WATCHFLOOR_NEEDS_TOOLS"
"""The variable with which ``.ci/run`` says so."""


def skip_test(reason: str) -> NoReturn:
    """Skips the test, or fails it in continuous integration."""
    if NEEDS_TOOLS in os.environ:
        pytest.fail(f"{reason}; {NEEDS_TOOLS} is set, so the test is not skipped")
    pytest.skip(reason)
