"""Skips tests of what this machine lacks, but not in continuous integration, where all of it must be there."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

from watchfloor.schema.errors import StackError
from watchfloor.store.stack.security.kerberos import find_program

NEEDS_TOOLS = "WATCHFLOOR_NEEDS_TOOLS"
"""The variable with which ``.ci/run`` says so."""


def skip_test(reason: str) -> NoReturn:
    """Skips the test, or fails it in continuous integration."""
    if NEEDS_TOOLS in os.environ:
        pytest.fail(f"{reason}; {NEEDS_TOOLS} is set, so the test is not skipped")
    pytest.skip(reason)


def require_kerberos() -> None:
    """Skips the test without MIT Kerberos's programs, as ``skip_test`` does."""
    try:
        for name in ("krb5kdc", "kdb5_util", "kadmin.local"):
            find_program(name)
    except StackError as error:
        skip_test(str(error))
