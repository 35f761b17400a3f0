"""A removal that is killed is completed by the next, and nothing that is kept is lost, also with many tablets.

In `make test`: some hundred events; each kill costs a process of some four seconds.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from expiring import EVENTS, KEEP, check_removed, check_shown, fill, list_numbers
from loaded import split_tables

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import event_table, time_of_row
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.retention.policy import read_policy, set_keep
from watchfloor.store.retention.removal import remove_expired
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash]

KILLED = """
import os, signal, sys
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.retention import removal
from watchfloor.store.store import Store

home, source, name = sys.argv[1:]
known = getattr(removal, name)

def die(*arguments, **options):
    known(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(removal, name, die)
with Store.open(load_settings(home)) as store:
    removal.remove_expired(store, [store.catalog.find_source(source)], lambda seconds: None)
"""


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def test_a_killed_removal_is_completed_by_the_next(store_settings: Settings, store: Store) -> None:
    source = fill(store, "killed", "block")
    set_keep(store, source.name, KEEP)
    for step in ("remove_expired_events", "remove_expired_rows"):
        command = [sys.executable, "-c", KILLED, str(store_settings.home), source.name, step]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == -signal.SIGKILL, done.stderr
        check_shown(store, source)
        policy = read_policy(store, source.name)
        assert policy.removed_before and not policy.index_gone_before
    set_keep(store, source.name, None)
    assert remove_expired(store, [source], lambda seconds: None).sources == (source.name,)
    check_removed(store, source)
    policy = read_policy(store, source.name)
    assert policy.events_gone_before == policy.index_gone_before == policy.removed_before


def test_tablets_without_expired_events_are_not_written_anew(store: Store) -> None:
    source = fill(store, "tablets", "block")
    table, operations = event_table(source), store.connection.client.tableOperations()
    split_tables(store, source, len(EVENTS))  # A tablet for each block, whatever shards the blocks are in.
    operations.flush(table, None, None, True)
    files = list_files(store, table)
    assert len(files) > 10
    assert len(list_numbers(store, source)) == len(EVENTS)
    set_keep(store, source.name, KEEP)
    remove_expired(store, [source], lambda seconds: None)
    check_removed(store, source)
    kept_from = read_policy(store, source.name).removed_before
    after = list_files(store, table)
    same = [end for end in files if end in after and files[end] == after[end]]
    for end in same:
        assert end is None or time_of_row(end) >= kept_from
    assert len(same) >= 2, "all tablets were written"


def list_files(store: Store, table: str) -> dict[bytes | None, frozenset[str]]:
    """Returns the files of each tablet by its last row, from the store's metadata."""
    table_id = str(store.connection.client.tableOperations().tableIdMap().get(table))
    found: dict[bytes | None, set[str]] = {}
    ranges = Ranges()
    ranges.add_rows(table_id.encode() + b";", table_id.encode() + b"<\x00")
    for batch in store.scan(EntryScan("accumulo.metadata", ranges)):
        for entry in batch.to_pylist():
            if entry["family"] == b"file":
                end = None if entry["row"].endswith(b"<") else entry["row"].partition(b";")[2]
                found.setdefault(end, set()).add(entry["qualifier"].decode())
    return {end: frozenset(names) for end, names in found.items()}
