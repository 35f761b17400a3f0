"""An event is found by its ID with its neighbours in time, as plain Python orders the events of its source.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import SCHEMES
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UnknownEventError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

MIDNIGHT = datetime(2024, 3, 1, tzinfo=UTC)
EVENTS, FILES = 300, 3


def make_source(layout: str, name: str = "near", **label: str) -> Source:
    return parse_definition(
        {
            "name": f"{name}{RUN}.{layout}",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "shards": 3,
            "layout": layout,
            "fields": [
                {"name": "ts", "type": "time", **label},
                {"name": "n", "type": "int", "indexed": True, **label},
                {"name": "tags", "type": "list", "items": "string", **label},
            ],
        }
        | ({"visibility": "secret"} if label else {})
    )


def make_events() -> list[dict[str, Any]]:
    """Some in one microsecond, some in its neighbours, some over hours, and a few days before and after."""
    moments = (
        lambda n: MIDNIGHT,
        lambda n: MIDNIGHT + timedelta(microseconds=n % 5 - 2),
        lambda n: MIDNIGHT + timedelta(minutes=n % 50 * 7 - 170),
        lambda n: MIDNIGHT + timedelta(days=n % 9 - 4),
    )
    return [{"ts": moments[n % 4](n), "n": n, "tags": [["x"], None, []][n % 3]} for n in range(EVENTS)]


@pytest.fixture(scope="module")
def service(store_settings: Settings) -> Iterator[QueryService]:
    with Store.open(store_settings) as store, store.sink() as sink:
        for layout in LAYOUTS:
            kind = store.catalog.register(make_source(layout))
            for file in range(FILES):
                write(sink, kind, file, batch_of(kind, make_events()[file::FILES]), block_rows=20)
            hidden = store.catalog.register(make_source(layout, "dim", visibility="secret|staff"))
            write(sink, hidden, 0, batch_of(hidden, make_events()[:9]))
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield QueryService(opened)


def list_rows(service: QueryService, source: str, **members: Any) -> list[dict[str, Any]]:
    result = service.run(QueryRequest(source, ids=True, **members))
    return [row for batch in result for row in batch.to_pylist()]


def test_ids_are_distinct_and_the_same_in_every_plan(service: QueryService, layout: str) -> None:
    source = f"near{RUN}.{layout}"
    rows = list_rows(service, source)
    known = {row["n"]: row["_id"] for row in rows}
    assert len({*known.values()}) == len(rows) == EVENTS
    assert all(text.endswith(f"-{source}") for text in known.values())
    for scheme in SCHEMES:
        found = list_rows(service, source, where="n < 40", scheme=scheme, columns=("n",))
        assert {row["n"]: row["_id"] for row in found} == {n: known[n] for n in range(40)}
    found = list_rows(service, source, sort="-n", limit=7, columns=("n",))
    assert [list(row.values()) for row in found] == [[n, known[n]] for n in range(EVENTS - 1, EVENTS - 8, -1)]


def test_ids_are_the_same_beside_other_sources(service: QueryService) -> None:
    names = ",".join(f"near{RUN}.{layout}" for layout in LAYOUTS)
    alone = {row["_id"] for name in names.split(",") for row in list_rows(service, name)}
    for members in ({}, {"own_columns": True}, {"columns": ("n",)}, {"sort": "n", "limit": 2 * EVENTS}):
        assert {row["_id"] for row in list_rows(service, names, **members)} == alone


def test_a_watch_shows_ids(service: QueryService) -> None:
    watch = service.watch(QueryRequest(f"near{RUN}.block", since=0, ids=True, limit=EVENTS))
    assert {row["_id"] for batch in watch for row in batch.to_pylist()} == {
        row["_id"] for row in list_rows(service, f"near{RUN}.block")
    }


@pytest.mark.parametrize("layout", LAYOUTS)
@given(
    place=st.integers(0, EVENTS - 1),
    newer=st.integers(0, 12) | st.just(1000),
    older=st.integers(0, 12) | st.just(1000),
)
@settings(suppress_health_check=list(HealthCheck))
def test_neighbours_are_those_of_the_whole_list(
    service: QueryService, layout: str, place: int, newer: int, older: int
) -> None:
    rows = list_rows(service, f"near{RUN}.{layout}")
    found = service.find_event(rows[place]["_id"], newer, older)
    assert found.source.name == f"near{RUN}.{layout}"
    assert found.event.to_pylist() == [rows[place]]
    assert found.newer.to_pylist() == rows[max(0, place - newer) : place]
    assert found.older.to_pylist() == rows[place + 1 : place + 1 + older]


def test_events_are_what_was_written(service: QueryService, layout: str) -> None:
    expected = {event["n"]: event for event in make_events()}
    for row in list_rows(service, f"near{RUN}.{layout}", where="n in (0, 1, 2, 299)"):
        (event,) = service.find_event(row["_id"], 0, 0).event.to_pylist()
        assert event == {**expected[row["n"]], "_id": row["_id"]}


def test_an_id_of_no_event_is_refused(service: QueryService, layout: str) -> None:
    key, _, source = list_rows(service, f"near{RUN}.{layout}", limit=1)[0]["_id"].partition("-")
    for text in (
        "", "x", key, f"-{source}", f"{key}-", f"{key}-zeek.no", f"{key}-dim{RUN}.{layout}", f"{key[:-1]}-{source}",
        f"{'0' * 32}-{source}", f"{'f' * 32}-{source}", f"{'7f' * 16}-{source}", f"{key.upper()}-{source}",
        f"{key[:16]}{'0' * 16}-{source}", f"{key[:-1]}{'0' if key[-1] != '0' else '1'}-{source}", f"{key}-{source}\n",
        f"{'8' + '0' * 31}-{source}", f"{key}-\x00", f"{key}-{'é' * 9}",
    ):  # fmt: skip
        with pytest.raises(UnknownEventError):
            service.find_event(text, 1, 1)


def test_labels_hide_an_event_and_its_id(store_settings: Settings, service: QueryService, layout: str) -> None:
    source = f"dim{RUN}.{layout}"
    ids = [row["_id"] for row in list_rows(service, source)]
    assert None not in ids and len(ids) == 9
    with Store.open(store_settings, role="query", authorizations=()) as store:
        for text in ids:
            with pytest.raises(UnknownEventError):
                QueryService(store).find_event(text, 1, 1)
    with Store.open(store_settings, role="query", authorizations=("staff",)) as store:
        if layout == "block":
            # The label of the source hides where events come from, and the counts.
            since = to_micros(MIDNIGHT)
            rows = list_rows(QueryService(store), source, since=since, until=since + 1, scheme="scan")
            assert rows and {row["_id"] for row in rows} == {None}
            for text in ids:
                with pytest.raises(UnknownEventError):
                    QueryService(store).find_event(text, 1, 1)


def test_a_field_of_the_name_is_refused(store_settings: Settings, service: QueryService) -> None:
    definition = {**make_source("block", "named").definition}
    definition["fields"] = [*definition["fields"], {"name": "_id", "type": "string"}]
    with Store.open(store_settings) as store:
        store.catalog.register(parse_definition(definition))
    name = f"named{RUN}.block"
    for members in ({}, {"columns": ("_id",)}):
        with pytest.raises(UserError, match="a field is named _id"):
            service.run(QueryRequest(name, ids=True, **members))
    assert list_rows(service, name, columns=("ts",)) == []
