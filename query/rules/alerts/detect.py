"""Looks for matches of rules among new events: in the minutes that changed, each looked at once more a minute later.

The second look finds events whose counts were seen before the events themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.query.rules.hunt import Hunt
from watchfloor.query.rules.packing import RulePack, pack_rules
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import UserError
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.sigma.convert import ConvertedRule
from watchfloor.schema.filter.sigma.correlations.model import Correlation
from watchfloor.schema.source import Source

from .alert import list_open_fields, list_open_groups, make_alerts
from .alert_state import AlertState, SourceLook
from .changes import Span, find_changes, read_minute_counts

SETTLE_SECONDS = 60.0
"""Seconds after which a span that has changed is looked at once more."""


@dataclass(frozen=True)
class WatchedRules:
    """Rules and correlations over the sources of a store, by name."""

    rules: Sequence[ConvertedRule]
    correlations: Sequence[Correlation]
    sources: Mapping[str, Source]

    @cached_property
    def packs(self) -> Mapping[str, RulePack]:
        """The rules that are told by themselves, by source."""
        found = {}
        for pack in pack_rules(self.rules, self.correlations):
            told = tuple(replace(rule, kept=None) for rule in pack.rules if rule.told)
            if told and pack.source.name in self.sources:
                found[pack.source.name] = RulePack(pack.source, told)
        return found

    @cached_property
    def correlated_packs(self) -> Sequence[tuple[Correlation, Sequence[RulePack]]]:
        """Each correlation with the packs of its rules, which are not told by themselves."""
        found = []
        for correlation in self.correlations:
            silent = replace(correlation, tells_members=False)
            rules = {rule.info.place: rule for rule, _ in correlation.list_rules()}
            packs = [pack for pack in pack_rules(rules.values(), [silent]) if pack.source.name in self.sources]
            found.append((silent, packs))
        return found

    @cached_property
    def watched(self) -> Sequence[str]:
        """The names of the sources that are looked at."""
        correlated = {pack.source.name for _, packs in self.correlated_packs for pack in packs}
        return sorted({*self.packs, *correlated})

    @cached_property
    def told_fields(self) -> Mapping[tuple[str, str, str], set[str]]:
        """The fields without a label that a rule names, by the rule's ID and title and the source's name."""
        found: dict[tuple[str, str, str], set[str]] = {}
        for pack in self.packs.values():
            for rule in pack.rules:
                key = (rule.info.id, rule.info.title, pack.source.name)
                found.setdefault(key, set()).update(
                    list_open_fields(pack.source, () if rule.tree is None else f.list_fields(rule.tree))
                )
        return found


class Detector:
    """Looks at the sources of rules, and records the alerts in a state."""

    def __init__(
        self,
        service: QueryService,
        state: AlertState,
        rules: WatchedRules,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``report`` gets a line for what cannot be run."""
        self._service, self._state, self._rules, self._report, self._clock = service, state, rules, report, clock

    def begin_watch(self, since: int | None) -> None:
        """Begins to watch sources: what they hold from ``since`` on is new; None stands for nothing.

        All events of a source that was not there when the watch began are new.
        """
        known = self._state.read_sources()
        if not known:
            self._state.add_sources(["", *self._rules.sources])
            known = self._state.read_sources()
        for name in self._rules.watched:
            if name not in known:
                self._state.put_counts(name, {})
            elif not known[name]:
                counts = read_minute_counts(self._service, name, None, since)
                self._state.put_counts(name, counts)
        self._state.add_sources(self._rules.sources)

    def find_alerts(self) -> int:
        """Looks at all new events, and returns the number of new alerts."""
        now = self._clock()
        looks = [look for name in self._rules.watched if (look := self._look_for_changes(name, now)) is not None]
        added = 0
        for look in looks:
            pack = self._rules.packs.get(look.source)
            if pack is None:
                continue
            for since, until in _merge_spans([*look.changed, *look.due]):
                for matches in Hunt(self._service, [pack], since, until):
                    added += self._put_matches(matches, pack.source)
        for correlation, packs in self._rules.correlated_packs:
            sources = {pack.source.name for pack in packs}
            spans = [span for look in looks if look.source in sources for span in (*look.changed, *look.due)]
            added += self._look_for_correlation(correlation, packs, spans)
        if looks:
            self._state.end_look(looks, now + SETTLE_SECONDS)
        return added

    def _look_for_changes(self, source: str, now: float) -> SourceLook | None:
        """Returns the spans of a source that are to be looked at; None if there are none."""
        changed, counts = find_changes(self._service, source, self._state.read_counts(source))
        due = self._state.read_due(source, now)
        return SourceLook(source, changed, due, counts) if changed or due or counts else None

    def _look_for_correlation(self, correlation: Correlation, packs: Sequence[RulePack], spans: Sequence[Span]) -> int:
        """Looks at the windows of a correlation that new events may have changed."""
        back, ahead = _find_reach(correlation)
        added = 0
        told = list_open_groups(correlation, self._rules.sources)
        for since, until in _merge_spans([(since, until + ahead) for since, until in spans]):
            try:
                for matches in Hunt(self._service, packs, since - back, until, correlations=[correlation]):
                    times = matches.column("time").cast(pa.int64())
                    added += self._put_alerts(matches.filter(pc.greater_equal(times, since)), told, None)
            except UserError as error:
                self._report(f"{correlation.info.title}: not run over this time: {error}")
        return added

    def _put_matches(self, matches: pa.RecordBatch, source: Source) -> int:
        first = matches.slice(0, 1).to_pylist()[0]
        return self._put_alerts(matches, self._rules.told_fields[first["id"], first["rule"], source.name], source)

    def _put_alerts(self, matches: pa.RecordBatch, told: set[str], source: Source | None) -> int:
        now = int(self._clock() * 1_000_000)
        return self._state.put_alerts(make_alerts(matches, told, source, now)) if len(matches) else 0


def _find_reach(correlation: Correlation) -> Span:
    """Returns how far a correlation looks back from the time of a match, and how far a match reaches ahead (µs)."""
    inner = [_find_reach(member.rule) for member in correlation.members if isinstance(member.rule, Correlation)]
    back, ahead = (max((reach[side] for reach in inner), default=0) for side in (0, 1))
    return 2 * correlation.span + back, correlation.span + ahead


def _merge_spans(spans: Sequence[Span]) -> list[Span]:
    """Returns spans, oldest first, with those joined that overlap or touch."""
    joined: list[Span] = []
    for since, until in sorted(spans):
        if joined and since <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], until))
        else:
            joined.append((since, until))
    return joined
