"""Runs rules over the events of their sources: the events that match, each with the rules that it matches.

One query reads the fields that the rules of a source need, and every rule is evaluated on many of its events at once.
The events that match are then read whole, by their times.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
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
from watchfloor.schema.filter import tree as f
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.sigma.correlations.model import Correlation
from watchfloor.schema.filter.sigma.logic import join_all
from watchfloor.schema.filter.sigma.rule_file import RuleInfo
from watchfloor.schema.times import from_micros

from .correlations.correlate import CorrelationMatch, find_correlation_matches
from .correlations.kept_matches import KeptMatches
from .costs import estimate_rule, estimate_rules
from .evaluate import RuleEvaluator, RuleProgram
from .packing import PackedRule, RulePack

MAX_ROWS = 32_768
"""The number of events on which rules are evaluated at once."""
MAX_BYTES = 1 << 26
"""The size of the events that are joined for that."""
MAX_RANGES = 4
"""The number of times of matching events that are read one by one; more are looked for in the range that they span."""
MAX_MOMENTS = 2_000
"""The number of times of matching events that a query asks for."""
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
    """The expected cost of a hunt: queries, events in the time range, and seconds of servers and verdicts together.

    ``rules`` are the rules with the seconds that the verdicts of each are expected to take, most first.
    """

    queries: int
    events: int
    seconds: float
    rules: tuple[tuple[RuleInfo, float], ...] = ()


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
        """Returns the queries' cost by the planner, and that of the verdicts; nothing is read but counts."""
        events: dict[str, int] = {}
        alone: dict[RuleInfo, float] = {}
        seconds = 0.0
        for pack in self.packs:
            plan = self._service.explain(self._make_request(pack)).to_json()["plan"]
            if plan is None:
                continue
            events[pack.source.name] = plan["events"]
            rules, evaluated = pack.program, min(plan["events"], plan["expected"]["matches"])
            seconds += plan["expected"]["end_seconds"] + estimate_rules(rules) * evaluated
            for number, rule in enumerate(pack.rules):
                alone[rule.info] = alone.get(rule.info, 0.0) + estimate_rule(rules, number) * evaluated
        ranked = tuple(sorted(alone.items(), key=lambda item: -item[1]))
        return HuntCost(len(self.packs), sum(events.values()), seconds, ranked)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        for pack in self.packs:
            rules = pack.program
            result = self._service.run(self._make_request(pack))
            try:
                for batch in _gather_rows(result):
                    self.events += len(batch)
                    yield from self._tell_matches(pack, rules, batch)
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

    def _tell_matches(self, pack: RulePack, rules: RuleProgram, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yields the matches of each rule in one batch of events."""
        evaluator = RuleEvaluator(rules, pa.Table.from_batches([batch]))
        told: list[tuple[PackedRule, npt.NDArray[np.int64]]] = []
        for number, rule in enumerate(pack.rules):
            found = evaluator.find_matches(number)
            if rule.kept is not None and len(found):
                self._kept.add(rule.info.place, pack.source, sorted(rule.kept), batch.take(pa.array(found)))
            if rule.told and len(shown := self._count_matches(pack, rule, batch, found)):
                told.append((rule, shown))
        if not told:
            return
        chosen = np.unique(np.concatenate([rows for _, rows in told]))
        places = np.full(len(batch), -1)
        places[chosen], events = self._read_whole(pack, batch.take(pa.array(chosen)))
        for rule, rows in told:
            whole = places[rows]
            if len(whole := whole[whole >= 0]):
                yield _make_matches(pack, rule, events.take(pa.array(whole)))

    def _read_whole(self, pack: RulePack, chosen: pa.RecordBatch) -> tuple[npt.NDArray[np.int64], pa.RecordBatch]:
        """Returns some events whole and encoded, and for each its place there; -1 if it is no longer in the store."""
        name, wanted = pack.source.time_field, chosen.column(ID_COLUMN)
        moments = np.unique(chosen.column(name).cast(pa.int64()).to_numpy())
        parts = [moments[start : start + MAX_MOMENTS] for start in range(0, len(moments), MAX_MOMENTS)]
        if len(moments) <= MAX_RANGES:
            parts = [moments[place : place + 1] for place in range(len(moments))]
        found: list[pa.RecordBatch] = []
        for part in parts:
            times = True if len(part) == 1 else f.In(name, tuple(map(from_micros, part.tolist())))
            where = join_all([True if pack.tree is None else pack.tree, times])
            asked = None if isinstance(where, bool) else to_json(where)
            request = QueryRequest(pack.source.name, int(part[0]), int(part[-1]) + 1, where=asked, ids=True)
            for events in self._service.run(request):
                asked_for = events.filter(pc.is_in(events.column(ID_COLUMN), wanted))
                found.append(_encode_events(pack, asked_for))
        if not found:
            return np.full(len(chosen), -1), chosen
        whole = pa.concat_batches(found)
        places = pc.fill_null(pc.index_in(wanted, whole.column("event_id")), -1)
        return places.to_numpy(zero_copy_only=False), whole

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


def _gather_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the rows of batches in batches of at most ``MAX_ROWS``, and of ``MAX_BYTES`` if they are joined."""
    waiting: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        for piece in (batch.slice(start, MAX_ROWS) for start in range(0, len(batch), MAX_ROWS)):
            if waiting and (count + len(piece) > MAX_ROWS or size + piece.nbytes > MAX_BYTES):
                yield pa.concat_batches(waiting)
                waiting, count, size = [], 0, 0
            waiting.append(piece)
            count, size = count + len(piece), size + piece.nbytes
    if waiting:
        yield pa.concat_batches(waiting)


def _encode_events(pack: RulePack, events: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the times, IDs and objects of whole events."""
    names = [name for name in events.schema.names if name != ID_COLUMN and events[name].null_count < len(events)]
    objects = encode_objects(events.select(names))
    columns = [events.column(pack.source.time_field), events.column(ID_COLUMN), objects]
    return pa.RecordBatch.from_arrays(columns, ["time", "event_id", "event"])


def _make_matches(pack: RulePack, rule: PackedRule, events: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the matches of a rule that some encoded events are."""
    info, many = rule.info, len(events)
    columns = [
        events.column("time"),
        *_repeat_info(info, many),
        pa.repeat(pack.source.name, many),
        events.column("event_id"),
        pa.ExtensionArray.from_storage(MATCHES.field("event").type, events.column("event")),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=MATCHES)
