"""Plans are those of the files ``fixtures/planner/*.txt``.

A fixture file holds cases of the form

    == what the case shows
    filter: status = 404 and src = 10.0.0.1
    events: 1000000
    count: status = 404 | 8000
    scheme: auto
    w: 10
    --
    the plan's text

``filter`` may be missing (no filter), ``scheme`` is auto, ``w`` 10, ``layout`` cell, ``planner`` full and ``limit``
none unless given. A ``count`` is a number of events, in as many places unless it is said (``8000 in 120``), all behind
some newer events (``8000 in 120 behind 50000``), or ``unknown``: too many index entries to count. An equality without
a count has 0 events, any other condition is unknown.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from plan_requests import SOURCE, plan_of

from watchfloor.planner.access.counts import ConditionCount
from watchfloor.schema.filter.tree import And, Condition, Not, Or
from watchfloor.schema.filter.type_check import read_filter

FOLDER = Path(__file__).parents[1] / "fixtures" / "planner"


@dataclass
class Case:
    title: str
    where: str | None = None
    scheme: str = "auto"
    w: float = 10.0
    total: int = 0
    layout: str = "cell"
    planner: str = "full"
    limit: int | None = None
    known: dict[Condition, ConditionCount | None] = field(default_factory=dict)
    expected: str = ""

    def plan_text(self) -> str:
        tree = read_filter(self.where, SOURCE, now=0)
        options = {"scheme": self.scheme, "w": self.w, "limit": self.limit, "planner": self.planner}
        return plan_of(tree, self.total, self.known, layout=self.layout, **options).to_text()


def count_of(text: str) -> ConditionCount | None:
    """``8000``, ``8000 in 120``, ``8000 in 120 behind 50000``, ``unknown``."""
    if text == "unknown":
        return None
    text, _, newer = text.partition(" behind ")
    events, _, places = text.partition(" in ")
    return ConditionCount(int(events), int(places or events), int(places or events), int(newer or 0))


def cases_of(path: Path) -> Iterator[Case]:
    for block in path.read_text("utf-8").split("== ")[1:]:
        head, _, expected = block.partition("\n--\n")
        title, *lines = head.strip().splitlines()
        case = Case(title, expected=expected.strip("\n"))
        for line in lines:
            key, _, value = line.partition(": ")
            match key:
                case "filter":
                    case.where = value
                case "events":
                    case.total = int(value)
                case "scheme":
                    case.scheme = value
                case "w":
                    case.w = float(value)
                case "count":
                    condition, _, count = value.rpartition(" | ")
                    tree = read_filter(condition, SOURCE, now=0)
                    assert tree is not None and not isinstance(tree, (And, Or, Not))
                    case.known[tree] = count_of(count)
                case "layout":
                    case.layout = value
                case "planner":
                    case.planner = value
                case "limit":
                    case.limit = int(value)
                case _:
                    raise AssertionError(f"{path.name}: {line!r}")
        yield case


CASES = [
    pytest.param(case, id=f"{path.stem}: {case.title}")
    for path in sorted(FOLDER.glob("*.txt"))
    for case in cases_of(path)
]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("case", CASES)
def test_plan_text(case: Case) -> None:
    assert case.plan_text() == case.expected


def _rewrite() -> None:
    """Writes today's plans into the fixtures: ``REWRITE=1 python tests/planner/test_plans.py``; read the diff."""
    for path in sorted(FOLDER.glob("*.txt")):
        parts = path.read_text("utf-8").split("== ")
        blocks = [
            f"{block.partition(chr(10) + '--' + chr(10))[0].rstrip()}\n--\n{case.plan_text()}\n\n"
            for block, case in zip(parts[1:], cases_of(path), strict=True)
        ]
        path.write_text(("== ".join([parts[0], *blocks])).rstrip("\n") + "\n", "utf-8")


if __name__ == "__main__" and os.environ.get("REWRITE"):
    _rewrite()
