"""Runs rules over the events of their sources: the events that match, each with the rules that it matches.

One query reads the fields that the rules of a source need, and every rule is evaluated on each of its batches. The
events that match are then read whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.texts.event_ids import ID_COLUMN
from watchfloor.query.texts.json_objects import encode_objects
from watchfloor.schema.field import ARROW_TYPES, FieldType
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.sigma.correlations.model import Correlation
from watchfloor.schema.filter.sigma.rule_file import RuleInfo
from watchfloor.schema.filter.tree import Filter

from .correlations.correlate import CorrelationMatch, find_correlation_matches
from .correlations.kept_matches import KeptMatches
from .evaluate import RuleEvaluator
from .packing import PackedRule, RulePack

MAX_ROWS = 8_192
"""The number of events on which rules are evaluated at once."""
MAX_MOMENTS = 20
"""The number of times of matching events that are read one by one; for more, the range that they span is read."""
MATCHES = pa.schema(
    [
        ("time", ARROW_TYPES[FieldType.TIME]),
        ("rule", pa.string()),
        ("level", pa.string()),
        ("id", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("source", pa.string()),
        ("event_id", pa.string()),
        ("event", pa.json_(pa.string())),
    ]
)
"""The columns of matches: the event's time, the rule, and the event as an object."""


@dataclass
class RuleCount:
    """The matches of a rule so far, and the times of the oldest and the newest (µs)."""

    info: RuleInfo
    matches: int = 0
    sources: dict[str, int] = field(default_factory=dict)
    oldest: int | None = None
    newest: int | None = None


@dataclass(frozen=True)
class HuntCost:
    """The expected cost of a hunt: queries, events in the time range, and seconds on the servers."""

    queries: int
    events: int
    seconds: float


class Hunt:
    """A run of rules over [since, until) (µs; None leaves an end open).

    ``limit`` is the largest number of matches of a rule that are told; all are counted. Iterating yields batches of
    ``MATCHES``, each of one rule and source, and at the end those of correlations. ``done`` is the number of packs that
    are through, ``events`` the number of events that were read.
    """

    def __init__(
        self,
        service: QueryService,
        packs: Sequence[RulePack],
        since: int | None = None,
        until: int | None = None,
        limit: int | None = None,
        correlations: Sequence[Correlation] = (),
    ) -> None:
        self.packs, self.done, self.events = packs, 0, 0
        told = [rule.info for pack in packs for rule in pack.rules if rule.told]
        self.counts = {info.place: RuleCount(info) for info in (*told, *(one.info for one in correlations))}
        self.seconds = 0.0
        self._correlations, self._kept = correlations, KeptMatches()
        self._service, self._since, self._until, self._limit = service, since, until, limit

    def estimate_cost(self) -> HuntCost:
        """Returns what the planner expects of the queries; nothing is read but counts."""
        events: dict[str, int] = {}
        seconds = 0.0
        for pack in self.packs:
            plan = self._service.explain(self._make_request(pack)).to_json()["plan"]
            if plan is not None:
                events[pack.source.name] = plan["events"]
                seconds += plan["expected"]["end_seconds"]
        return HuntCost(len(self.packs), sum(events.values()), seconds)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        for pack in self.packs:
            result = self._service.run(self._make_request(pack))
            try:
                for batch in result:
                    self.events += len(batch)
                    for start in range(0, len(batch), MAX_ROWS):
                        yield from self._tell_matches(pack, batch.slice(start, MAX_ROWS))
                    self.seconds = time.perf_counter() - started
            finally:
                result.close()
            self.done += 1
        sources = {pack.source.name: pack.source for pack in self.packs}
        for correlation in self._correlations:
            found = self._count_correlation(correlation, [*find_correlation_matches(correlation, self._kept, sources)])
            if found:
                yield _make_correlation_matches(correlation.info, found)
        self.seconds = time.perf_counter() - started

    def _make_request(self, pack: RulePack) -> QueryRequest:
        where = None if pack.tree is None else to_json(pack.tree)
        return QueryRequest(pack.source.name, self._since, self._until, where=where, columns=pack.columns, ids=True)

    def _tell_matches(self, pack: RulePack, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yields the matches of each rule in one batch of events."""
        types = {field.name: field.scalar for field in pack.source.fields}
        by_start: dict[Filter | None, list[PackedRule]] = {}
        for rule in pack.rules:
            by_start.setdefault(rule.start, []).append(rule)
        whole = pa.Table.from_batches([batch])
        everywhere = RuleEvaluator(whole, types)
        told: list[tuple[PackedRule, npt.NDArray[np.int64]]] = []
        for start, rules in by_start.items():
            rows = everywhere.find_rows(start).nonzero()[0]
            if not len(rows):
                continue
            evaluator = everywhere if start is None else RuleEvaluator(whole.take(rows).combine_chunks(), types)
            for rule in rules:
                found = rows[evaluator.find_rows(rule.rest)]
                if rule.kept is not None and len(found):
                    self._kept.add(rule.info.place, pack.source, sorted(rule.kept), batch.take(pa.array(found)))
                if rule.told and len(shown := self._count_matches(pack, rule, batch, found)):
                    told.append((rule, shown))
        if told:
            events = self._read_whole(pack, batch, np.unique(np.concatenate([rows for _, rows in told])))
            for rule, rows in told:
                ids = batch.column(ID_COLUMN).take(pa.array(rows)).to_pylist()
                found_events = [events[one] for one in ids if one in events]
                if found_events:
                    yield _make_matches(pack, rule, pa.concat_batches(found_events))

    def _read_whole(
        self, pack: RulePack, batch: pa.RecordBatch, rows: npt.NDArray[np.int64]
    ) -> dict[str, pa.RecordBatch]:
        """Returns all fields of some events of a batch, by their IDs; each is a batch of one row."""
        chosen = batch.take(pa.array(rows))
        wanted = set(chosen.column(ID_COLUMN).to_pylist())
        times = chosen.column(pack.source.time_field).cast(pa.int64())
        moments = sorted(set(times.to_pylist()))
        where = None if pack.tree is None else to_json(pack.tree)
        ranges = [(moments[0], moments[-1])] if len(moments) > MAX_MOMENTS else [(one, one) for one in moments]
        found: dict[str, pa.RecordBatch] = {}
        for first, last in ranges:
            request = QueryRequest(pack.source.name, first, last + 1, where=where, ids=True)
            for events in self._service.run(request):
                ids = events.column(ID_COLUMN).to_pylist()
                found |= {one: events.slice(row, 1) for row, one in enumerate(ids) if one in wanted}
        return found

    def _count_matches(
        self, pack: RulePack, rule: PackedRule, batch: pa.RecordBatch, rows: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Counts the rows that a rule matches, and returns those that are to be told."""
        if not len(rows):
            return rows
        count, name = self.counts[rule.info.place], pack.source.name
        room = len(rows) if self._limit is None else max(0, self._limit - count.matches)
        bounds = pc.min_max(batch.column(pack.source.time_field).take(pa.array(rows)).cast(pa.int64())).as_py()
        count.matches += len(rows)
        count.sources[name] = count.sources.get(name, 0) + len(rows)
        count.oldest = bounds["min"] if count.oldest is None else min(count.oldest, bounds["min"])
        count.newest = bounds["max"] if count.newest is None else max(count.newest, bounds["max"])
        return rows[:room]

    def _count_correlation(self, correlation: Correlation, found: list[CorrelationMatch]) -> list[CorrelationMatch]:
        """Counts the matches of a correlation, and returns those that are to be told, newest first."""
        if not found:
            return found
        found.sort(key=lambda match: (-match.time, match.id))
        count = self.counts[correlation.info.place]
        count.matches += len(found)
        count.newest, count.oldest = found[0].time, found[-1].time
        for name in sorted({name for match in found for name in match.sources}):
            count.sources[name] = sum(name in match.sources for match in found)
        return found if self._limit is None else found[: self._limit]


def _make_correlation_matches(info: RuleInfo, found: Sequence[CorrelationMatch]) -> pa.RecordBatch:
    """Returns the matches of a correlation; the event is an object that describes the group and its matches."""
    many = len(found)
    columns = [
        pa.array([match.time for match in found], pa.int64()).cast(ARROW_TYPES[FieldType.TIME]),
        *_repeat_info(info, many),
        pa.array([",".join(match.sources) for match in found], pa.string()),
        pa.array([match.id for match in found], pa.string()),
        pa.ExtensionArray.from_storage(
            MATCHES.field("event").type, pa.array([match.to_json() for match in found], pa.string())
        ),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=MATCHES)


def _repeat_info(info: RuleInfo, many: int) -> list[pa.Array]:
    """Returns the columns of matches that describe their rule."""
    return [
        pa.repeat(info.title, many),
        pa.repeat(info.level, many),
        pa.repeat(info.id, many),
        pa.array([list(info.tags)] * many, pa.list_(pa.string())),
    ]


def _make_matches(pack: RulePack, rule: PackedRule, events: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the matches of a rule that some events are."""
    info, many = rule.info, len(events)
    objects = encode_objects(events.select([name for name in events.schema.names if name != ID_COLUMN]))
    columns = [
        events.column(pack.source.time_field),
        *_repeat_info(info, many),
        pa.repeat(pack.source.name, many),
        events.column(ID_COLUMN),
        pa.ExtensionArray.from_storage(MATCHES.field("event").type, objects),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=MATCHES)
