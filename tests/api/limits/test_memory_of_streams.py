"""Answers that nobody reads do not fill the memory of a service: its queries are answered all the while.

In `make soak`: it loads twenty megabytes and runs `watchfloor serve` with a small heap.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ingest_support import RUN
from loaded import batch_of, write
from slow_readers import ask_rest, connect_slow_reader

from watchfloor.loadgen.harness.background import RestAddress, run_rest_service
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]

EVENTS = 240_000
SLOW_READERS = 20
START = datetime(2024, 3, 1, tzinfo=UTC)
SOURCE = parse_definition(
    {
        "name": f"memory{RUN}.events",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "shards": 4,
        "fields": [{"name": "ts", "type": "time"}, {"name": "text", "type": "string"}],
    }
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("memory") / "serve.log"


@pytest.fixture(scope="module")
def service(store_settings: Settings, log: Path) -> Iterator[RestAddress]:
    with Store.open(store_settings) as store:
        store.catalog.register(SOURCE)
        with store.sink() as sink:
            for item in range(8):
                first = item * EVENTS // 8
                # Random text, so that blocks stay as large as their events.
                rows = [
                    {"ts": START + timedelta(milliseconds=n), "text": os.urandom(50).hex()}
                    for n in range(first, first + EVENTS // 8)
                ]
                write(sink, SOURCE, item, batch_of(SOURCE, rows), block_rows=8192)
            sink.flush()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WATCHFLOOR_JVM_HEAP", "128m")
        with run_rest_service(store_settings, log) as service:
            yield service


def test_queries_are_answered_while_twenty_answers_are_not_read(service: RestAddress, log: Path) -> None:
    body = {"source": SOURCE.name}
    with ExitStack() as stack:
        for _ in range(SLOW_READERS):
            stack.enter_context(connect_slow_reader(service.port, service.token, body))
        began = time.monotonic()
        asked = 0
        while time.monotonic() < began + (10 if asked else 60):
            response = ask_rest(service.port, service.token, body | {"limit": 20_000})
            lines = response.read().splitlines()
            # On a busy machine the slow readers keep their slots for a while, until it is known that they do not read.
            if response.status == 429 and not asked:
                time.sleep(float(response.headers["Retry-After"]))
                continue
            assert response.status == 200
            assert json.loads(lines[-1])["summary"]["rows"] == 20_000
            asked += 1
    assert asked
    assert "OutOfMemoryError" not in log.read_text()
