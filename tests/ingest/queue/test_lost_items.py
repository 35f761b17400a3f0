"""The topic keeps what waits, loses what is done, and gets again what it has lost: everything is read exactly once.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_support import (
    count_messages,
    counts,
    exactly,
    ledger_rows,
    load,
    log_file,
    own,
    running_master,
    source,
    wait_for,
    worker_here,
)
from kafka.admin import ConfigResource, ConfigResourceType

from watchfloor.ingest.intake.intake import Intake
from watchfloor.ingest.queue.waiting import read_waiting_items
from watchfloor.ingest.queue.work_queue import (
    ItemProducer,
    delete_topic,
    make_topic,
    open_admin,
    queue_lag,
    read_offsets,
    trim_topic,
)
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def retention(settings: Settings) -> dict[str, str]:
    with open_admin(settings) as admin:
        topic = ConfigResource(ConfigResourceType.TOPIC, settings.topic)
        found = admin.describe_configs([topic], config_filter="all")["topic"][settings.topic]
    return {name: found[name]["value"] for name in ("retention.ms", "retention.bytes", "cleanup.policy")}


FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}


def test_no_time_and_no_size_deletes_an_item_that_waits(store_settings: Settings) -> None:
    settings = own(store_settings, "keeps")
    make_topic(settings)
    assert retention(settings) == FOR_EVER
    with open_admin(settings) as admin:
        short = {"retention.ms": "604800000", "cleanup.policy": "compact,delete"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, settings.topic, configs=short)])
    make_topic(settings)
    assert retention(settings) == FOR_EVER


def queue_file(settings: Settings, store: Store, file: Path, kind: Source) -> int:
    """Queues a file that no worker reads, and returns the number of its items."""
    ledger = Ledger(store)
    with ItemProducer(settings) as producer:
        queued = Intake(store, ledger, producer).offer_file(str(file), kind.name).queued
    ledger.close()
    return len(queued)


def test_what_is_done_is_trimmed_and_what_waits_is_not(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "trims"), store.catalog.register(source("trims"))
    load(settings, log_file(tmp_path / "a.log", 1000), feed=kind.name)
    wait_for(lambda: not queue_lag(settings))
    items = queue_file(settings, store, log_file(tmp_path / "b.log", 1000, "b"), kind)
    trim_topic(settings)
    with open_admin(settings) as admin:
        offsets = read_offsets(admin, settings).values()
    assert sum(found.begin for found in offsets) > 0 and all(found.begin == found.next for found in offsets)
    assert queue_lag(settings) == items == len(read_waiting_items(settings))
    with worker_here(settings):
        wait_for(lambda: counts(store, kind) == exactly(kind, 2000))


@pytest.mark.parametrize("loss", ["topic", "records"])
def test_the_master_queues_again_what_the_topic_has_lost(
    loss: str, store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, f"lost{loss}"), store.catalog.register(source(f"lost{loss}"))
    folder = tmp_path / "in"
    folder.mkdir()
    done, waiting = log_file(tmp_path / "done.log", 500, loss), log_file(tmp_path / "waiting.log", 1000, f"w{loss}")
    load(settings, done, feed=kind.name)
    items = queue_file(settings, store, waiting, kind)
    if loss == "topic":
        delete_topic(settings)
        wait_for(lambda: not read_waiting_items(settings))
    else:
        with open_admin(settings) as admin:
            admin.delete_records({p: found.end for p, found in read_offsets(admin, settings).items()})
    assert not read_waiting_items(settings)
    assert {row.state for row in ledger_rows(store, waiting)} == {"queued"}
    with running_master(settings, folder, kind.name):
        wait_for(lambda: len(read_waiting_items(settings)) == items)
        with worker_here(settings):
            wait_for(lambda: counts(store, kind) == exactly(kind, 1500))
            wait_for(lambda: not queue_lag(settings))
    assert {row.state for row in ledger_rows(store, waiting)} == {"done"}


def test_what_the_topic_has_is_not_queued_a_second_time(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "once"), store.catalog.register(source("once"))
    folder = tmp_path / "in"
    folder.mkdir()
    file = log_file(tmp_path / "a.log", 1000)
    items = queue_file(settings, store, file, kind)
    marker = log_file(folder / "marker.log", 3, "marker")
    for _ in range(2):
        with running_master(settings, folder, kind.name, settle=0.2, polling=True):
            wait_for(lambda: ledger_rows(store, marker))
            time.sleep(1)
    assert count_messages(settings) == items + 1
    # Its worker may have read the file before the load asks for it, which then counts as known.
    load(settings, file, feed=kind.name)
    assert count_messages(settings) == items + 1
    with worker_here(settings):
        wait_for(lambda: counts(store, kind) == exactly(kind, 1003))


def test_a_load_queues_what_its_topic_has_lost(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "reload"), store.catalog.register(source("reload"))
    file = log_file(tmp_path / "a.log", 1000)
    queue_file(settings, store, file, kind)
    delete_topic(settings)
    wait_for(lambda: not read_waiting_items(settings))
    assert load(settings, file, feed=kind.name).events == 1000
    assert counts(store, kind) == exactly(kind, 1000)


def test_a_log_that_is_rotated_while_it_waits_is_read_under_its_new_name(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, "rotated"), store.catalog.register(source("rotated"))
    folder = tmp_path / "in"
    folder.mkdir()
    with running_master(settings, folder, kind.name, settle=0.2, polling=True):
        first = log_file(folder / "a.log", 1000)
        wait_for(lambda: ledger_rows(store, first))
        first.rename(folder / "a.log.1")
        log_file(first, 200, "next")
        wait_for(lambda: len(ledger_rows(store, folder / "a.log.1")) and ledger_rows(store, first))
        with worker_here(settings):
            wait_for(lambda: counts(store, kind) == exactly(kind, 1200))
            wait_for(lambda: not queue_lag(settings))
    assert {row.state for row in Ledger(store).read_rows() if row.path.startswith(str(folder))} == {"done"}
