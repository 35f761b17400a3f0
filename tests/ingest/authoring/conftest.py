"""Parsers of JSON lines need the JVM, which in a worker runs already."""

from __future__ import annotations

import pytest
from jvm_support import start_jvm


@pytest.fixture(scope="session", autouse=True)
def running_jvm() -> None:
    start_jvm()
