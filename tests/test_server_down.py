"""A query whose server goes down: an error that names the table, in bounded time; and it works again after ``up``."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_support import RUN, log_file, source
from loaded import load

from watchfloor.query.service import QueryRequest, QueryService
from watchfloor.schema.errors import StoreError
from watchfloor.store.settings import Settings
from watchfloor.store.stack import up
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash]
LINES = 60_000
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


def test_a_query_whose_server_is_killed_fails_within_its_time_out(store_settings: Settings, tmp_path: Path) -> None:
    with Store.open(store_settings) as store:
        kind = store.register(source(f"down_{RUN}"))
    loaded = load(store_settings, log_file(tmp_path / "a.log", LINES, salt="wide" * 20), feed=kind.name)
    assert loaded.events == LINES
    with Store.open(impatient(store_settings, tmp_path), role="query") as store:
        service = QueryService(store)
        result = service.run(QueryRequest(kind.name, scheme="scan"))
        batches = iter(result)
        seen = len(next(batches))
        try:
            for path in (store_settings.home / "run").glob("tserver*.json"):
                os.kill(json.loads(path.read_text())["pid"], signal.SIGKILL)
            began = time.monotonic()
            with pytest.raises(StoreError, match=r"table .*\.event"):
                for batch in batches:
                    seen += len(batch)
            assert time.monotonic() - began < 5 * TIMEOUT
            assert result.summary["status"] == "failed" and seen == result.summary["rows"] < LINES
            began = time.monotonic()
            with pytest.raises(StoreError):
                service.count(kind.name)
            assert time.monotonic() - began < 5 * TIMEOUT
        finally:
            up(store_settings)
        assert service.count(kind.name) == LINES
        assert sum(len(b) for b in service.run(QueryRequest(kind.name, columns=("n",)))) == LINES
