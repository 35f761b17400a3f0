"""A fake query service for tests of the REST service and the command line; the real one is tested on the stack."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from flask import Flask
from werkzeug.routing import Rule

from watchfloor.api.records.ingest_records import describe_item, describe_line
from watchfloor.api.rest.base.problems import KINDS, problem_type
from watchfloor.api.tokens.token import Role, Token, hash_token
from watchfloor.ingest.maintenance.retry import RetryResult
from watchfloor.ingest.records.ledger import STATES, LedgerRow
from watchfloor.ingest.records.quarantine import QuarantinedLine
from watchfloor.query.completion import CompletionRequest, FoundValues
from watchfloor.query.finding.one_event import EventInTime
from watchfloor.query.finding.sightings import NotLookedUp, Sighting, Sightings
from watchfloor.query.many.selection import choose_sources
from watchfloor.query.named_lists import ListEntry
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.stats.finish import StatsTable
from watchfloor.query.stats.request import StatsQuery
from watchfloor.query.stats.run import StatsPart
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import (
    UnknownEventError,
    UnknownLineError,
    UnknownListError,
    UnknownSearchError,
    UnknownSourceError,
    UserError,
)
from watchfloor.schema.filter.type_check import read_filter
from watchfloor.schema.lists.list_file import ListValues
from watchfloor.schema.source import Source
from watchfloor.schema.stats.type_check import read_stats
from watchfloor.schema.visibility.grant import Grant
from watchfloor.store.saved.searches import SavedSearch
from watchfloor.store.value_lists import StoredList

TOKEN = "a-token-for-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
OPERATOR = {"Authorization": f"Bearer {TOKEN}-operator"}
QUERY = "/api/v1/query"
GOOD = {"source": "web.access"}


def good_body(path: str) -> dict[str, Any]:
    """Returns a body with which a route of this path answers."""
    if "/lists" in path:
        return {"text": "192.0.2.1"}
    if path.endswith("/session"):
        return {"token": TOKEN}
    if "/searches" in path:
        return {"where": "status = 404"}
    if "/quarantine" in path or path.endswith("/finalize"):
        return {}
    return GOOD | ({"stats": "count() by status"} if "/stats" in path else {})


SOURCE = parse_definition(
    {
        "name": "web.access",
        "title": "Web accesses",
        "parser": {"format": "access_log"},
        "timestamp": {"field": "ts", "format": "iso8601"},
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "client", "type": "ip", "indexed": True},
            {"name": "path", "type": "string"},
            {"name": "status", "type": "int", "indexed": True},
            {"name": "tags", "type": "list", "items": "string"},
        ],
    }
)
# Named as the source is, so that one name answers on every path with a variable.
LIST = StoredList("web.access", 1_767_870_000_000_000, "ip", "ip", 2, 0, "", None, "00", 1, 1)
LINE = QuarantinedLine(b"i" * 8, 42, "/a.log", b"f" * 16, "web.access", "it is not JSON", b"not json")
NEWEST = datetime(2026, 1, 8, 12, tzinfo=UTC)


def events(first: int, count: int) -> pa.RecordBatch:
    """Returns ``count`` events of an endless log from number ``first`` on, newest first."""
    rows = [
        {
            "ts": NEWEST - timedelta(seconds=n),
            "client": f"192.0.2.{n % 250}",
            "path": f"/{n}",
            "status": 200 if n % 3 else None,
            "tags": ["a", None] if n % 2 else None,
        }
        for n in range(first, first + count)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SOURCE.arrow_schema)


def _add_ids(batch: Any) -> Any:
    """Returns events with IDs that name their paths; what is no batch stays as it is."""
    if not isinstance(batch, pa.RecordBatch):
        return batch
    return batch.append_column("_id", pa.array([f"id-{path.as_py()[1:]}" for path in batch.column("path")]))


class FakePlan:
    def text(self) -> str:
        return "scheme    batched-scan\naccess    scan of 5 events"

    def to_json(self) -> dict[str, Any]:
        return {"scheme": "batched-scan", "text": self.text()}


class FakeExplanation:
    def to_text(self) -> str:
        return FakePlan().text()

    def to_json(self) -> dict[str, Any]:
        return {"plan": FakePlan().to_json(), "batching": {"policy": "none", "first": None}, "text": self.to_text()}


class FakeResult:
    """Gives ``batches``. It raises those that are exceptions, and waits for those that are events, until ``close``."""

    def __init__(self, batches: list[Any]) -> None:
        self.plan, self.schema, self._batches, self.more = FakePlan(), SOURCE.arrow_schema, batches, dict[str, Any]()
        self.rows, self.status, self.closed = 0, "running", threading.Event()
        self.batch_runs = ()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            if isinstance(batch, Exception):
                self.status = "failed"
                raise batch
            if isinstance(batch, threading.Event):
                while not batch.wait(0.01) and not self.closed.is_set():
                    pass
                continue
            self.rows += batch.num_rows
            yield batch
        self.status = "complete" if self.status == "running" else self.status

    @property
    def summary(self) -> dict[str, Any]:
        return {
            "status": self.status, "rows": self.rows, "batches": 1, "plan": self.plan.to_json(), "seconds": 0.012,
            "first_seconds": 0.004, "polls": 1, **self.more,
        }  # fmt: skip

    def close(self) -> None:
        self.closed.set()
        self.status = "cancelled" if self.status == "running" else self.status


class FakeStats(FakeResult):
    """An aggregation that answers with one row of nulls and zeros, first for a part of the range."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__([])
        self.more = {"events": 5, "share": 1.0, "approximate": {}, "text": "from      counts"}
        known = [pa.types.is_integer(kind) or pa.types.is_timestamp(kind) for kind in schema.types]
        arrays = [pa.array([0 if k else None], pa.int64()) for k in known]
        columns = [
            array.cast(kind) if is_known else pa.nulls(1, kind)
            for array, kind, is_known in zip(arrays, schema.types, known, strict=True)
        ]
        self.row = pa.Table.from_arrays(columns, schema=schema)

    def __iter__(self) -> Iterator[Any]:
        for share in (0.25, 1.0):
            yield StatsPart(lambda: StatsTable(self.row, ()), share)
        self.status = "complete"


@dataclass
class FakeService:
    batches: list[Any] = field(default_factory=lambda: [events(0, 2), events(2, 3)])
    asked: list[QueryRequest] = field(default_factory=list)
    watched: list[QueryRequest] = field(default_factory=list)
    results: list[FakeResult] = field(default_factory=list)
    error: Exception | None = None
    find_retention = staticmethod(lambda _: (90 * 86_400_000_000, 1_767_870_000_000_000))

    def run(self, request: QueryRequest) -> FakeResult:
        self._check(request.source)
        read_filter(request.where, SOURCE)
        for name in request.columns or ():
            SOURCE.find_field(name)
        assert request.scheme in SCHEMES
        self.asked.append(request)
        self.results.append(FakeResult([_add_ids(one) for one in self.batches] if request.ids else self.batches))
        return self.results[-1]

    def watch(self, request: QueryRequest) -> FakeResult:
        self.watched.append(request)
        return self.run(request)

    def explain(self, request: QueryRequest) -> FakeExplanation:
        self.run(request)
        return FakeExplanation()

    def run_stats(self, query: StatsQuery) -> FakeStats:
        self._check(query.source)
        read_filter(query.where, SOURCE)
        typed = read_stats(query.stats, SOURCE)
        self.results.append(FakeStats(typed.schema))
        return self.results[-1]

    def explain_stats(self, query: StatsQuery) -> dict[str, Any]:
        self.run_stats(query)
        return {"from": "counts", "plan": None, "text": "from      counts"}

    def aggregate(self, query: StatsQuery) -> pa.Table:
        return next(iter(self.run_stats(query))).rows

    def count_events(self, source: str, since: Any, until: Any, field: Any = None, value: Any = None) -> int:
        self._check(source)
        return 5 if field is None else 2

    def rank_values(
        self, source: str, field: str, since: Any, until: Any, limit: int, ascending: bool
    ) -> list[tuple[Any, int]]:
        self._check(source)
        if not SOURCE.find_field(field).is_indexed:
            raise UserError(f"{field} is not indexed")
        return [("192.0.2.1", 3), ("192.0.2.2", 2)][:limit]

    def count_over_time(
        self, source: str, since: Any, until: Any, bucket: str, field: Any = None, value: Any = None
    ) -> list[tuple[int, int]]:
        self._check(source)
        return [(1_767_870_000_000_000, 1), (1_767_873_600_000_000, 4)]

    def find_sightings(self, value: str, kind: Any, since: Any, until: Any, sources: str) -> Sightings:
        self._check(SOURCE.name)
        choose_sources(sources, [SOURCE.name])
        missed = NotLookedUp(SOURCE.name, "address", "it has no index")
        hours = ((1_767_870_000_000_000, 1), (1_767_873_600_000_000, 4))
        return Sightings(("ip",), (Sighting(SOURCE.name, "client", "ip", hours),), (missed,))

    def find_event(self, event_id: str, newer: int, older: int) -> EventInTime:
        if self.error is not None:
            raise self.error
        if event_id != SOURCE.name:
            raise UnknownEventError
        around = pa.Table.from_batches([events(0, 7)]).append_column("_id", pa.array([f"id-{n}" for n in range(7)]))
        return EventInTime(SOURCE, around.slice(3, 1), around.slice(3 - newer, newer), around.slice(4, older))

    def complete_value(self, request: CompletionRequest) -> FoundValues:
        self._check(request.source)
        SOURCE.find_field(request.field)
        return FoundValues((("192.0.2.1", 3), ("192.0.2.2", 2)), True)

    def outline_lists(self) -> list[StoredList]:
        if self.error is not None:
            raise self.error
        return [LIST]

    def read_list(self, name: str, limit: int | None = None) -> tuple[StoredList, list[ListEntry]]:
        if self.error is not None:
            raise self.error
        if name != LIST.name:
            raise UnknownListError(name, [LIST.name])
        return LIST, [ListEntry("192.0.2.1", "a host"), ListEntry("192.0.2.2", "")][:limit]

    def _check(self, source: str) -> None:
        if self.error is not None:
            raise self.error
        if source != SOURCE.name:
            raise UnknownSourceError(source, [SOURCE.name])


class FakeRecords:
    """The records of ingest: one item that is done, and one line in quarantine, named as the source is."""

    def __init__(self, error: Exception | None) -> None:
        if error is not None:
            raise error

    def summarize(self) -> dict[str, Any]:
        totals = {"items": 1, "bytes": 100, "events": 5, "quarantined": 1}
        rate = {"seconds": 60, "items": 1, "bytes_per_second": 1.5, "events_per_second": 0.25}
        lag = {"items": 1, "bytes": 100, "waiting_since": "2026-01-08T12:00:00.000000Z"}
        return {"states": dict.fromkeys(STATES, totals), "lag": lag, "rates": [rate]}

    def list_items(self, states: Sequence[str], limit: int) -> list[dict[str, Any]]:
        return [describe_item(LedgerRow("refused", "/a.log", 1_767_870_000.0, "a worker", reason="no log"))]

    def list_lines(self, file: str | None, limit: int) -> tuple[list[dict[str, Any]], bool]:
        return [describe_line(LINE)], False

    def read_line(self, key: str) -> dict[str, Any]:
        if key != SOURCE.name:
            raise UnknownLineError(f"no quarantined line {key}")
        return {**describe_line(LINE), "state": "open", "whole": True, "text": "not json", "raw": "bm90IGpzb24="}


class FakeServices:
    """Gives one service for all authorizations, and keeps those that it was asked for."""

    def __init__(self, service: FakeService) -> None:
        self.service, self.authorizations = service, []  # type: ignore[var-annotated]
        self.memory_is_short = False

    def open_service(self, grant: Grant) -> Any:
        self.authorizations.append(grant.labels)
        return self.service

    def put_list(self, grant: Grant, name: str, values: ListValues, label: Any, expires: Any) -> StoredList:
        if self.service.error is not None:
            raise self.service.error
        return replace(LIST, name=name, values=len(values.values), expires=expires, label=label or "")

    def remove_list(self, grant: Grant, name: str) -> None:
        self.service.read_list(name)

    def read_searches(self, owner: str) -> list[SavedSearch]:
        return [self.find_search(owner, SOURCE.name)]

    def find_search(self, owner: str, name: str) -> SavedSearch:
        FakeRecords(self.service.error)
        if name != SOURCE.name:
            raise UnknownSearchError
        return SavedSearch(name, {"where": "status = 404"}, 1_767_870_000_000_000)

    def put_search(self, owner: str, name: str, search: Mapping[str, Any]) -> SavedSearch:
        FakeRecords(self.service.error)
        return SavedSearch(name, search, 1_767_870_000_000_000)

    def remove_search(self, owner: str, name: str) -> None:
        self.find_search(owner, name)

    def open_records(self, grant: Grant) -> Any:
        return FakeRecords(self.service.error)

    def retry_lines(self, grant: Grant, file: str | None, line: str | None) -> RetryResult:
        FakeRecords(self.service.error)
        return RetryResult(2, 1, {"it is not JSON": 1})

    def is_memory_short(self) -> bool:
        return self.memory_is_short

    def read_sources(self, grant: Grant) -> Mapping[str, Source]:
        if self.service.error is not None:
            raise self.service.error
        return {SOURCE.name: SOURCE}


class FakeTokens:
    """Knows ``TOKEN`` and ``TOKEN-bounded``, an operator's, with one label, and ``TOKEN-operator`` and ``-admin``."""

    def __init__(self) -> None:
        self.revoked = False
        self.damage: str | None = None

    def find_token(self, text: str) -> Token | None:
        kinds: dict[str, Role] = {"": "analyst", "-operator": "operator", "-bounded": "operator", "-admin": "admin"}
        role = None if self.revoked else {f"{TOKEN}{kind}": role for kind, role in kinds.items()}.get(text)
        labels = ("tlp_amber",) if text in (TOKEN, f"{TOKEN}-bounded") else None
        return None if role is None else Token("tests", hash_token(text), role, labels, 0)

    def is_in_force(self, token: Token) -> bool:
        return not self.revoked


def read_lines(text: bytes) -> list[dict[str, Any]]:
    """Returns the objects of JSON lines."""
    return [json.loads(line) for line in text.splitlines()]


def check_problem(response: Any, kind: str) -> dict[str, Any]:
    """Checks that an answer is a problem of this kind, in the one shape of errors, and returns it."""
    problem: dict[str, Any] = json.loads(response.data)
    assert response.content_type == "application/problem+json"
    assert problem["type"] == problem_type(kind)
    assert (problem["status"], problem["title"]) == KINDS[kind]
    assert response.status_code == problem["status"]
    assert isinstance(problem["detail"], str) and problem["detail"]
    return problem


def list_rules(app: Flask) -> list[Rule]:
    """Returns the rules of the API, without those of the web page's files."""
    return [rule for rule in app.url_map.iter_rules() if not rule.endpoint.startswith("page")]


def list_routes(app: Flask) -> list[tuple[str, str]]:
    """Returns the method and path of every route of the API, with a value in place of a variable."""
    return [
        (method, re.sub("<.*?>", "nothing", rule.rule))
        for rule in list_rules(app)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]
