"""Exports that wrap events of clouds in arrays and documents give the events that their lines give.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from parser_fixtures import FIXTURES
from parsing_support import parse_file


def records_of(name: str) -> list[dict[str, Any]]:
    """Returns the objects among the lines of a fixture."""
    found = []
    for line in (FIXTURES / name / "in.log").read_text("utf-8").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("aws.cloudtrail", "Records"),
        ("azure.nsgflow", "records"),
        ("entra.signins", "value"),
        ("okta.system", ""),
        ("windows-evtx", ""),
    ],
)
def test_wrapped_events(name: str, key: str, indent: int | None, tmp_path: Path) -> None:
    records = records_of(name)
    path = tmp_path / "export.json.gz"
    path.write_bytes(gzip.compress(json.dumps({key: records} if key else records, indent=indent).encode()))
    wrapped, plain = parse_file(path), parse_file(FIXTURES / name / "in.log")
    assert wrapped.sniffed is not None and plain.sniffed is not None
    assert wrapped.sniffed.feed == plain.sniffed.feed and wrapped.lines == len(records)
    for rows in (lines := wrapped.rows(), expected := plain.rows()):
        for row in rows:
            del row["(offset)"]
    assert lines == expected
