"""All rules of some files as filters and correlations; a correlation names others by their name or their ID."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from watchfloor.schema.errors import RuleError
from watchfloor.schema.filter.sigma.convert import ConvertedRule, convert_rule
from watchfloor.schema.filter.sigma.rule_file import (
    ParsedCorrelation,
    ParsedRule,
    RuleEntry,
    RuleInfo,
    UnreadRule,
)
from watchfloor.schema.source import Source

from .model import Correlation
from .read import FoundRule, read_correlation

MAX_DEPTH = 16


@dataclass(frozen=True)
class RuleSet:
    """The rules of some files.

    ``outcomes`` has, in the order of the files, what became of each rule: a filter, a correlation, or the reason why it
    cannot be run.
    """

    outcomes: tuple[tuple[RuleInfo, ConvertedRule | Correlation | str], ...]

    @property
    def rules(self) -> list[ConvertedRule]:
        """The rules that are filters."""
        return [found for _, found in self.outcomes if isinstance(found, ConvertedRule)]

    @property
    def correlations(self) -> list[Correlation]:
        """The correlations that can be run."""
        return [found for _, found in self.outcomes if isinstance(found, Correlation)]

    @property
    def failed(self) -> list[tuple[RuleInfo, str]]:
        """The rules that cannot be run, with the reasons."""
        return [(info, found) for info, found in self.outcomes if isinstance(found, str)]


def convert_rules(entries: Iterable[RuleEntry], known: Mapping[str, Source]) -> RuleSet:
    """Returns all rules for known sources."""
    listed = list(entries)
    conversion = _Conversion(listed, known)
    return RuleSet(tuple((entry.info, conversion.convert(entry)) for entry in listed))


@dataclass
class _Conversion:
    """The conversion of rules that may name each other. Each is converted once."""

    entries: list[RuleEntry]
    known: Mapping[str, Source]
    _found: dict[str, ConvertedRule | Correlation | str] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _named: dict[str, list[RuleEntry]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.entries:
            for name in dict.fromkeys((entry.info.name, entry.info.id)):
                if name:
                    self._named.setdefault(name, []).append(entry)

    def convert(self, entry: RuleEntry) -> ConvertedRule | Correlation | str:
        """Returns what becomes of a rule; the reason if it cannot be run."""
        place = entry.info.place
        if place not in self._found:
            self._open.append(place)
            try:
                self._found[place] = self._convert(entry)
            except RuleError as error:
                self._found[place] = str(error)
            finally:
                self._open.pop()
        return self._found[place]

    def _convert(self, entry: RuleEntry) -> ConvertedRule | Correlation:
        match entry:
            case UnreadRule(_, reason):
                raise RuleError(reason)
            case ParsedRule():
                return convert_rule(entry, self.known)
            case ParsedCorrelation():
                return read_correlation(entry, self._find_rule, self.known)

    def _find_rule(self, reference: str) -> FoundRule:
        """Returns the rule of a name or an ID. Raises ``RuleError`` if there is none, or none that can be run."""
        entries = self._named.get(reference, [])
        if not entries:
            raise RuleError(
                f"correlation: rules: no rule has the name or the ID {reference}; name the file that has it, too"
            )
        first = entries[0]
        if len(self._open) > MAX_DEPTH:
            raise RuleError(f"correlation: rules: more than {MAX_DEPTH} correlations stand in each other")
        if first.info.place in self._open:
            raise RuleError(f"correlation: rules: {reference} leads back to this correlation")
        found = self.convert(first)
        if isinstance(found, str):
            raise RuleError(f"correlation: rules: {reference} cannot be run: {found}")
        for other in entries[1:]:
            if not _is_copy(found, self._found.get(other.info.place) or self._convert_copy(other)):
                raise RuleError(
                    f"correlation: rules: {reference} is the name or the ID of two rules, in {first.info.place} and "
                    f"{other.info.place}; give one of them another name"
                )
        return FoundRule(first, found)

    def _convert_copy(self, entry: RuleEntry) -> ConvertedRule | Correlation | str:
        return "it is open" if entry.info.place in self._open else self.convert(entry)


def _is_copy(one: ConvertedRule | Correlation, other: ConvertedRule | Correlation | str) -> bool:
    """Returns whether two rules are one, in two files."""
    if isinstance(one, ConvertedRule) and isinstance(other, ConvertedRule):
        return one.info.id == other.info.id and one.filters == other.filters
    return False
