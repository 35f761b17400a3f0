"""A correlation: the rules whose matches it looks at, how these are grouped, and the condition on a window of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from watchfloor.schema.filter.sigma.convert import ConvertedRule
from watchfloor.schema.filter.sigma.rule_file import RuleInfo

Operator = Literal["<", "<=", ">", ">=", "=", "!="]


@dataclass(frozen=True)
class CountCondition:
    """A condition on a number: of events, of distinct values, or of the rules that match."""

    op: Operator
    number: float

    def describe(self) -> str:
        return f"{self.op} {self.number:g}"


@dataclass(frozen=True)
class RuleMatches:
    """The condition that the member of this number has a match in the window."""

    member: int


@dataclass(frozen=True)
class RuleLogic:
    """Conditions on which members have matches in the window, joined by one word."""

    word: Literal["and", "or", "not"]
    parts: tuple[RuleMatches | RuleLogic, ...]


@dataclass(frozen=True)
class MemberFields:
    """The fields of a source that a correlation reads of a match: one for each of its groups and of its values."""

    groups: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class CorrelatedRule:
    """A rule of a correlation. ``fields`` are by source; those of a correlation are under the empty name."""

    rule: ConvertedRule | Correlation
    fields: Mapping[str, MemberFields]
    left_out: Mapping[str, str]


@dataclass(frozen=True)
class Correlation:
    """A correlation that can be run.

    ``kind`` is ``event_count``, ``value_count``, ``temporal`` or ``temporal_ordered``. ``span`` is the length of the
    window in µs. ``tells_members``: the matches of its rules are told beside its own.
    """

    info: RuleInfo
    kind: str
    members: tuple[CorrelatedRule, ...]
    groups: tuple[str, ...]
    span: int
    condition: CountCondition | RuleLogic | RuleMatches
    values: tuple[str, ...] = ()
    tells_members: bool = False

    def list_rules(self) -> Iterator[tuple[ConvertedRule, Mapping[str, MemberFields]]]:
        """Yields the rules on whose matches it depends, those of inner correlations included, with their fields."""
        for member in self.members:
            if isinstance(member.rule, Correlation):
                yield from member.rule.list_rules()
            else:
                yield member.rule, member.fields

    def list_sources(self) -> Sequence[str]:
        """Returns the names of the sources of all its rules."""
        return sorted({name for _, fields in self.list_rules() for name in fields})
