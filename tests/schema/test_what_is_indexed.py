"""Fields by which analysts look for things are indexed, or the page of the sources says why not.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
from pathlib import Path

from watchfloor.schema.definition import builtin_definitions

PAGE = (Path(__file__).parents[2] / "docs/using/sources.md").read_text("utf-8")
KINDS = ("ip", "user", "domain", "hash", "email")


def list_excused() -> dict[str, set[str]]:
    """Returns the fields that the page says are not indexed, by source; each has a reason."""
    section = PAGE.split("## Which fields are indexed")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    assert rows and all(len(reason.split()) > 3 for _, _, reason in rows)
    return {name: set(re.findall("`([^`]+)`", fields)) for name, fields, _ in rows}


def test_each_kind_of_a_source_has_an_indexed_field_or_the_page_says_why_not() -> None:
    lacking: dict[str, set[str]] = {}
    for name, source in builtin_definitions().items():
        for kind in KINDS:
            fields = [field for field in source.fields if field.kind == kind]
            if fields and not any(field.is_indexed for field in fields):
                lacking.setdefault(name, set()).update(field.name for field in fields)
    assert lacking == list_excused()
