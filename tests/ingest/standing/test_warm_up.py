"""A warm-up works as a load does, and leaves nothing: no table, no event.

In `make test`: one item of made-up lines on the run's stack.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.json.json_lines import JsonParser
from watchfloor.ingest.standing import warm_up as module
from watchfloor.ingest.standing.sample_lines import make_lines
from watchfloor.ingest.standing.warm_up import warm_up
from watchfloor.schema.definition import find_builtin
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.scratch_table import make_scratch_table
from watchfloor.store.admin.tables import list_tables
from watchfloor.store.bridge.jvm import start_jvm
from watchfloor.store.store import Store


def test_all_made_up_lines_are_events() -> None:
    start_jvm(Settings().jars)
    source = find_builtin(module._SOURCE)
    chunk = JsonParser(source).parse(Chunk(0, make_lines(source, 300)))
    (events,) = (batch for _, batch in chunk.events)
    assert (len(events), chunk.rejected) == (300, [])
    assert make_lines(source, 300) == make_lines(source, 300)
    distinct = {field.name: len(events.column(field.name).unique()) for field in source.fields}
    assert all(count > 1 for count in distinct.values()), distinct


@pytest.mark.stack
def test_a_warm_up_leaves_nothing(store_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ITEMS", 1)
    written: list[int] = []
    monkeypatch.setattr(module, "flush_table", lambda connection, table: written.append(count_entries(table)))

    def count_entries(table: str) -> int:
        client = store.connection.client
        authorizations = client.securityOperations().getUserAuthorizations(client.whoami())
        with_rows = client.createScanner(table, authorizations)
        return sum(1 for _ in with_rows)

    with Store.open(store_settings) as store:
        tables, sources = list_tables(store.connection), set(store.catalog.read_sources())
        table = "watchfloor.warm_up_worker9"
        with pytest.raises(KeyError), make_scratch_table(store.connection, "warm_up_worker9"):
            assert table in list_tables(store.connection)
            raise KeyError
        warm_up(store_settings, "worker9", threading.Event())
        assert written[0] > 1000
        assert set(list_tables(store.connection)) == set(tables)
        assert set(store.catalog.read_sources()) == sources
        stopped = threading.Event()
        stopped.set()
        warm_up(store_settings, "worker9", stopped)
        assert len(written) == 1


def test_without_a_store_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "make_lines", lambda *_: pytest.fail("it goes on without a store"))
    warm_up(Settings(home=tmp_path), "worker9", threading.Event())
