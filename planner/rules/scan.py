"""The paper's last rule: the tablet servers evaluate the whole filter. It applies to every filter."""

from __future__ import annotations

from watchfloor.planner.access.counts import RuleCounts
from watchfloor.planner.access.paths import Scan
from watchfloor.planner.access.rule import Question, Refusal, Rule, RuleAnswer
from watchfloor.schema.filter.tree import Condition
from watchfloor.schema.text import format_number


class ScanRule:
    """Finds the events by a scan of the time range, with the whole filter as the residual."""

    name = "scan"

    def asks(self, question: Question) -> tuple[Condition, ...]:
        return ()

    def apply(self, question: Question, counts: RuleCounts) -> RuleAnswer | Refusal:
        events = format_number(counts.total, "event")
        if question.tree is None:
            return RuleAnswer(Scan(), None, (), f"there is no filter, so all {events} of the time range are read")
        because = f"the tablet servers evaluate the whole filter on all {events} of the time range"
        return RuleAnswer(Scan(), question.tree, (), because)


RULES: tuple[Rule, ...] = (ScanRule(),)
