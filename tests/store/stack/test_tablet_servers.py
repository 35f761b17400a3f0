"""Tablet servers report where tablets are, and a compaction is visible while it runs.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from ingest_support import source

from watchfloor.loadgen.harness.ingest.server_watch import ServerWatch, await_spread
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import SOURCES_TABLE, compact_tables, flush_table, source_tables
from watchfloor.store.admin.tablet_servers import TableLoad, list_tablet_servers
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
ENTRIES = 30_000
ROUNDS = 20


def test_each_server_tells_which_tablets_it_serves(store_settings: Settings) -> None:
    with Store.open(store_settings) as store:
        # Tests of other files, on the same stack before this one, may have started a second server.
        running = len(list((store_settings.home / "run").glob("tserver*.json")))
        kind = store.catalog.register(source("served"))
        await_spread(store, kind, running)
        servers = list_tablet_servers(store.connection)
        assert len(servers) == running
        loads = [{name: load.tablets for name, load in server.tables.items()} for server in servers]
        for table in source_tables(kind):
            assert sum(load.get(table, 0) for load in loads) == kind.shards
        assert sum(load.get(SOURCES_TABLE, 0) for load in loads) == 1
        assert all(server.hold_ms == 0 for server in servers)


def test_a_flush_and_a_compaction_are_seen_while_they_run(store_settings: Settings) -> None:
    with Store.open(store_settings) as store, ServerWatch(store) as watch:
        table = event_table(store.catalog.register(source("server_list")))
        minors: list[TableLoad] = []
        majors: list[TableLoad] = []
        # Each lasts for some hundredths of a second: it may fall between two looks, and then comes again.
        for n in range(ROUNDS):
            store.put(table, [(b"%04d%d %d" % (i % 2, i, n), b"", b"q", b"v" * 100) for i in range(ENTRIES)])
            minors += seen(store, table, lambda: flush_table(store.connection, table))
            majors += seen(store, table, lambda: compact_tables(store.connection, [table]))
            if any(load.minors_running for load in minors) and any(load.majors_running for load in majors):
                break
        assert any(load.minors_running for load in minors)
        assert any(load.majors_running for load in majors)
        last = list_tablet_servers(store.connection)[0].tables[table]
        assert (last.minors_running, last.majors_running) == (0, 0)
    times = [look.at for look in watch.samples]
    assert len(times) > 1 and times == sorted(times)
    assert not any(look.hold_ms for look in watch.samples)


def seen(store: Store, table: str, act: Callable[[], object]) -> Iterator[TableLoad]:
    """Returns the states of the table while ``act`` ran."""
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act)
        while not acting.done():
            yield from (server.tables[table] for server in list_tablet_servers(store.connection))
        acting.result()
