"""Runs a prepared aggregation: one slice of the time range after the other, newest first."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from watchfloor.query.preparation.read_range import aggregate_range
from watchfloor.query.preparation.stop import QueryStop
from watchfloor.schema.errors import StoreError, WatchfloorError
from watchfloor.store.layout import StatsRequest
from watchfloor.store.snapshot import Snapshot

from .counts import CountsAccess
from .finish import StatsTable, finish_groups
from .merge import GroupMerger
from .prepare import EventsAccess, PreparedStats
from .sketches import DISTINCT_ERROR, EXACT_VALUES, RANK_ERROR
from .stages import apply_stages


@dataclass(frozen=True)
class StatsPart:
    """An answer so far: that of all events of the newest ``share`` of the time range; ``make_table`` makes its rows."""

    make_table: Callable[[], StatsTable]
    share: float

    @property
    def complete(self) -> bool:
        """True if it is the whole answer."""
        return self.share >= 1

    @cached_property
    def table(self) -> StatsTable:
        """The rows, which are made when they are asked for first. Raises ``UserError`` if they cannot be made."""
        return self.make_table()

    @property
    def rows(self) -> pa.Table:
        return self.table.table


class StatsResult:
    """A running aggregation. Iterating over it yields answers, each of which replaces the one before it.

    ``summary`` describes it so far. Its ``status`` is ``running``, ``complete``, ``deadline`` (the last answer covers
    only a part of the range), ``failed`` or ``cancelled``.
    """

    def __init__(
        self,
        prepared: PreparedStats | Callable[[], PreparedStats] | None,
        snapshot: Snapshot,
        stop: QueryStop,
        started: float,
    ) -> None:
        """``prepared`` is None if the deadline passed before; a function is called when the first answer is asked for.

        ``started`` is a time of ``time.perf_counter``.
        """
        self._prepare = prepared if callable(prepared) else None
        self._prepared = None if callable(prepared) else prepared
        self._snapshot, self._stop, self._started = snapshot, stop, started
        self._status = "running"
        self._events = 0
        self._last: StatsPart | None = None
        self._first_seconds: float | None = None
        self._seconds: float | None = None

    def __iter__(self) -> Generator[StatsPart, None, None]:
        try:
            yield from self._run()
        except WatchfloorError as error:
            if not isinstance(error, StoreError) or self._stop.reason is None:
                self._end("failed")
                raise
        except GeneratorExit:
            self.close()
            raise
        finally:
            self._stop.cancel_deadline()
        self._end(self._stop.reason or "complete")

    def _run(self) -> Generator[StatsPart, None, None]:
        if self._prepare is not None:
            self._prepared = self._prepare()
        prepared = self._prepared
        if prepared is None:
            return
        if isinstance(prepared.access, CountsAccess):
            rows, self._events = prepared.access.read_rows(self._snapshot, prepared.checked)
            checked = prepared.checked
            found = StatsTable(apply_stages(rows, checked.typed.stats, checked.source), ())
            yield self._make_part(lambda: found, 1.0)
            return
        yield from self._run_slices(prepared, prepared.access)

    def _run_slices(self, prepared: PreparedStats, access: EventsAccess) -> Generator[StatsPart, None, None]:
        merger = GroupMerger(access.program, prepared.checked.query.max_groups)
        for one in access.slices:
            request = StatsRequest(one.since, one.until, None, access.program)
            with closing(aggregate_range(self._snapshot, access.source, access.plan, request)) as parts:
                for part in parts:
                    merger.add_part(part)
            if self._stop.reason is not None:
                return
            self._events = merger.events
            share = (prepared.until - one.since) / (prepared.until - prepared.since)
            yield self._make_part(partial(finish_groups, merger.copy(), prepared.checked.typed, access.source), share)
        if not access.slices:
            yield self._make_part(partial(finish_groups, merger, prepared.checked.typed, access.source), 1.0)

    def _make_part(self, make_table: Callable[[], StatsTable], share: float) -> StatsPart:
        if self._first_seconds is None:
            self._first_seconds = time.perf_counter() - self._started
        self._last = StatsPart(make_table, share)
        return self._last

    def close(self) -> None:
        """Ends the aggregation, on the servers too; does nothing if it has ended. Any thread may call it."""
        if self._status == "running":
            self._stop.end_query("cancelled")
        self._stop.cancel_deadline()
        self._end("cancelled")

    @property
    def summary(self) -> dict[str, Any]:
        """Status, rows and events of the last answer, its share of the range, seconds, and how it is computed."""
        seconds = self._seconds if self._seconds is not None else time.perf_counter() - self._started
        return {
            "status": self._status,
            "rows": 0 if self._last is None else len(self._last.rows),
            "events": self._events,
            "share": 0.0 if self._last is None else round(self._last.share, 6),
            "seconds": round(seconds, 6),
            "first_seconds": None if self._first_seconds is None else round(self._first_seconds, 6),
            "approximate": self._describe_errors(),
            **({"from": None, "plan": None, "text": ""} if self._prepared is None else self._prepared.describe()),
        }

    def _describe_errors(self) -> dict[str, str]:
        """Returns the error bound of each column that comes from sketches in some groups."""
        if self._prepared is None or self._last is None:
            return {}
        functions = {a.name: a.function for a in self._prepared.checked.typed.stats.aggregates}
        return {name: _describe_error(functions[name]) for name in self._last.table.approximate}

    def _end(self, status: str) -> None:
        if self._status == "running":
            self._status = status
            self._seconds = time.perf_counter() - self._started


def _describe_error(function: str) -> str:
    many = f"in groups of more than {EXACT_VALUES:,} distinct values"
    if function == "quantile":
        return f"{many} the rank is off by at most {RANK_ERROR:.1%} (99 of 100 cases)"
    return f"{many} off by at most {DISTINCT_ERROR:.1%} (19 of 20 cases)"
