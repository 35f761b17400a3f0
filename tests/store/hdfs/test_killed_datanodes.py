"""Two of nine DataNodes are killed with kill -9 while events come into a source that is coded by RS-6-3: none is lost,
neither from files that lose two of their nine parts nor from those that are written with seven DataNodes.

In `make soak`: its stack, of this file alone, has fifteen servers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hdfs_events import SMALL, SOURCE, kill, list_words, read_words, run, write_events
from missing import require_kerberos
from own_stack import stack_folder

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import compact_source, read_table_ids
from watchfloor.store.bridge import jvm
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.stack.home.stack_state import load_state
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.stack.supervision.supervised import stop_supervisor
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]
POLICY = "RS-6-3-1024k"
EVENTS = 50_000
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


def list_policies(settings: Settings) -> list[str]:
    """Returns the policy of each file of the source's event table."""
    state = load_state(settings)
    assert state is not None
    with Store.open(settings) as store:
        table = read_table_ids(store.connection)[event_table(store.catalog.read_sources()[NAME])]
        volume = f"hdfs://localhost:{state.ports['namenode']}/accumulo/tables/{table}"
        files = jvm.java_class("watchfloor.bridge.sink.BulkFiles").system(volume)
        found, policies = files.listFiles(jvm.java_class("org.apache.hadoop.fs.Path")(volume), True), []
        while found.hasNext():
            policy = files.getErasureCodingPolicy(found.next().getPath())
            policies.append("" if policy is None else str(policy.getName()))
        return policies


def test_two_of_nine_datanodes_are_killed_in_a_load_and_no_event_is_lost(settings: Settings, tmp_path: Path) -> None:
    done = run(settings, "load", str(write_events(tmp_path / "before.json", EVENTS)), "--source", NAME)
    assert done.returncode == 0, done.stderr
    compact(settings)
    assert set(list_policies(settings)) == {POLICY}

    files = [write_events(tmp_path / f"{name}.json", EVENTS) for name in ("first", "second", "third")]
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "--home", str(settings.home), "load", "--source", NAME]
    stop_supervisor(settings)
    with subprocess.Popen([*command, *map(str, files)], stderr=subprocess.PIPE) as load:
        for seconds, name in ((3, "datanode2"), (1, "datanode7")):
            time.sleep(seconds)
            kill(settings, name)
        assert load.poll() is None
        _, errors = load.communicate(timeout=300)
    assert load.returncode == 0, errors.decode()
    written = list_words(*((name, EVENTS) for name in ("before", "first", "second", "third")))
    assert read_words(settings) == written
    # All is written anew by seven DataNodes, two parts of each file to nowhere.
    compact(settings)
    assert read_words(settings) == written
    assert set(list_policies(settings)) == {POLICY}

    start_stack(settings)
    assert read_words(settings) == written
    status = run(settings, "status")
    assert status.returncode == 0 and "HDFS with 9 DataNodes" in status.stdout, status.stdout
