"""Converts a rule to filters: one for each source that its log source means.

A field that a source lacks and does not keep in ``extra`` is missing in all its events, so a condition on it never
holds there. A source of which no event can match is left out. A rule is not converted if that is so for all of its
sources, or if it has a construct that has no counterpart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.exceptions import SigmaError
from sigma.rule import SigmaRule

from watchfloor.schema.errors import FilterError, RuleError
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.type_check import read_tree, type_filter
from watchfloor.schema.source import Source
from watchfloor.schema.text import join_words

from .items import match_field, match_keyword
from .log_sources import LogSource, MeantSource, find_sources, list_names
from .logic import Outcome, join_all, join_any, negate
from .rule_file import ParsedRule, RuleInfo


@dataclass(frozen=True)
class SourceFilter:
    """A rule for one source. ``notes`` say where it is inexact.

    In ``asked`` the name ``any`` still stands for all fields of strings; ``tree`` is the same filter, typed. None
    stands for all events.
    """

    source: Source
    asked: f.Filter | None
    tree: f.Filter | None
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The filter as text; empty for all events."""
        return "" if self.asked is None else to_text(self.asked)


@dataclass(frozen=True)
class ConvertedRule:
    """A rule as filters. ``left_out`` has the reasons for sources that its log source means beside them."""

    info: RuleInfo
    filters: tuple[SourceFilter, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Notes:
    """The fields that a source lacks, and its inexact conditions, which are found while a rule is converted."""

    missing: dict[str, None] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)


def convert_rule(parsed: ParsedRule, known: Mapping[str, Source]) -> ConvertedRule:
    """Returns the filters of a rule for known sources. Raises ``RuleError`` if there are none, with the reasons."""
    logged = parsed.rule.logsource
    log_source = LogSource(logged.product or "", logged.category or "", logged.service or "")
    meant = find_sources(log_source, known)
    if meant is None:
        raise RuleError(f"log source: no source is known for {log_source.describe()}")
    if not meant:
        names = join_words(list_names(log_source), "or")
        raise RuleError(f"log source: {log_source.describe()} is {names}, of which there is none")
    filters: list[SourceFilter] = []
    left_out: dict[str, str] = {}
    for one in meant:
        try:
            filters.append(_convert_for_source(parsed.rule, one))
        except RuleError as error:
            left_out[one.source.name] = str(error)
    if not filters:
        reasons: dict[str, list[str]] = {}
        for name, reason in left_out.items():
            reasons.setdefault(reason, []).append(name)
        raise RuleError("; ".join(f"{join_words(names[:4])}: {reason}" for reason, names in list(reasons.items())[:3]))
    return ConvertedRule(parsed.info, tuple(filters), left_out)


def _convert_for_source(rule: SigmaRule, meant: MeantSource) -> SourceFilter:
    """Returns the filter of a rule for one source. Raises ``RuleError`` if no event of it can match."""
    notes = _Notes()
    try:
        outcome = join_any([_convert_node(item.parsed, meant, notes) for item in rule.detection.parsed_condition])
    except SigmaError as error:
        raise RuleError(f"condition: {' '.join(str(error.args[0]).split())}") from None
    except RecursionError:
        raise RuleError("condition: it is nested too deep") from None
    if outcome is False:
        lacking = f": it has no field {join_words(list(notes.missing), 'or')}" if notes.missing else ""
        raise RuleError(f"no event can match{lacking}")
    if outcome is True and notes.missing:
        raise RuleError(f"every event would match: it has no field {join_words(list(notes.missing), 'or')}")
    whole = join_all([True if meant.where is None else read_tree(meant.where), outcome])
    try:
        tree = None if isinstance(whole, bool) else type_filter(whole, meant.source)
    except FilterError as error:
        raise RuleError(error.message) from None
    lacks = [f"it has no field {name}: a condition on it never holds" for name in notes.missing]
    return SourceFilter(meant.source, None if isinstance(whole, bool) else whole, tree, (*lacks, *notes.remarks))


def _convert_node(node: object, meant: MeantSource, notes: _Notes) -> Outcome:
    """Returns the condition of a node of a rule's condition."""
    match node:
        case ConditionAND(args):
            return join_all([_convert_node(child, meant, notes) for child in args])
        case ConditionOR(args):
            return join_any([_convert_node(child, meant, notes) for child in args])
        case ConditionNOT(args):
            return negate(_convert_node(args[0], meant, notes))
        case ConditionFieldEqualsValueExpression(name, value):
            return match_field(meant, name, value, notes.missing, notes.remarks)
        case ConditionValueExpression(value):
            return match_keyword(meant, value)
    raise RuleError("condition: a part of it is empty")
