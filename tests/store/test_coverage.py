"""Fields that are indexed when there are events already: what their index covers, and what is not said beyond it."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ingest_support import START, counts, load, own
from ingest_support import source as make_source

from watchfloor.api.cli.main import main
from watchfloor.ingest.files.file_scan import WHOLE, items_of, scan_file
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.ingest.worker.compact import compact_source
from watchfloor.ingest.worker.item_reader import ReadTask, read_item
from watchfloor.ingest.worker.retry import retry
from watchfloor.query.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.coverage import (
    complete_indexes,
    cover_all,
    cover_from,
    has_partial_index,
    has_started_index,
    lacks_index,
    start_indexes,
)
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import DefinitionError, StoreError, UserError
from watchfloor.schema.field import VALUE_INDEX, Field, Index, IndexKind
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import END_OF_TIME
from watchfloor.store import store as store_module
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.bulk.bulk import BulkSink
from watchfloor.store.encoding.keys import DAY, HOUR, index_table
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layouts.item_writer import ItemWriter
from watchfloor.store.newest_event import newest_event
from watchfloor.store.store import Store

SECOND = 1_000_000
COLOUR: dict[str, object] = {"name": "colour", "type": "string"}
TAGS: dict[str, object] = {"name": "tags", "type": "list", "items": "string"}
INDEXED = ({**COLOUR, "indexed": True, "reversed": True}, {**TAGS, "indexed": True})
COLOURS = ("red", "dark red", "blue", "é")
Event = dict[str, Any]


def definition(*fields: dict[str, object]) -> Source:
    shared = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}}
    return parse_definition({"name": "a.b", "fields": [{"name": "ts", "type": "time"}, *fields], **shared})


def covered_from(kind: Source, field: str, index: IndexKind = IndexKind.VALUES) -> int:
    found = kind.find_field(field).find_index(index)
    assert found is not None
    return found.covers_from


def test_what_a_field_covers() -> None:
    plain, indexed = definition(COLOUR).find_field("colour"), definition(INDEXED[0]).find_field("colour")
    assert not plain.is_covered(END_OF_TIME) and indexed.is_covered(None) and indexed.is_covered(0)
    later = replace(indexed, indexes=(Index(IndexKind.VALUES, 100), Index(IndexKind.REVERSED, 200)))
    assert [later.is_covered(since) for since in (None, 0, 99, 100, 101)] == [False, False, False, True, True]
    assert [later.is_covered(t, IndexKind.REVERSED) for t in (None, 100, 199, 200)] == [False, False, False, True]
    assert not replace(indexed, indexes=(VALUE_INDEX,)).is_covered(0, IndexKind.REVERSED)


def test_a_source_is_restricted_to_what_its_indexes_cover() -> None:
    kind = definition(
        {**COLOUR, "indexed": True, "indexed_from": "1970-01-01T00:00:01Z", "reversed": True},
        {"name": "shape", "type": "string", "indexed": True, "reversed": True, "reversed_from": "1970-01-01T00:00:02Z"},
        {**TAGS, "indexed": True},
    )
    for since, indexed, reversed_ in (
        (None, ["shape", "tags"], []),
        (SECOND, ["colour", "shape", "tags"], ["colour"]),
        (2 * SECOND, ["colour", "shape", "tags"], ["colour", "shape"]),
    ):
        usable = kind.restrict_indexes(since)
        assert [f.name for f in usable.indexed_fields] == indexed
        assert [f.name for f in usable.fields if f.is_reversed] == reversed_
        assert parse_definition(usable.to_json()) == usable, "its definition says the same"
    assert kind.restrict_indexes(2 * SECOND) is kind


def test_an_index_begins_and_is_given_a_start() -> None:
    stored, wanted = definition(COLOUR, TAGS), definition(*INDEXED)
    begun = start_indexes(stored, wanted.fields)
    field = begun.find_field("colour")
    assert field.indexes == (Index(IndexKind.VALUES, END_OF_TIME), Index(IndexKind.REVERSED, END_OF_TIME))
    assert has_started_index(begun) and not has_started_index(stored) and not has_started_index(wanted)
    started = cover_from(begun, 1_700_000_000_000_001)
    field = started.find_field("colour")
    assert [index.covers_from for index in field.indexes] == [1_700_000_000_000_001] * 2
    assert not has_started_index(started)
    assert started.definition["fields"][1]["indexed_from"] == "2023-11-14T22:13:20.000001Z"
    assert parse_definition(started.to_json()) == started
    assert start_indexes(started, wanted.fields) == started == start_indexes(started, stored.fields), "no index ends"
    assert cover_all(started) == wanted

    first = cover_from(start_indexes(stored, [replace(wanted.find_field("colour"), indexes=(VALUE_INDEX,))]), 5)
    second = cover_from(start_indexes(first, wanted.fields), 9).find_field("colour")
    assert [index.covers_from for index in second.indexes] == [5, 9], "each index has a start of its own"
    other = Field(
        "colour", definition({"name": "colour", "type": "int"}).find_field("colour").type, indexes=(VALUE_INDEX,)
    )
    assert start_indexes(stored, [other, Field("new", other.type, indexes=(VALUE_INDEX,))]) == stored


def test_an_index_is_completed() -> None:
    stored, wanted = definition(COLOUR, TAGS), definition(*INDEXED)
    then = cover_from(start_indexes(stored, [wanted.find_field("colour")]), 5)
    now = cover_from(start_indexes(then, [wanted.find_field("tags")]), 9)
    assert has_partial_index(then) and has_partial_index(now)
    assert not has_partial_index(wanted) and not has_partial_index(stored)
    done = complete_indexes(now, then)
    assert [covered_from(done, name) for name in ("colour", "tags")] == [0, 9], "what began since is not complete"
    assert complete_indexes(done, now) == wanted


def test_which_index_is_lacking() -> None:
    plain, indexed = definition(COLOUR, TAGS), definition(*INDEXED)
    forward = definition({**COLOUR, "indexed": True}, {**TAGS, "indexed": True})
    assert lacks_index(plain, indexed) and lacks_index(plain, forward) and lacks_index(forward, indexed)
    assert not lacks_index(indexed, indexed) and not lacks_index(indexed, forward)
    assert not lacks_index(definition(COLOUR), definition(COLOUR, INDEXED[1])), "it has no values of a new field"


@pytest.mark.parametrize("time", ["soon", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", 5])
def test_a_start_that_is_no_time_is_refused(time: object) -> None:
    with pytest.raises(DefinitionError, match=r"fields\[1\]\.indexed_from"):
        definition({**COLOUR, "indexed": True, "indexed_from": time})


@pytest.fixture
def store(store_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(store_module, "GRACE_SECONDS", 2.0)
    with Store.open(store_settings) as opened:
        yield opened


def made(draw: random.Random, low: int, high: int, many: int) -> list[Event]:
    """Events at whole seconds of [low, high), in any order."""
    events: list[Event] = []
    for number in range(many):
        event: Event = {"ts": draw.randrange(low, high), "host": f"h{number % 5}", "n": number % 3}
        if draw.random() < 0.8:
            event["colour"] = draw.choice(COLOURS)
        if draw.random() < 0.5:
            event["tags"] = draw.sample(("x", "y", "z"), draw.randrange(3))
        events.append(event)
    return events


def log_of(path: Path, events: list[Event]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def indexed_hits(store: Store, kind: Source, field: str, mark: bytes = b"\x00") -> Counter[bytes]:
    """By value how many events the index says have it; read from its bytes."""
    found: Counter[bytes] = Counter()
    everything = Ranges()
    everything.add_rows(b"", None)
    for batch in store.scan(EntryScan(index_table(kind), everything)):
        for row, value in zip(batch.column("row").to_pylist(), batch.column("value").to_pylist(), strict=True):
            if row[4:].startswith(field.encode() + mark):
                hits = int.from_bytes(value, "big") if kind.layout == "block" else 1
                found[row[4 + len(field) + 1 :]] += hits
    return found


def colours_of(events: list[Event]) -> Counter[str]:
    return Counter(event["colour"] for event in events if "colour" in event)


def tags_of(events: list[Event]) -> Counter[str]:
    return Counter(tag for event in events for tag in set(event.get("tags", ())))


def assert_all_indexed(store: Store, kind: Source, events: list[Event]) -> None:
    expected = {value.encode(): count for value, count in colours_of(events).items()}
    assert indexed_hits(store, kind, "colour") == expected
    assert indexed_hits(store, kind, "colour", b"\x01") == {value[::-1]: n for value, n in expected.items()}
    assert indexed_hits(store, kind, "tags") == {tag.encode(): count for tag, count in tags_of(events).items()}


def assert_answers(store: Store, kind: Source, events: list[Event], since: int, until: int, covered: bool) -> None:
    """Queries, counts, top values and timelines of [since, until) in µs against plain Python."""
    service, name = QueryService(store), kind.name
    inside = [event for event in events if since <= event["ts"] * SECOND < until]
    for where, matching in (
        ("colour = red", [event for event in inside if event.get("colour") == "red"]),
        ('colour = "dark red" and tags = x', [
            event for event in inside if event.get("colour") == "dark red" and "x" in event.get("tags", ())
        ]),
        ("colour in (red, blue) or tags = y", [
            event for event in inside if event.get("colour") in ("red", "blue") or "y" in event.get("tags", ())
        ]),
        ("colour endswith red", [event for event in inside if event.get("colour", "").endswith("red")]),
        ("host = h1 and tags = x", [
            event for event in inside if event["host"] == "h1" and "x" in event.get("tags", ())
        ]),
    ):  # fmt: skip
        for scheme in SCHEMES:
            request = QueryRequest(name, since, until, where, ("ts", "n"), scheme=scheme)
            rows = [tuple(row.values()) for batch in service.run(request) for row in batch.to_pylist()]
            found = Counter((int(ts.timestamp()), n) for ts, n in rows)
            assert found == Counter((event["ts"], event["n"]) for event in matching), (where, scheme)
    assert service.count_events(name, since, until) == len(inside)
    asked: dict[str, Callable[[], Any]] = {
        "count": lambda: service.count_events(name, since, until, "colour", "red"),
        "top": lambda: dict(service.rank_values(name, "colour", since, until)),
        "tags": lambda: dict(service.rank_values(name, "tags", since, until)),
        "timeline": lambda: dict(service.count_over_time(name, since, until, "hour", "colour", "red")),
    }
    hours = Counter(event["ts"] * SECOND // HOUR * HOUR for event in inside if event.get("colour") == "red")
    right = {
        "count": colours_of(inside)["red"],
        "top": colours_of(inside),
        "tags": tags_of(inside),
        "timeline": hours,
    }
    for what, ask in asked.items():
        if covered:
            assert ask() == right[what], what
        else:
            with pytest.raises(UserError, match="was indexed later than there were events: its index knows events"):
                ask()


@pytest.mark.stack
def test_indexed_later(
    layout: str, store_settings: Settings, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Events, then the index, by the command line, then more events, late ones among them."""
    settings, kind = own(store_settings, "later"), store.catalog.register(make_source("later", layout, (COLOUR, TAGS)))
    day, draw = DAY // SECOND, random.Random(1)
    before = made(draw, START, START + 2 * day, 600)
    before.append({"ts": START + 3 * day, "host": "h0", "n": 0, "colour": "red"})  # by a clock that is fast
    assert load(settings, log_of(tmp_path / "a.log", before), feed=kind.name).quarantined == 0
    assert newest_event(store.seeing_all_of(kind), kind) == (START + 3 * day) * SECOND
    for field, more in (("colour", ["--reversed"]), ("tags", []), ("tags", [])):
        assert main(["--home", str(settings.home), "sources", "index", kind.name, field, *more]) == 0
        assert (
            "indexed for events since 2023-11-17T22:13:20.000001Z; older ones are filtered" in capsys.readouterr().err
        )
    known = store.catalog.read_sources()[kind.name]
    start = (START + 3 * day) * SECOND + 1
    assert [covered_from(known, name) for name in ("host", "colour", "tags")] == [0, start, start]
    assert (covered_from(known, "colour", IndexKind.REVERSED), known.find_field("tags").is_reversed) == (start, False)
    assert main(["--home", str(settings.home), "sources", "show", kind.name]) == 0
    assert '"indexed_from": "2023-11-17T22:13:20.000001Z"' in capsys.readouterr().out

    after = made(draw, START - day, START + 2 * day, 300) + made(draw, START + 3 * day + 1, START + 6 * day, 600)
    assert load(settings, log_of(tmp_path / "b.log", after), feed=kind.name).quarantined == 0
    events, end = before + after, (START + 7 * day) * SECOND

    def ask() -> None:
        for since, covered in (
            (start, True), (start + 12 * HOUR + 5, True), ((START + 4 * day) * SECOND, True),
            (start - 1, False), (START * SECOND, False), (0, False),
        ):  # fmt: skip
            assert_answers(store, kind, events, since, end, covered)
        service = QueryService(store)
        assert service.count_events(kind.name, field="host", value="h1") == sum(e["host"] == "h1" for e in events)
        with pytest.raises(UserError, match="was indexed later"):
            QueryService(store).rank_values(kind.name, "colour")

    ask()
    assert load(settings, tmp_path / "b.log", feed=kind.name, again=True).events == 900
    ask()
    if layout == "block":
        assert compact_source(store, kind.name, 0).events > 0
        ask()
    assert load(settings, tmp_path / "a.log", feed=kind.name, again=True).events == 601
    ask()
    if layout == "block":
        compact_source(store, kind.name, 0)  # deletes what that has replaced
    assert_all_indexed(store, kind, events)


@pytest.mark.stack
def test_an_index_of_endings_that_begins_later_than_the_index(
    layout: str, store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    """The field's own index covers all, that of its reversed values does not."""
    settings, draw = own(store_settings, "endings"), random.Random(6)
    kind = store.catalog.register(make_source("endings", layout, ({**COLOUR, "indexed": True},)))
    before = [{key: event[key] for key in event if key != "tags"} for event in made(draw, START, START + 86400, 200)]
    assert load(settings, log_of(tmp_path / "a.log", before), feed=kind.name).quarantined == 0
    kind = store.catalog.register(make_source("endings", layout, (INDEXED[0],)))
    assert kind.find_field("colour").is_covered(0) and not kind.find_field("colour").is_covered(0, IndexKind.REVERSED)
    expected = sum(event.get("colour", "").endswith("red") for event in before)
    for scheme in SCHEMES:
        result = QueryService(store).run(QueryRequest(kind.name, where="colour endswith red", scheme=scheme))
        assert sum(map(len, result)) == expected > 0, scheme


@pytest.mark.stack
def test_compaction_completes_an_index(
    store_settings: Settings, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks of all kinds: merged before, alone in their day, of an item that is not done at first, and late ones."""
    settings, name, draw = own(store_settings, "complete"), "complete", random.Random(5)
    kind = store.catalog.register(make_source(name, "block", (COLOUR, TAGS)))
    day = DAY // SECOND
    paths = [tmp_path / f"{number}.log" for number in range(4)]
    logs = [made(draw, START, START + 2 * day, 200) for _ in range(2)]
    logs.append(made(draw, START + 5 * day, START + 5 * day + 3600, 150))
    for path, events in zip(paths[:2], logs[:2], strict=True):
        assert load(settings, log_of(path, events), feed=kind.name).quarantined == 0
    assert compact_source(store, kind.name, 0).events > 0
    assert load(settings, log_of(paths[2], logs[2]), feed=kind.name).quarantined == 0

    kind = store.catalog.register(make_source(name, "block", INDEXED))
    logs.append(made(draw, START - day, START + day, 100))
    assert load(settings, log_of(paths[3], logs[3]), feed=kind.name).quarantined == 0
    events = [event for log in logs for event in log]
    start, end = covered_from(kind, "colour"), (START + 7 * day) * SECOND
    assert start == max(event["ts"] for event in events) * SECOND + 1
    assert_answers(store, kind, events, 0, end, covered=False)

    ledger = Ledger(store)
    row = next(row for row in ledger.rows() if row.path == str(paths[2]))
    assert row.item is not None and row.end is not None
    ledger.queued([replace(row.item, ticket="more", again=True)])
    assert compact_source(store, kind.name, 0, index=True).lacking == 1
    assert covered_from(store.catalog.read_sources()[kind.name], "colour") == start
    assert_answers(store, kind, events, 0, end, covered=False)
    ledger.ended(row.item, replace(row.end, ticket="more"))
    ledger.close()

    assert main(["--home", str(settings.home), "compact", kind.name, "--index"]) == 0
    assert "the indexes cover all events" in capsys.readouterr().err
    known = store.catalog.read_sources()[kind.name]
    colour = known.find_field("colour")
    assert colour.is_covered(None) and colour.is_covered(None, IndexKind.REVERSED)
    assert known.find_field("tags").is_covered(None) and "indexed_from" not in known.to_json()
    assert_answers(store, known, events, 0, end, covered=True)
    assert_all_indexed(store, known, events)
    assert compact_source(store, kind.name, 0, index=True).rounds == 0


@pytest.mark.stack
def test_only_blocks_are_rewritten_for_an_index(store: Store) -> None:
    kind = store.catalog.register(make_source("incomplete", "cell", (COLOUR, TAGS)))
    with pytest.raises(UserError, match="nothing can be merged"):
        compact_source(store, kind.name, 0, index=True)


@pytest.mark.stack
def test_where_no_events_are_it_covers_all(store_settings: Settings, store: Store, layout: str) -> None:
    name = make_source("covers", layout, (COLOUR, TAGS)).name
    with pytest.raises(UserError, match="unknown source"):
        store.catalog.find_source(name)
    exported = cover_from(start_indexes(make_source("covers", layout, (COLOUR, TAGS)), definition(*INDEXED).fields), 7)
    kind = store.catalog.register(exported)
    assert kind.find_field("colour").is_covered(None), "what another store has written is not so here"
    kind = store.catalog.register(make_source("covered", layout, (COLOUR, TAGS)))
    kind = store.catalog.register(make_source("covered", layout, INDEXED))
    assert kind.find_field("colour").is_covered(None) and kind.find_field("colour").is_covered(None, IndexKind.REVERSED)
    kind = store.catalog.register(make_source("covered", layout, (COLOUR, TAGS)))
    assert kind.find_field("colour").is_indexed and kind.find_field("tags").is_indexed, "no index ends"


def item_of(path: Path, kind: Source) -> WorkItem:
    (item,) = items_of(scan_file(path, WHOLE), str(path), kind.name, b"", "ticket")
    return item


@pytest.mark.stack
@pytest.mark.parametrize("mode", ["live", "bulk"])
def test_a_worker_at_work_reads_its_item_again(
    mode: str, layout: str, store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    """The index begins when the item is being written by the definition without it."""
    name, draw = f"atwork{mode}", random.Random(2)
    kind = store.catalog.register(make_source(name, layout, (COLOUR, TAGS)))
    events = made(draw, START, START + 86400, 700)
    item = item_of(log_of(tmp_path / "a.log", events), kind)
    begun: list[Source] = []

    def progress(done: int, events: int, quarantined: int) -> None:
        if not begun:
            begun.append(store.catalog.register(make_source(name, layout, INDEXED)))

    with store.sink() as sink:
        if mode == "live":
            end = read_item(ReadTask(store, sink, item, progress))
        else:
            with BulkSink(store, lambda: None) as events_to:
                end = read_item(ReadTask(store, sink, item, progress, events_to))
    assert begun and end.events == 700
    assert_all_indexed(store, kind, events)
    found = counts(store, kind)
    assert (found.events, found.total_days) == (700, 700)


@pytest.mark.stack
def test_lines_that_are_retried_meanwhile(
    layout: str, store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = own(store_settings, "retried"), store.catalog.register(make_source("retried", layout))
    events = made(random.Random(3), START, START + 86400, 300)
    lacking = [event for event in events if not {"colour", "tags"} & set(event)]
    assert load(settings, log_of(tmp_path / "a.log", events), feed=kind.name).events == len(lacking)
    kind = store.catalog.register(make_source("retried", layout, (COLOUR, TAGS)))
    finish, begun = ItemWriter.finish, []

    def finish_late(self: ItemWriter) -> tuple[int, int]:
        done = finish(self)
        if not begun:
            begun.append(store.catalog.register(make_source("retried", layout, INDEXED)))
        return done

    monkeypatch.setattr(ItemWriter, "finish", finish_late)
    assert retry(store, str(tmp_path / "a.log")).events == 300 - len(lacking)
    assert begun and not list(Quarantine(store).open_lines(str(tmp_path / "a.log")))
    assert_all_indexed(store, kind, events)
    found = counts(store, kind)
    assert (found.events, found.total_days) == (300, 300)


@pytest.mark.stack
def test_what_is_cut_off_covers_nothing_and_is_ended_later(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = (
        own(store_settings, "cutoff"),
        store.catalog.register(make_source("cutoff", layout, (COLOUR, TAGS))),
    )
    events = made(random.Random(4), START, START + 86400, 50)
    load(settings, log_of(tmp_path / "a.log", events), feed=kind.name)

    def fails(*_: object) -> int:
        raise StoreError("gone")

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="gone"):
        patch.setattr(store_module, "newest_event", fails)
        store.catalog.register(make_source("cutoff", layout, INDEXED))
    known = store.catalog.read_sources()[kind.name]
    assert known.find_field("colour").is_indexed and not known.find_field("colour").is_covered(END_OF_TIME - 1)
    with pytest.raises(UserError, match="its index knows no events yet"):
        QueryService(store).rank_values(kind.name, "colour")
    newest = max(event["ts"] for event in events) * SECOND
    assert covered_from(store.catalog.register(known), "colour") == newest + 1


@pytest.mark.stack
def test_nothing_is_lost_when_many_change_a_definition(store: Store) -> None:
    """Each adds a field and indexes another, all at once."""
    fields: tuple[dict[str, object], ...] = tuple({"name": f"old{number}", "type": "string"} for number in range(4))
    store.catalog.register(make_source("crowd", extra=fields))

    def change(number: int) -> None:
        mine = [{**field, "indexed": field["name"] == f"old{number}"} for field in fields]
        store.catalog.register(make_source("crowd", extra=(*mine, {"name": f"new{number}", "type": "int"})))

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kind = store.catalog.read_sources()[make_source("crowd").name]
    for number in range(4):
        assert f"new{number}" in kind.fields_by_name and kind.find_field(f"old{number}").is_covered(None)
