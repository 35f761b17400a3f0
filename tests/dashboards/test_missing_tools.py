"""Tests that need a browser or Prometheus are skipped without them, but fail in continuous integration.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import prometheus
import pytest
from browser import find_browser
from missing import NEEDS_TOOLS

ROOT = Path(__file__).parents[2]
FINDERS: dict[str, Callable[[], str]] = {
    "Chromium": find_browser,
    "prometheus": lambda: prometheus.find_program("prometheus"),
    "promtool": lambda: prometheus.find_program("promtool"),
}


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(prometheus, "FETCHED", tmp_path)


@pytest.mark.parametrize("name", FINDERS)
def test_a_tool_that_is_missing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(NEEDS_TOOLS, raising=False)
    with pytest.raises(pytest.skip.Exception, match=f"no {name}"):
        FINDERS[name]()
    monkeypatch.setenv(NEEDS_TOOLS, "1")
    with pytest.raises(pytest.fail.Exception, match=f"no {name}.*{NEEDS_TOOLS} is set"):
        FINDERS[name]()


def test_continuous_integration_needs_them() -> None:
    assert f"\nexport {NEEDS_TOOLS}=1\n" in (ROOT / ".ci/run").read_text()
