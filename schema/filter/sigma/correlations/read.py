"""Makes a correlation of what pySigma has read. A construct without a counterpart is refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sigma.correlations import (
    CorrelationConditionAND,
    CorrelationConditionItem,
    CorrelationConditionNOT,
    CorrelationConditionOR,
    SigmaCorrelationCondition,
    SigmaCorrelationRule,
    SigmaCorrelationType,
    SigmaExtendedCorrelationCondition,
    SigmaRuleReference,
)

from watchfloor.schema.errors import RuleError
from watchfloor.schema.filter.sigma.convert import ConvertedRule
from watchfloor.schema.filter.sigma.field_names import find_meant_fields
from watchfloor.schema.filter.sigma.log_sources import LogSource, MeantSource, find_sources
from watchfloor.schema.filter.sigma.rule_file import ParsedCorrelation, ParsedRule, RuleEntry
from watchfloor.schema.source import Source
from watchfloor.schema.text import join_words

from .model import CorrelatedRule, Correlation, CountCondition, MemberFields, Operator, RuleLogic, RuleMatches

MAX_MEMBERS = 64
MAX_SECONDS = 366 * 86_400
"""The longest timespan."""
_OPERATORS: Mapping[str, Operator] = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "EQ": "=", "NEQ": "!="}
_KINDS = {
    SigmaCorrelationType.EVENT_COUNT: "event_count",
    SigmaCorrelationType.VALUE_COUNT: "value_count",
    SigmaCorrelationType.TEMPORAL: "temporal",
    SigmaCorrelationType.TEMPORAL_ORDERED: "temporal_ordered",
}
Names = Mapping[str, Mapping[str, str]]
"""The name of a field by alias and by the place of the rule that it holds for."""


@dataclass(frozen=True)
class FoundRule:
    """A rule that a correlation names: as it was read, and as it can be run."""

    entry: RuleEntry
    converted: ConvertedRule | Correlation


FindRule = Callable[[str], FoundRule]


def read_correlation(parsed: ParsedCorrelation, find_rule: FindRule, known: Mapping[str, Source]) -> Correlation:
    """Returns a correlation; ``find_rule`` returns a rule by its name or ID. Raises ``RuleError`` if it has none."""
    rule = parsed.rule
    kind = _KINDS.get(rule.type)
    if kind is None:
        raise RuleError(f"correlation: type: {rule.type.name.lower()} has no counterpart; known are {_list_kinds()}")
    if rule.timespan.seconds > MAX_SECONDS:
        raise RuleError(f"correlation: timespan: {rule.timespan.spec} is longer than a year")
    found = _find_rules(rule, find_rule)
    groups, values = tuple(dict.fromkeys(rule.group_by or ())), _read_value_names(rule, kind)
    names = _read_aliases(rule, find_rule, found)
    members = tuple(_make_member(one, groups, values, names, known) for one in found)
    places = [one.entry.info.place for one in found]
    condition = _read_condition(rule, kind, find_rule, places)
    return Correlation(
        parsed.info, kind, members, groups, rule.timespan.seconds * 1_000_000, condition, values, bool(rule.generate)
    )


def _list_kinds() -> str:
    return join_words(list(_KINDS.values()))


def _find_rules(rule: SigmaCorrelationRule, find_rule: FindRule) -> list[FoundRule]:
    """Returns the rules that a correlation names, each once. Raises ``RuleError`` if their number does not fit."""
    if rule.rules is not None:
        references = [str(one.reference) for one in rule.rules]
    else:
        assert isinstance(rule.condition, SigmaExtendedCorrelationCondition)
        references = rule.condition.get_referenced_rules()
    if not references:
        raise RuleError("correlation: rules: it names no rule")
    found: dict[str, FoundRule] = {}
    for reference in references:
        one = find_rule(reference)
        if one.entry.info.place in found and rule.type is SigmaCorrelationType.TEMPORAL_ORDERED:
            raise RuleError(f"correlation: rules: temporal_ordered names {reference} twice, which has no counterpart")
        found[one.entry.info.place] = one
    if len(found) > MAX_MEMBERS:
        raise RuleError(f"correlation: rules: it names {len(found):,} rules; at most {MAX_MEMBERS} can be correlated")
    return list(found.values())


def _read_value_names(rule: SigmaCorrelationRule, kind: str) -> tuple[str, ...]:
    """Returns the names of the fields whose distinct values are counted; none for other kinds."""
    named = rule.condition.fieldref if isinstance(rule.condition, SigmaCorrelationCondition) else None
    if named is None:
        return ()
    if kind != "value_count":
        raise RuleError(f"correlation: condition: {kind} counts no values, so that it has no field")
    names = tuple(map(str, named)) if isinstance(named, list) else (str(named),)
    if not names:
        raise RuleError("correlation: condition: field names no field")
    return names


def _read_aliases(rule: SigmaCorrelationRule, find_rule: FindRule, found: Sequence[FoundRule]) -> Names:
    """Returns the names of fields that aliases stand for. Raises ``RuleError`` for a rule that is not correlated."""
    places = {one.entry.info.place for one in found}
    names: dict[str, dict[str, str]] = {}
    for alias in rule.aliases:
        names[alias.alias] = {}
        for reference, name in alias.mapping.items():
            place = find_rule(str(reference.reference)).entry.info.place
            if place not in places:
                raise RuleError(
                    f"correlation: aliases: {alias.alias} names {reference.reference}, which is not in rules"
                )
            names[alias.alias][place] = str(name)
    return names


def _make_member(
    found: FoundRule, groups: Sequence[str], values: Sequence[str], names: Names, known: Mapping[str, Source]
) -> CorrelatedRule:
    """Returns a rule of a correlation with its fields. Raises ``RuleError`` if no source of it has them."""
    info = found.entry.info
    title = info.name or info.title
    wanted: dict[str, str] = {}
    for name in (*groups, *values):
        if name in names and info.place not in names[name]:
            raise RuleError(f"correlation: aliases: {name} names no field of the rule {title}")
        wanted[name] = names[name][info.place] if name in names else name
    if isinstance(found.converted, Correlation):
        for name in wanted.values():
            if name not in found.converted.groups:
                raise RuleError(f"correlation: {title} is a correlation that is not grouped by {name}")
        fields = {"": MemberFields(tuple(wanted[name] for name in groups), tuple(wanted[name] for name in values))}
        return CorrelatedRule(found.converted, fields, {})
    by_source: dict[str, MemberFields] = {}
    left_out: dict[str, str] = {}
    for meant in _list_meant(found, known):
        try:
            by_source[meant.source.name] = MemberFields(
                tuple(_find_field(meant, wanted[name], "group-by") for name in groups),
                tuple(_find_field(meant, wanted[name], "condition") for name in values),
            )
        except RuleError as error:
            left_out[meant.source.name] = str(error)
    if not by_source:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(left_out.items())[:3])
        raise RuleError(f"correlation: no source of {title} can be correlated: {reasons}")
    return CorrelatedRule(found.converted, by_source, left_out)


def _list_meant(found: FoundRule, known: Mapping[str, Source]) -> list[MeantSource]:
    """Returns the sources of a rule's filters as its log source means them."""
    assert isinstance(found.entry, ParsedRule) and isinstance(found.converted, ConvertedRule)
    logged = found.entry.rule.logsource
    log_source = LogSource(logged.product or "", logged.category or "", logged.service or "")
    filtered = {one.source.name for one in found.converted.filters}
    return [meant for meant in find_sources(log_source, known) or [] if meant.source.name in filtered]


def _find_field(meant: MeantSource, name: str, construct: str) -> str:
    """Returns the field of a source that a name means. Raises ``RuleError`` if there is none with one value."""
    fields = find_meant_fields(meant, name)
    if not fields:
        raise RuleError(f"{construct}: it has no field {name}")
    plain = [field for field in fields if not field.is_list]
    if not plain:
        raise RuleError(f"{construct}: {fields[0].name} is a list, which has no one value")
    return plain[0].name


def _read_condition(
    rule: SigmaCorrelationRule, kind: str, find_rule: FindRule, places: Sequence[str]
) -> CountCondition | RuleLogic | RuleMatches:
    """Returns the condition on a window; ``places`` are those of the members."""
    condition = rule.condition
    if isinstance(condition, SigmaExtendedCorrelationCondition):
        if kind == "temporal_ordered":
            raise RuleError("correlation: condition: temporal_ordered with and, or, not has no counterpart")
        return _read_logic(condition.parsed, lambda name: places.index(find_rule(name).entry.info.place))
    if condition.percentile is not None:
        raise RuleError(f"correlation: condition: {kind} has no percentile")
    count = CountCondition(_OPERATORS[condition.op.name], condition.count)
    if kind == "temporal_ordered" and (count.op not in (">=", "=") or count.number != len(places)):
        raise RuleError(
            f"correlation: condition: temporal_ordered waits for all of its {len(places)} rules; "
            f"{count.describe()} has no counterpart"
        )
    return count


def _read_logic(
    node: CorrelationConditionItem | SigmaRuleReference, find_member: Callable[[str], int]
) -> RuleLogic | RuleMatches:
    if isinstance(node, SigmaRuleReference):
        return RuleMatches(find_member(node.reference))
    parts = tuple(_read_logic(part, find_member) for part in node.args)
    match node:
        case CorrelationConditionAND():
            return RuleLogic("and", parts)
        case CorrelationConditionOR():
            return RuleLogic("or", parts)
        case CorrelationConditionNOT():
            return RuleLogic("not", parts)
    raise RuleError("correlation: condition: a part of it is unknown")
