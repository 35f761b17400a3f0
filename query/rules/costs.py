"""The processor time that the verdicts of rules are expected to take, by the kinds of their conditions.

The seconds are those of one event and one condition, fitted to 65,536 process events with made rules and with SigmaHQ's
(`docs/decisions/0013-many-rules-in-one-pass.md`). Events that match are read in addition.
"""

from __future__ import annotations

from collections.abc import Iterator

from watchfloor.schema.filter import tree as f

from .evaluate import RuleNode, RuleProgram

EVENT_SECONDS = 2e-6
"""The fields of an event come from the servers, beyond what the planner expects of a query."""
FIELD_SECONDS = 4e-7
"""Literals are looked for in a field of strings: all of them together."""
LITERAL_SECONDS = 2.5e-10
"""A condition that literals decide is looked up."""
VALUE_SECONDS = 2.5e-9
"""A column of numbers is compared with a value."""
PATTERN_SECONDS = 2e-7
"""A string is tested by a pattern."""
COMPUTED_SECONDS = 1e-5
"""An expression is computed."""
NARROWED = 0.03
"""The share of events that is left for patterns and expressions in an ``and`` that has other conditions too."""


def estimate_rules(rules: RuleProgram) -> float:
    """Returns the seconds that an event takes for all rules; a condition that several have counts once."""
    seen: set[int] = set()
    each = (cost for node in rules.nodes if node is not None for cost in _list_costs(node, 1.0, seen))
    return EVENT_SECONDS + FIELD_SECONDS * rules.count_subjects() + sum(each)


def estimate_rule(rules: RuleProgram, number: int) -> float:
    """Returns the seconds that an event takes for the conditions of one rule, by its number."""
    node = rules.nodes[number]
    return 0.0 if node is None else sum(_list_costs(node, 1.0, set()))


def _list_costs(node: RuleNode, share: float, seen: set[int]) -> Iterator[float]:
    """Yields the seconds of each condition; ``share`` is that of the events for which patterns are tested.

    Conditions that are tested on all events are added to ``seen``, and those that are there cost nothing.
    """
    if isinstance(node.tree, f.And) and any(child.is_quick for child in node.children):
        share *= NARROWED
    if node.children:
        for child in node.children:
            yield from _list_costs(child, share, seen)
        return
    if node.number in seen:
        return
    if node.is_quick or share == 1.0:
        seen.add(node.number)
    if node.choices is not None:
        yield LITERAL_SECONDS
    elif node.is_quick:
        yield VALUE_SECONDS
    else:
        yield share * (COMPUTED_SECONDS if node.asked is None else PATTERN_SECONDS)
