"""Puts the rules of a source together, so that one query reads the events for all of them.

A rule often begins with a condition that an index may answer, such as the number of a Windows event. If all rules of a
source do, the query asks for these alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.sigma.convert import ConvertedRule
from watchfloor.schema.filter.sigma.correlations.model import Correlation
from watchfloor.schema.filter.sigma.logic import join_any
from watchfloor.schema.filter.sigma.rule_file import RuleInfo
from watchfloor.schema.source import Source

from .correlations.kept_matches import list_kept_fields
from .evaluate import RuleProgram


@dataclass(frozen=True)
class PackedRule:
    """A rule of a pack, with its filter and the condition at the filter's beginning; None stands for all events.

    ``kept`` are the fields that correlations read of its matches; None if there is no such correlation. ``told`` says
    whether its matches are told by themselves.
    """

    info: RuleInfo
    start: f.Filter | None
    tree: f.Filter | None
    kept: frozenset[str] | None = None
    told: bool = True


@dataclass(frozen=True)
class RulePack:
    """The rules of one source."""

    source: Source
    rules: tuple[PackedRule, ...]

    @cached_property
    def tree(self) -> f.Filter | None:
        """The filter of the query for all rules: the beginnings of the rules; None if one has none."""
        joined = join_any(True if rule.start is None else rule.start for rule in self.rules)
        return None if isinstance(joined, bool) else joined

    @cached_property
    def program(self) -> RuleProgram:
        """The rules as they are evaluated."""
        return RuleProgram((rule.tree for rule in self.rules), self.source.scalar_types)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The fields that the rules need, and the time."""
        trees = [rule.tree for rule in self.rules if rule.tree is not None]
        named = set().union(*map(f.list_fields, trees), *(rule.kept or () for rule in self.rules))
        return tuple(
            field.name for field in self.source.fields if field.name in named or field.name == self.source.time_field
        )


def pack_rules(rules: Iterable[ConvertedRule], correlations: Sequence[Correlation] = ()) -> list[RulePack]:
    """Returns the packs of all sources of some rules.

    A rule that comes again, with the same ID and filter, is left out. A rule that a correlation names is told by itself
    only if a correlation says so.
    """
    kept = list_kept_fields(correlations)
    shown = {rule.info.place for one in correlations if one.tells_members for rule, _ in one.list_rules()}
    by_source: dict[str, tuple[Source, list[PackedRule]]] = {}
    seen: set[tuple[str, str, f.Filter | None]] = set()
    for rule in rules:
        place = rule.info.place
        for one in rule.filters:
            key = (rule.info.id, one.source.name, one.tree)
            if key not in seen or place in kept:
                seen.add(key)
                fields = kept.get(place, {}).get(one.source.name)
                packed = PackedRule(
                    rule.info,
                    _find_start(one.tree),
                    one.tree,
                    kept=None if fields is None else frozenset(fields),
                    told=place not in kept or place in shown,
                )
                by_source.setdefault(one.source.name, (one.source, []))[1].append(packed)
    return [RulePack(source, tuple(found)) for _, (source, found) in sorted(by_source.items())]


def _find_start(tree: f.Filter | None) -> f.Filter | None:
    """Returns the condition at the beginning of a filter if an index may answer it, otherwise None."""
    first = tree.children[0] if isinstance(tree, f.And) else tree
    is_equality = isinstance(first, f.In) or (isinstance(first, f.Compare) and first.op == "=")
    return first if is_equality else None
