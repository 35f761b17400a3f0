"""Rules as lines of text: their filters, or how a correlation looks at the matches of its rules."""

from __future__ import annotations

from collections.abc import Iterator

from watchfloor.schema.filter.sigma.convert import ConvertedRule
from watchfloor.schema.filter.sigma.correlations.model import Correlation, CountCondition, RuleLogic, RuleMatches
from watchfloor.schema.text import join_words


def list_sources(rule: ConvertedRule | Correlation) -> str:
    """Returns the names of a rule's sources."""
    names = [one.source.name for one in rule.filters] if isinstance(rule, ConvertedRule) else rule.list_sources()
    return ", ".join(names)


def describe_correlation(correlation: Correlation) -> Iterator[str]:
    """Yields lines: the condition, and of each rule the fields that are read in each of its sources."""
    seconds = correlation.span // 1_000_000
    grouped = f" by {join_words(list(correlation.groups), 'and')}" if correlation.groups else ""
    yield f"{correlation.kind}{grouped} within {seconds:,} s: {_describe_condition(correlation)}"
    for number, member in enumerate(correlation.members, 1):
        yield f"rule {number}: {member.rule.info.title}"
        for source, fields in member.fields.items():
            names = [*fields.groups, *fields.values]
            yield f"  {source or 'a correlation'}{': ' if names else ''}{', '.join(names)}"
        yield from (f"  {source} is left out: {reason}" for source, reason in member.left_out.items())
    if not correlation.tells_members:
        yield "its rules are not told by themselves (generate)"


def _describe_condition(correlation: Correlation) -> str:
    condition = correlation.condition
    if not isinstance(condition, CountCondition):
        return _describe_logic(condition)
    counted = {
        "event_count": "events",
        "value_count": f"distinct values of {join_words(list(correlation.values), 'and')}",
        "temporal": "rules that match",
        "temporal_ordered": "rules that match in this order",
    }
    return f"{counted[correlation.kind]} {condition.describe()}"


def _describe_logic(logic: RuleLogic | RuleMatches) -> str:
    if isinstance(logic, RuleMatches):
        return f"rule {logic.member + 1}"
    if logic.word == "not":
        return f"not {_describe_logic(logic.parts[0])}"
    return f"({f' {logic.word} '.join(map(_describe_logic, logic.parts))})"
