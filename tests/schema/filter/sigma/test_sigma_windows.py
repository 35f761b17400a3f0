"""All of SigmaHQ's rules for Windows match the real Windows events that they do by the oracle.

In `make soak`: it asks 1,400 rules of an oracle in plain Python, for minutes; it skips where the real logs are absent.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from sigma_logs import compare_rules, read_areas

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]


def test_rules_for_windows_match_what_the_oracle_says(tmp_path: Path) -> None:
    asked, matched = compare_rules("windows/*.zip", read_areas(tmp_path / "rules")["windows"], tmp_path)
    assert asked > 1_000
    assert matched
