"""``make demo`` runs, small, on a stack of its own, because other tests count the sources that its logs fill.

In `make soak`: a demonstration on a new stack takes most of a minute.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_stack import stack_folder

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600), pytest.mark.soak]


@pytest.fixture
def home() -> Iterator[Path]:
    with stack_folder() as settings:
        yield settings.home


def test_the_demo_shows_the_main_job(home: Path, tmp_path: Path) -> None:
    extra = tmp_path / "site.log"
    extra.write_text('203.0.113.7 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8"\n')
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "--home", str(home)]
    done = subprocess.run(
        [*command, "demo", "--events", "20000", str(extra)], capture_output=True, text=True, timeout=540, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout
    for command_shown in (
        "up",
        "generate",
        "worker --workers 2",
        "master --watch",
        "items",
        "count",
        "timeline",
        "top",
    ):
        assert f"$ watchfloor {command_shown}" in shown
    assert len(re.findall(r"^\$ watchfloor query proxy.events", shown, re.MULTILINE)) == 4
    # What a query says of itself goes to standard error: its plan and its first-result time.
    assert len(re.findall(r"^ +scheme +batched-(index|scan)", done.stderr, re.MULTILINE)) == 4
    assert len(re.findall(r"^5 rows in .* first after [0-9.,]+ m?s", done.stderr, re.MULTILINE)) == 3
    assert re.search(r"^proxy.events +domain +domain +10 ", shown, re.MULTILINE), "the sighting of the rare value"
    assert re.search(r"^3 rows in .*stopped at the limit", done.stderr, re.MULTILINE), "the query of all sources"
    assert re.search(r"^5 rows of [0-9,]+ events after", done.stderr, re.MULTILINE), "the statistics"
    assert '"status": "complete"' in shown and '"rows": 10' in shown, "the rare value's ten events over REST"
    assert "make down" in shown
