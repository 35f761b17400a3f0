"""Two of nine DataNodes are killed with kill -9 while events come into a source that is coded by RS-6-3: none is lost,
neither from files that lose two of their nine parts nor from those that are written with seven DataNodes.

In `make soak`: its stack, of this file alone, has fifteen servers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hdfs_events import SMALL, SOURCE, kill, list_words, read_words, run, write_events
from ingest_support import wait_for
from missing import require_kerberos
from own_stack import stack_folder

from watchfloor.ingest.records.ledger import Ledger
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import compact_source, read_table_ids
from watchfloor.store.bridge import jvm
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.stack.supervision.supervised import stop_supervisor
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]
POLICY = "RS-6-3-64k"
EVENTS = 50_000
ITEMS = 6
NAME = str(SOURCE["name"])


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    require_kerberos()
    with stack_folder() as plain:
        settings = replace(plain, **{**SMALL, "up_seconds": 400})  # type: ignore[arg-type]
        start_stack(settings, datanodes=9)
        definition = tmp_path_factory.mktemp("hdfs") / "source.json"
        definition.write_text(json.dumps(SOURCE))
        done = run(settings, "sources", "add", str(definition), policy=POLICY)
        assert done.returncode == 0, done.stderr
        yield settings


def compact(settings: Settings) -> None:
    with Store.open(settings) as store:
        compact_source(store.connection, store.catalog.read_sources()[NAME])


def list_files(settings: Settings) -> list[tuple[str, int]]:
    """Returns the policy of each file of the source's event table, and on how many DataNodes parts of it are."""
    with Store.open(settings) as store:
        table = read_table_ids(store.connection)[event_table(store.catalog.read_sources()[NAME])]
        bulk = jvm.java_class("watchfloor.bridge.sink.BulkFiles")
        path = jvm.java_class("org.apache.hadoop.fs.Path")(f"{bulk.volume(store.connection.java)}/tables/{table}")
        system = bulk.system(str(path))
        found, files = system.listFiles(path, True), []
        while found.hasNext():
            file = found.next()
            policy = system.getErasureCodingPolicy(file.getPath())
            nodes = {str(name) for block in file.getBlockLocations() for name in block.getNames()}
            files.append(("" if policy is None else str(policy.getName()), len(nodes)))
        return files


def kill_two_while_some_items_are_done(settings: Settings, before: int, items: int) -> None:
    """Kills two DataNodes, each when one more item is done. Fails if all are done by then."""
    with Store.open(settings) as store:
        ledger = Ledger(store)

        def count_done() -> int:
            return sum(1 for _ in ledger.read_rows(["done"])) - before

        for number, name in enumerate(("datanode2", "datanode7"), 1):
            wait_for(lambda wanted=number: count_done() >= wanted, 120)  # type: ignore[misc]
            kill(settings, name)
        assert count_done() < items


def test_two_of_nine_datanodes_are_killed_in_a_load_and_no_event_is_lost(settings: Settings, tmp_path: Path) -> None:
    done = run(settings, "load", str(write_events(tmp_path / "before.json", EVENTS)), "--source", NAME)
    assert done.returncode == 0, done.stderr
    compact(settings)
    files = list_files(settings)
    assert {policy for policy, _ in files} == {POLICY} and max(nodes for _, nodes in files) == 9

    names = [f"during{number}" for number in range(ITEMS)]
    paths = [write_events(tmp_path / f"{name}.json", EVENTS) for name in names]
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "--home", str(settings.home), "load", "--source", NAME]
    stop_supervisor(settings)
    with subprocess.Popen([*command, *map(str, paths)], stderr=subprocess.PIPE) as load:
        kill_two_while_some_items_are_done(settings, before=1, items=ITEMS)
        _, errors = load.communicate(timeout=300)
    assert load.returncode == 0, errors.decode()
    written = list_words(*((name, EVENTS) for name in ("before", *names)))
    wait_for(lambda: max(nodes for _, nodes in list_files(settings)) == 7, 120)
    assert read_words(settings) == written
    # All is written anew by seven DataNodes, two parts of each file to nowhere.
    compact(settings)
    assert read_words(settings) == written
    files = list_files(settings)
    assert {policy for policy, _ in files} == {POLICY} and max(nodes for _, nodes in files) == 7

    start_stack(settings)
    assert read_words(settings) == written
    status = run(settings, "status")
    assert status.returncode == 0 and "HDFS with 9 DataNodes" in status.stdout, status.stdout
