"""Scans, counts, timelines and tables agree after files are read again by a definition that takes other lines.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from ingest_support import RUN, START, counts, load, own

from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.ingest.maintenance.retry import retry_lines
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store import store as store_module
from watchfloor.store.encoding.keys import DAY, HOUR, MINUTE
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
LINES = 150
COLOUR = {"name": "colour", "type": "int", "indexed": True}
COLUMNS = ("ts", "host", "n", "text", "extra")


@pytest.fixture
def store(store_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(store_module, "GRACE_SECONDS", 0.5)
    with Store.open(store_settings) as opened:
        yield opened


def definition(name: str, layout: str, unknown: str, *more: dict[str, Any], text_indexed: bool = False) -> Source:
    """Returns a definition that rejects lines whose number or whose further fields are not of their types."""
    required = {field["name"]: {"required": True} for field in ({"name": "n"}, *more)}
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "host", "type": "string", "indexed": True},
        {"name": "n", "type": "int", "indexed": True},
        {"name": "text", "type": "string", "indexed": text_indexed},
        {"name": "extra", "type": "string", "indexed": True},
    ]
    return parse_definition(
        {
            "name": f"test{RUN}.{name}_{layout}",
            "parser": {"format": "json", "fields": required},
            "timestamp": {"field": "ts"},
            "unknown_fields": unknown,
            "fields": [*fields, *more],
            "layout": layout,
            "shards": 2,
        }
    )


def write_log(path: Path, colour_of: Callable[[int], object]) -> Path:
    """Writes lines of two days, several an hour; a line has a colour unless ``colour_of`` gives None for it."""
    texts = []
    for number in range(LINES):
        event = {"ts": START + number * 900, "host": f"h{number % 5}", "n": number % 3, "text": f"{number:05d}"}
        if colour_of(number) is not None:
            event["colour"] = colour_of(number)
        texts.append(orjson.dumps(event).decode() + "\n")
    path.write_text("".join(texts))
    return path


def expected_rows(path: Path, takes: Callable[[dict[str, Any]], bool], colour_is_field: bool) -> list[tuple[Any, ...]]:
    rows = []
    for event in map(orjson.loads, path.read_text().splitlines()):
        if takes(event):
            kept = {} if colour_is_field or "colour" not in event else {"colour": event["colour"]}
            extra = orjson.dumps(kept).decode() if kept else None
            rows.append((event["ts"] * 1_000_000, event["host"], event["n"], event["text"], extra))
    return rows


def assert_agree(store: Store, kind: Source, rows: list[tuple[Any, ...]]) -> None:
    """Asserts that every way to ask gives what ``rows`` say, and that the tables hold it."""
    service, name = QueryService(store), kind.name

    def scan(where: str | None = None, scheme: str = "auto") -> list[tuple[Any, ...]]:
        request = QueryRequest(name, where=where, columns=COLUMNS, scheme=scheme)
        found = [tuple(row.values()) for batch in service.run(request) for row in batch.to_pylist()]
        return sorted(((int(row[0].timestamp() * 1_000_000), *row[1:]) for row in found), key=repr)

    assert scan() == sorted(rows, key=repr)
    assert service.count_events(name) == len(rows)
    since, until = START * 1_000_000 // DAY * DAY, (START * 1_000_000 // DAY + 4) * DAY
    for width, size in (("minute", MINUTE), ("hour", HOUR), ("day", DAY)):
        assert dict(service.count_over_time(name, since, until, width)) == Counter(
            row[0] // size * size for row in rows
        )
    for column, field in ((1, "host"), (2, "n"), (4, "extra")):
        values = Counter(row[column] for row in rows if row[column] is not None)
        assert dict(service.rank_values(name, field, limit=99)) == values
        assert dict(service.rank_values(name, field, since, until, 99)) == values
    for host in ("h0", "h4"):
        mine = [row for row in rows if row[1] == host]
        assert service.count_events(name, since, until, "host", host) == len(mine)
        assert scan(f"host = {host}", "index") == scan(f"host = {host}", "scan") == sorted(mine, key=repr)
        hours = Counter(row[0] // HOUR * HOUR for row in mine)
        assert dict(service.count_over_time(name, since, until, "hour", "host", host)) == hours
    tables = counts(store, kind)
    assert (tables.events, tables.total_days, tables.total_hours, tables.total_minutes) == (len(rows),) * 4
    if kind.layout == "cell":
        assert (tables.hosts_days, tables.hosts_hours) == (len(rows), len(rows))


SHAPES: dict[str, tuple[Callable[[int], object], int]] = {
    "some": (lambda number: "red" if number % 3 == 0 else None, 32 << 10),
    "one_day": (lambda number: "red" if number < LINES // 2 else None, 32 << 10),
    "some_items": (lambda number: "red" if number < LINES // 2 else None, 2 << 10),
    "all": (lambda number: "red", 32 << 10),
    "moved": (lambda number: number % 4, 32 << 10),
    "mixed": (lambda number: ("red", number % 4, None)[number % 3], 4 << 10),
}


@pytest.mark.parametrize("layout", ["block", "cell"])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_fewer_events_than_before(
    store_settings: Settings, store: Store, tmp_path: Path, shape: str, layout: str
) -> None:
    colour_of, item_bytes = SHAPES[shape]
    settings = own(store_settings, f"fewer-{shape}", item_bytes=item_bytes)
    kind = store.catalog.register(definition(f"fewer_{shape}", layout, "extra"))
    log = write_log(tmp_path / "some.log", colour_of)
    other = write_log(tmp_path / "other.log", lambda number: None)
    other.write_text(other.read_text().replace('"text":"', '"text":"other'))
    assert load(settings, log, other, feed=kind.name).events == 2 * LINES
    everything = [row for path in (log, other) for row in expected_rows(path, lambda event: True, False)]
    assert_agree(store, kind, everything)

    changed = definition(f"fewer_{shape}", layout, "extra", COLOUR, text_indexed=True)
    kind = store.catalog.register(changed, is_redefined=True)
    rows = expected_rows(log, lambda event: event.get("colour", 0) != "red", True) + everything[LINES:]
    for _ in range(2):
        result = load(settings, log, feed=kind.name, again=True)
        assert (result.events, result.quarantined) == (len(rows) - LINES, 2 * LINES - len(rows))
        assert_agree(store, kind, rows)
    if layout == "block":
        compact_source(store, kind.name, 0)
        assert_agree(store, kind, rows)


@pytest.mark.parametrize("layout", ["block", "cell"])
def test_more_events_than_before(store_settings: Settings, store: Store, tmp_path: Path, layout: str) -> None:
    """A value that was seen in one hour of a day is then seen in several: its counts stand in other cells."""
    settings, kind = own(store_settings, "more"), store.catalog.register(definition("more", layout, "quarantine"))
    log = write_log(tmp_path / "some.log", lambda number: number % 4 if number % 25 else None)
    assert load(settings, log, feed=kind.name).events == LINES // 25
    assert_agree(store, kind, expected_rows(log, lambda event: "colour" not in event, True))
    kind = store.catalog.register(definition("more", layout, "quarantine", COLOUR), is_redefined=True)
    assert load(settings, log, feed=kind.name, again=True).events == LINES
    assert_agree(store, kind, expected_rows(log, lambda event: True, True))


@pytest.mark.parametrize("layout", ["block", "cell"])
def test_retried_lines_stay_and_others_go(store_settings: Settings, store: Store, tmp_path: Path, layout: str) -> None:
    settings, kind = own(store_settings, "stay"), store.catalog.register(definition("stay", layout, "extra"))
    log = write_log(tmp_path / "some.log", lambda number: "red" if number % 3 == 0 else None)
    text = log.read_text()
    log.write_text(text.replace('"host":"h1","n":', '"host":"h1","n":0.5'))
    odd = LINES // 5
    assert load(settings, log, feed=kind.name).quarantined == odd
    assert retry_lines(store, str(log)).events == 0
    kind = store.catalog.register(definition("stay", layout, "extra", COLOUR), is_redefined=True)
    assert load(settings, log, feed=kind.name, again=True).quarantined > odd
    takes = expected_rows(log, lambda event: event["host"] != "h1" and "colour" not in event, True)
    assert_agree(store, kind, takes)
    assert retry_lines(store, str(log)).events == 0
    assert_agree(store, kind, takes)
