"""A new planner rule is its file and one line of the table of rules: shown on a copy of the rooms.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("schema", "planner")

# A rule that makes no sense but is easy to see: ``not exists bytes`` is answered by entries of ``status = 500``.
RULE = '''
"""A rule for ``not exists``: it looks one value of another field up."""

from __future__ import annotations

from watchfloor.planner.access.counts import RuleCounts
from watchfloor.planner.access.index_use import make_equality_lookup
from watchfloor.planner.access.paths import IndexUnion
from watchfloor.planner.access.rule import Question, Refusal, Rule, RuleAnswer
from watchfloor.schema.filter.tree import Compare, Exists, Not

STANDS_FOR = Compare("status", "=", 500)


class AbsenceRule:
    name = "absence"

    def asks(self, question: Question) -> list[Compare]:
        return ASKED

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        if not isinstance(question.tree, Not) or not isinstance(question.tree.child, Exists):
            return Refusal("the filter is no absence")
        lookup = make_equality_lookup(STANDS_FOR, counts)
        return RuleAnswer(IndexUnion((lookup,)), question.tree, (), "what is absent is known by its status")


RULES: tuple[Rule, ...] = (AbsenceRule(),)
'''
PROGRAM = """
from watchfloor.planner.access.counts import ConditionCount, Counts
from watchfloor.planner.planner import PlanRequest, make_plan
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.filter.type_check import read_filter
from watchfloor.schema.read_costs import ReadCosts

source = parse_definition({
    "name": "web.proxy",
    "parser": {"format": "json"},
    "timestamp": {"field": "ts"},
    "fields": [
        {"name": "ts", "type": "time"},
        {"name": "status", "type": "int", "indexed": True},
        {"name": "bytes", "type": "int"},
    ],
})
costs = ReadCosts(16384, 6e-3, 8e-9, 40e-9, 6e-4, 7e-3, 1e-3, 0.0, 1.4e-6)
request = PlanRequest(read_filter("not exists bytes", source), source, costs, scheme="index")
counts = Counts(1_000_000, {condition: ConditionCount(5, 1, 1) for condition in request.counted_conditions})
print(make_plan(request, counts).to_text())
"""


def copy_rooms(folder: Path, asked: str) -> None:
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / "watchfloor" / room)
    (folder / "watchfloor/planner/rules/absence.py").write_text(RULE.replace("ASKED", asked))
    planner = folder / "watchfloor/planner/planner.py"
    planner.write_text(planner.read_text().replace('    "nested",\n', '    "nested",\n    "absence",\n', 1))


def run_planner(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, cwd=folder, capture_output=True, text=True)


def test_a_rule_is_a_file_and_a_line(tmp_path: Path) -> None:
    copy_rooms(tmp_path, asked="[STANDS_FOR]")
    done = run_planner(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rule      absence: what is absent is known by its status" in done.stdout
    assert "status = 500: 5 events, 0.0005 %" in done.stdout


def test_a_rule_that_forgets_to_ask_is_told_so(tmp_path: Path) -> None:
    copy_rooms(tmp_path, asked="[]")
    done = run_planner(tmp_path)
    assert done.returncode == 1
    assert "planner rule absence reads the count of status = 500, but its asks() does not name it" in done.stderr
