"""Prepares an aggregation: chooses where it is computed.

Counts answer what they can. Otherwise tablet servers aggregate events: those that the index finds, or those of a scan,
as the planner chooses for the filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchfloor.planner.plan import Plan
from watchfloor.query.batches.slices import Slice, cut_slices
from watchfloor.query.preparation.prepare import choose_plan
from watchfloor.query.preparation.subquery import Subquery
from watchfloor.schema.filter.names import describe_meanings
from watchfloor.schema.source import Source
from watchfloor.schema.stats.print import to_text
from watchfloor.store.encoding.program import has_large_sets
from watchfloor.store.snapshot import Snapshot
from watchfloor.store.stats.program import StatsProgram, compile_program, list_states

from .counts import CountsAccess, find_counts
from .request import CheckedStats


@dataclass(frozen=True)
class EventsAccess:
    """An answer from events, by the tablet servers: those of ``slices``, read as ``plan`` says."""

    source: Source
    plan: Plan
    program: StatsProgram
    slices: tuple[Slice, ...]


@dataclass(frozen=True)
class PreparedStats:
    """A request and the way in which it is answered. [since, until) (µs) is the range that is read."""

    checked: CheckedStats
    access: CountsAccess | EventsAccess
    since: int
    until: int
    within: tuple[Subquery, ...] = ()
    """The queries within the filter, which have run."""

    def describe(self) -> dict[str, Any]:
        """Returns the members of a summary that say how the answer is computed."""
        lines = [*(one.to_text() for one in self.within), f"stats     {to_text(self.checked.typed.stats)}"]
        if isinstance(self.access, CountsAccess):
            lines += [f"from      counts: {self.access.because}"]
            lines += [f"{'':<9} {note}" for note in describe_meanings(self.checked.meanings)]
            return {"from": "counts", "plan": None, "text": "\n".join(lines)}
        how = "events that the index finds" if self.access.plan.uses_index else "a scan of all events of the range"
        lines += [f"from      {how}, aggregated on the tablet servers in {len(self.access.slices)} slices"]
        lines += self.access.plan.to_text().splitlines()
        origin = "index" if self.access.plan.uses_index else "scan"
        return {"from": origin, "plan": self.access.plan.to_json(), "text": "\n".join(lines)}


def prepare_stats(snapshot: Snapshot, checked: CheckedStats, within: tuple[Subquery, ...] = ()) -> PreparedStats:
    """Returns the prepared request; ``within`` are the queries within its filter.

    Raises ``StoreError`` if the store is down.
    """
    # A scheme that was asked for is for events.
    counts = find_counts(snapshot, checked) if checked.query.scheme == "auto" else None
    if counts is not None:
        return PreparedStats(checked, counts, checked.since or 0, checked.until or 0, within)
    source, survey, plan = choose_plan(snapshot, checked, scheme=checked.query.scheme)
    stats = checked.typed.stats
    states = dict.fromkeys(state for aggregate in stats.aggregates for state in list_states(aggregate, source))
    program = compile_program(stats.keys, tuple(states), source)
    slices = tuple(cut_slices(survey.since, survey.until, survey.hours, survey.events))
    if len(slices) > 2 and has_large_sets(checked.tree):  # Each slice brings the sets to the servers again.
        slices = (slices[0], Slice(survey.since, slices[0].since))
    return PreparedStats(checked, EventsAccess(source, plan, program, slices), survey.since, survey.until, within)
