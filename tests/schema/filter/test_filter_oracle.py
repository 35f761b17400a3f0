"""The tests' own evaluator of filters agrees with the language; documents name every planner rule and batch setting.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from filter_samples import EVENTS, SOURCE, TYPED, source_of
from hypothesis import given, settings
from oracle import holds

from watchfloor.planner.planner import ALL_RULES
from watchfloor.query.batches.registry import POLICIES
from watchfloor.query.batches.settings import BatchSettings
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.filter.tree import Filter, list_fields
from watchfloor.schema.filter.type_check import read_filter
from watchfloor.schema.read_costs import ReadCosts

ORACLE = [
    ("status = 404", True),
    ("status != 404", False),
    ("missing_value != 404", True),
    ("missing_value < 404 or not exists missing_value", True),
    ("tags = a and tags = b", True),
    ("tags != a", False),
    ("exists none", True),
    ("none = a", False),
    ("src in 10.0.0.0/8 and src < ::1", True),
    ("uri > A and uri < größf and uri > z", False),
    ("uri like gr*e and uri like gr??e and not uri like gr?e", True),
    (r'uri like "gr\\*e"', False),
    ("uri ~ /^GR.SSE$/", False),
    ("uri ~ /^GR.SSE$/i", False),
    ("uri ~ /^GRÖ.E$/i", True),
    ("uri startswith gr", True),
]


@pytest.mark.parametrize(("text", "expected"), ORACLE)
def test_the_oracle(text: str, expected: bool) -> None:
    source = source_of(
        status="int", missing_value="int", tags="list of string", none="list of string", src="ip", uri="string"
    )
    event = {"status": 404, "tags": [None, "a", "b"], "none": [], "src": "10.0.0.1", "uri": "größe"}
    assert holds(read_filter(text, source), event) is expected  # type: ignore[arg-type]


@given(TYPED)
@settings(max_examples=100)
def test_drawn_filters_fit_the_source_and_the_oracle(tree: Filter) -> None:
    assert list_fields(tree) <= set(SOURCE.fields_by_name)
    assert {holds(tree, event) for event in EVENTS} <= {True, False}


def test_no_jvm_is_needed() -> None:
    code = (
        "import sys, watchfloor.planner.planner, watchfloor.schema.filter.type_check, "
        "watchfloor.query.batches.sequence; "
        "sys.exit('jpype' in sys.modules or any(m.startswith('watchfloor.store') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_documentation_is_right() -> None:
    docs = Path(__file__).parents[3] / "docs"
    planner = (docs / "planner.md").read_text("utf-8")
    for word in (*SCHEMES, *(rule.name for rule in ALL_RULES), *(field.name for field in fields(ReadCosts))):
        assert re.search(rf"\b{word}\b", planner), word
    batching = (docs / "batching.md").read_text("utf-8")
    for word in (*POLICIES, *(field.name for field in fields(BatchSettings) if field.name != "policy")):
        assert f"`{word}`" in batching, word
