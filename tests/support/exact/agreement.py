"""Whether scans, counts, timelines, top lists, quarantine and ledger agree with what a store must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ingest_support import counts
from logs_model import COLUMNS, START, LogFile, Row, is_open

from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.field import IndexKind
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import DAY, HOUR, MINUTE
from watchfloor.store.sightings.read_sightings import FieldSightings, read_sightings
from watchfloor.store.sightings.sighted_rows import SightedRange
from watchfloor.store.store import Store

Range = tuple[int | None, int | None]
ALL: Range = (None, None)


def assert_agree(store: Store, kind: Source, files: Iterable[LogFile], part: Range, tidy: bool) -> None:
    """Asserts that every way to ask, of all times and of a ``part`` of them, gives what the files' lines say.

    ``tidy``: no compaction has left blocks that queries do not see.
    """
    rows = [line.row for file in files for line in file.lines if line.row is not None]
    _assert_scans(store, kind, rows)
    for since, until in (ALL, part):
        within = [row for row in rows if _is_within(row, since, until)]
        _assert_counts(store, kind, within, (since, until))
        _assert_sightings(store, kind, within, (since, until))
    _assert_table_of_sightings(store, kind, rows)
    if not tidy:
        return
    tables = counts(store, kind)
    totals = (tables.events, tables.total_days, tables.total_hours, tables.total_minutes)
    assert totals == (len(rows),) * 4, "tables"
    if kind.layout == "cell":
        hosts = sum(row[1] is not None for row in rows)
        assert (tables.hosts_days, tables.hosts_hours) == (hosts, hosts), "tables"


def assert_records(store: Store, files: Iterable[LogFile]) -> None:
    """Asserts that quarantine has each line that is no event, and that the ledger's figures say how many."""
    lines = list(Quarantine(store).open_lines())
    items = [row for row in Ledger(store).read_rows() if row.item is not None]
    for file in files:
        expected = [line.offset for line in file.lines if is_open(line)]
        path = str(file.path)
        assert sorted(line.offset for line in lines if line.path == path) == sorted(expected), "quarantine"
        own = [row for row in items if row.path == path]
        assert {row.state for row in own} <= {"done"}
        if not any(line.claimed and not line.retried for line in file.lines):
            figures = (sum(row.events for row in own), sum(row.quarantined for row in own))
            assert figures == (len(file.lines) - len(expected), len(expected)), "ledger"


def _assert_scans(store: Store, kind: Source, rows: list[Row]) -> None:
    assert _scan(store, kind) == sorted(rows, key=repr), "scan"
    for host in ("h0", "h2"):
        mine = sorted((row for row in rows if row[1] == host), key=repr)
        for scheme in ("index", "scan"):
            assert _scan(store, kind, f"host = {host}", scheme) == mine, scheme
    for column, value in (("colour", 2), ("size", 10), ("text", "t003")):
        if column in kind.fields_by_name:
            mine = sorted((row for row in rows if row[COLUMNS.index(column)] == value), key=repr)
            assert _scan(store, kind, f"{column} = {value}") == mine, column


def _scan(store: Store, kind: Source, where: str | None = None, scheme: str = "auto") -> list[Row]:
    columns = tuple(name for name in COLUMNS if name in kind.fields_by_name)
    found = []
    for batch in QueryService(store).run(QueryRequest(kind.name, where=where, columns=columns, scheme=scheme)):
        for event in batch.to_pylist():
            event["ts"] = int(event["ts"].timestamp()) * 1_000_000
            found.append(tuple(event.get(name) for name in COLUMNS))
    return sorted(found, key=repr)


def _assert_counts(store: Store, kind: Source, rows: list[Row], span: Range) -> None:
    service, name = QueryService(store), kind.name
    assert service.count_events(name, *span) == len(rows), "count"
    since = (START * 1_000_000 // DAY - 1) * DAY if span[0] is None else span[0]
    until = since + 6 * DAY if span[1] is None else span[1]
    for bucket, size in (("minute", MINUTE), ("hour", HOUR), ("day", DAY)):
        expected = Counter(row[0] // size * size for row in rows)
        assert dict(service.count_over_time(name, since, until, bucket)) == expected, bucket
    for field in kind.indexed_fields:
        if all(index.covers_from == 0 for index in field.indexes):
            values = Counter(v for row in rows if (v := row[COLUMNS.index(field.name)]) is not None)
            assert dict(service.rank_values(name, field.name, *span, limit=9999)) == values, field.name
    for host in ("h0", "h2"):
        mine = [row for row in rows if row[1] == host]
        assert service.count_events(name, *span, "host", host) == len(mine), host
        hours = Counter(row[0] // HOUR * HOUR for row in mine)
        assert dict(service.count_over_time(name, since, until, "hour", "host", host)) == hours, host


def _assert_sightings(store: Store, kind: Source, rows: list[Row], span: Range) -> None:
    for name, value in (("host", "h0"), ("host", "h2"), ("text", "t003"), ("colour", 2)):
        field = kind.fields_by_name.get(name)
        if field is None or not field.is_indexed:
            continue
        found = QueryService(store).find_sightings(str(value), field.kind, *span, kind.name)
        hours = Counter(row[0] // HOUR * HOUR for row in rows if row[COLUMNS.index(name)] == value)
        if not found.not_looked_up:
            assert {s.field: dict(s.hours) for s in found.found} == ({name: hours} if hours else {}), name
        else:
            assert not field.is_covered(span[0]), name


def _assert_table_of_sightings(store: Store, kind: Source, rows: list[Row]) -> None:
    """Asserts that the table of sightings has each value of each event once, and nothing else."""
    everything = SightedRange(b"", b"\xff")
    found = read_sightings(store, [everything], None, None)[everything]
    for field in kind.fields:
        if field.is_covered(None, IndexKind.SIGHTINGS):
            hours = Counter(row[0] // HOUR * HOUR for row in rows if row[COLUMNS.index(field.name)] is not None)
            assert found.get((kind.name, field.name), FieldSightings()).hours == hours, field.name


def _is_within(row: Row, since: int | None, until: int | None) -> bool:
    return (since is None or since <= row[0]) and (until is None or row[0] < until)
