"""Rules from files as filters, or with the reason why they have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from watchfloor.schema.errors import RuleError
from watchfloor.schema.filter.sigma.convert import ConvertedRule, convert_rule
from watchfloor.schema.filter.sigma.rule_file import ParsedRule, RuleEntry, RuleInfo, UnreadRule, read_rules
from watchfloor.schema.source import Source


def convert_entry(entry: RuleEntry, known: Mapping[str, Source]) -> ConvertedRule:
    """Returns a rule as filters. Raises ``RuleError`` if it has none."""
    if isinstance(entry, UnreadRule):
        raise RuleError(entry.reason)
    if not isinstance(entry, ParsedRule):
        raise RuleError("correlation: it has no filter of its own; its rules have")
    return convert_rule(entry, known)


def convert_rules(
    names: Iterable[str], known: Mapping[str, Source]
) -> tuple[list[ConvertedRule], list[tuple[RuleInfo, str]]]:
    """Returns the rules of files that can be run, and the others with the reasons."""
    converted: list[ConvertedRule] = []
    failed: list[tuple[RuleInfo, str]] = []
    for entry in read_rules(names):
        try:
            converted.append(convert_entry(entry, known))
        except RuleError as error:
            failed.append((entry.info, str(error)))
    return converted, failed
