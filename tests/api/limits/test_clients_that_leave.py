"""A client that leaves a REST service in the middle of its answer has no scan on the tablet servers two seconds later.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from served import AnyToken, serve_app
from slow_readers import ask_rest, connect_slow_reader

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.scan_sessions import list_scan_sessions
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

EVENTS, START = 40_000, datetime(2026, 1, 8, tzinfo=UTC)
SECONDS = 2.0


@pytest.fixture(scope="module")
def sources(store_settings: Settings) -> dict[str, Source]:
    """Sources of 40 MB of answers that no compression makes much smaller, by layout."""
    sources, draw = {}, random.Random(1)
    with Store.open(store_settings) as store, store.sink() as sink:
        for layout in LAYOUTS:
            definition = {
                "name": f"left{RUN}.{layout}", "parser": {"format": "json"}, "timestamp": {"field": "ts"},
                "layout": layout, "fields": [{"name": "ts", "type": "time"}, {"name": "text", "type": "string"}],
            }  # fmt: skip
            sources[layout] = source = store.catalog.register(parse_definition(definition))
            rows = [{"ts": START + timedelta(seconds=n), "text": draw.randbytes(500).hex()} for n in range(EVENTS)]
            write(sink, source, 0, batch_of(source, rows), block_rows=2000)
        sink.flush()
    return sources


@pytest.fixture(scope="module")
def port(store_settings: Settings) -> Iterator[int]:
    services, limits = StoreServices(store_settings), RestLimits(stalled_seconds=60)
    with serve_app(create_app(services, AnyToken(), limits), limits) as port:
        yield port
    services.close()


def test_a_client_that_left_has_no_scan(
    store_settings: Settings, sources: dict[str, Source], port: int, layout: str
) -> None:
    source = sources[layout]
    with Store.open(store_settings) as store:
        table = [event_table(source)]
        reading = ask_rest(port, "analyst", {"source": source.name, "scheme": "scan"})
        stalled = connect_slow_reader(port, "analyst", {"source": source.name, "scheme": "scan"})
        reading.readline()
        stalled.recv(100)
        reading.close()
        stalled.close()
        time.sleep(SECONDS)
        assert [scan for scan in list_scan_sessions(store.connection, table) if not scan.is_closed] == []


def test_a_client_that_stays_has_one(store_settings: Settings, sources: dict[str, Source], port: int) -> None:
    """The test above would find a scan that was left open. Blocks are so small that all of them are read ahead."""
    source = sources["cell"]
    body = {"source": source.name, "scheme": "scan"}
    with Store.open(store_settings) as store, connect_slow_reader(port, "analyst", body) as reader:
        reader.recv(100)
        time.sleep(0.5)
        assert [scan for scan in list_scan_sessions(store.connection, [event_table(source)]) if not scan.is_closed]
