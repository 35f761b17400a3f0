"""A field that is indexed later answers as one that always was, before and after compaction.

In `make soak`: drawn events are compared with brute force before and after each step, in both layouts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from coverage_sources import (
    COLOUR,
    INDEXED,
    SECOND,
    TAGS,
    Event,
    assert_all_indexed,
    colours_of,
    covered_from,
    definition,
    log_of,
    made,
    tags_of,
)
from ingest_support import START, load, own
from ingest_support import source as make_source

from watchfloor.api.cli.main import main
from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.coverage import cover_from, start_indexes
from watchfloor.schema.errors import UserError
from watchfloor.schema.field import IndexKind
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import DAY, HOUR
from watchfloor.store.newest_event import newest_event
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]


OTHER_SCHEMES = cycle(SCHEMES[1:])
"""As many questions are asked one after the other, all of them meet each scheme."""


def assert_answers(store: Store, kind: Source, events: list[Event], since: int, until: int, covered: bool) -> None:
    """Queries, counts, top values and timelines of [since, until) in µs against plain Python.

    Each query is planned by itself, and has one of the other schemes in turn.
    """
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
        for scheme in (SCHEMES[0], next(OTHER_SCHEMES)):
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
    row = next(row for row in ledger.read_rows() if row.path == str(paths[2]))
    assert row.item is not None and row.end is not None
    ledger.write_queued([replace(row.item, ticket="more", again=True)], "")
    assert compact_source(store, kind.name, 0, index=True).lacking == 1
    assert covered_from(store.catalog.read_sources()[kind.name], "colour") == start
    assert_answers(store, kind, events, 0, end, covered=False)
    ledger.write_end(row.item, replace(row.end, ticket="more"))
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


def test_only_blocks_are_rewritten_for_an_index(store: Store) -> None:
    kind = store.catalog.register(make_source("incomplete", "cell", (COLOUR, TAGS)))
    with pytest.raises(UserError, match="nothing can be merged"):
        compact_source(store, kind.name, 0, index=True)


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
