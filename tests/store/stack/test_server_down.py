"""A query whose server goes down ends in bounded time with an error that names the table, and works again after ``up``.

One death of the servers for both layouts, since it takes them most of a minute: a query of each is under way.

In `make soak`: the death and the return of a tablet server take most of a minute.
"""

from __future__ import annotations

import json
import os
import signal
import time
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_support import line, load, own, source
from loaded import LAYOUTS
from own_stack import unsupervised

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak]
LINES = 32_000
TIMEOUT = 4


def impatient(settings: Settings, folder: Path) -> Settings:
    """The same store, of which an answer is expected within seconds."""
    text = settings.client_properties.read_text() + f"\nwatchfloor.scan.timeout={TIMEOUT}\n"
    properties = folder / "client.properties"
    properties.write_text(text)
    return replace(
        settings,
        cluster_properties=properties,
        ingest_password=settings.password_file("ingest"),
        query_password=settings.password_file("query"),
    )


def test_queries_whose_server_is_killed_fail_within_their_time_out(store_settings: Settings, tmp_path: Path) -> None:
    # More than a client reads ahead, however well it is compressed: no query may be at its end when servers die. It is
    # 32 MB that wait to be taken, as many that have been taken, and a batch.
    file = tmp_path / "a.log"
    file.write_text("".join(line(i, text=b64encode(os.urandom(2250)).decode()) + "\n" for i in range(LINES)))
    settings = own(store_settings, "down", item_bytes=1 << 20, chunk_bytes=1 << 20)
    with Store.open(store_settings) as store:
        sources = [store.catalog.register(source("down", layout)) for layout in LAYOUTS]
    for kind in sources:
        assert load(settings, file, feed=kind.name).events == LINES
    with Store.open(impatient(store_settings, tmp_path), role="query") as store:
        service = QueryService(store)
        results = [service.run(QueryRequest(kind.name, scheme="scan")) for kind in sources]
        running = [(result, iter(result)) for result in results]
        seen = [len(next(batches)) for _, batches in running]
        with unsupervised(store_settings):
            for path in (store_settings.home / "run").glob("tserver*.json"):
                os.kill(json.loads(path.read_text())["pid"], signal.SIGKILL)
            for number, (result, batches) in enumerate(running):
                began = time.monotonic()
                with pytest.raises(StoreError, match=r"table .*\.event"):
                    for batch in batches:
                        seen[number] += len(batch)
                assert time.monotonic() - began < 5 * TIMEOUT
                assert result.summary["status"] == "failed" and seen[number] == result.summary["rows"] < LINES
            began = time.monotonic()
            with pytest.raises(StoreError):
                service.count_events(sources[0].name)
            assert time.monotonic() - began < 5 * TIMEOUT
        for kind in sources:
            assert service.count_events(kind.name) == LINES
            assert sum(len(b) for b in service.run(QueryRequest(kind.name, columns=("n",)))) == LINES
