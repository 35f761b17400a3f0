"""A worker and a master tell Prometheus exactly what they have done, and are found by files of targets.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from pathlib import Path

import jpype
import pytest
from ingest_support import ledger_rows, line, own, pool, running_master, source, wait_for
from jvm_support import start_jvm
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from watchfloor.ingest.metrics.master_metrics import MasterMetrics
from watchfloor.ingest.metrics.worker_metrics import WORKER_REGISTRY, count_misfits, count_write_seconds, name_reason
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.metrics_port import serve_metrics, targets_folder, write_target
from watchfloor.store.store import Store

GOOD, BAD = 5000, {"unfit_value": 3, "wrong_form": 2, "missing_field": 1, "unknown_field": 4}


def read_samples(settings: Settings, process: str) -> dict[tuple[str, ...], float]:
    """Returns what the only process of this kind serves: values by name and values of labels."""
    (file,) = targets_folder(settings).glob(f"{process}-*.json")
    (group,) = json.loads(file.read_text())
    assert group["labels"] == {"process": process}
    with urllib.request.urlopen(f"http://{group['targets'][0]}/metrics", timeout=10) as response:
        text = response.read().decode()
    assert "watchfloor" in text and str(file.parent) not in text
    families = text_string_to_metric_families(text)
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def log_lines() -> list[str]:
    bad = [
        *[line(i, n="many") for i in range(3)],
        *["{", "[1]"],
        json.dumps({"host": "a"}),
        *[line(i, secret_zq9="zq9") for i in range(4)],
    ]
    return [*[line(i) for i in range(GOOD)], *bad]


@pytest.mark.stack
@pytest.mark.parametrize("mode", ["live", "bulk"])
def test_a_master_and_a_worker_count_what_they_do(store_settings: Settings, tmp_path: Path, mode: str) -> None:
    settings = own(store_settings, f"metrics_{mode}", metrics="on", ingest_mode=mode)
    ours = source(f"metrics_{mode}")
    text = "\n".join(log_lines()) + "\n"
    with Store.open(settings) as store:
        store.catalog.register(ours)
        with running_master(settings, tmp_path, ours.name, settle=0.1), pool(settings):
            (tmp_path / "refused.log").write_bytes(b"")
            path = tmp_path / "all.log"
            path.write_text(text)
            wait_for(lambda: bool(rows := ledger_rows(store, path)) and all(row.state == "done" for row in rows), 120)
            items = len(ledger_rows(store, path))
            # The ledger has an item's end a moment before the worker counts it and commits it.
            wait_for(lambda: read_samples(settings, "worker").get(("watchfloor_ingest_items_total", "done")) == items)
            wait_for(lambda: read_samples(settings, "master")["watchfloor_ingest_lag_items",] == 0)
            worker, master = read_samples(settings, "worker"), read_samples(settings, "master")
    assert worker["watchfloor_ingest_events_total",] == GOOD
    assert worker["watchfloor_ingest_read_bytes_total",] == len(text)
    reasons = {k[1]: v for k, v in worker.items() if k[0] == "watchfloor_ingest_quarantined_lines_total"}
    assert reasons == BAD
    assert worker["watchfloor_ingest_item_seconds_count",] == items > 1
    assert worker["watchfloor_ingest_item_seconds_sum",] > 0
    assert worker["watchfloor_ingest_writer_seconds_total", "write"] > 0
    assert worker["watchfloor_ingest_writer_seconds_total", "flush"] > 0
    assert worker["watchfloor_ingest_writer_seconds_total", "blocked"] >= 0
    assert worker["watchfloor_ingest_paused",] == 0
    assert worker["process_resident_memory_bytes",] > 0
    assert master["watchfloor_master_files_total", "queued"] == 1
    assert master["watchfloor_master_queued_items_total",] == items
    assert master["watchfloor_master_queued_bytes_total",] == len(text)
    assert list(targets_folder(settings).glob("worker-*.json")) == [], "no target is left of processes that ended"


def test_waiting_is_no_writing() -> None:
    """A tablet server that is too slow is told apart from entries that are many."""
    start_jvm()

    def read_seconds() -> tuple[float, ...]:
        name = "watchfloor_ingest_writer_seconds_total"
        return tuple(WORKER_REGISTRY.get_sample_value(name, {"step": step}) or 0.0 for step in ("write", "blocked"))

    wrote, waited = read_seconds()
    with count_write_seconds():
        time.sleep(0.2)
        jpype.JClass("java.lang.Thread").sleep(500)
    writes, waits = read_seconds()
    # The JVM counts a thread's waits in whole milliseconds.
    assert 0.19 <= writes - wrote < 0.65 and waits - waited >= 0.49


def test_misfits_count_by_source_but_hidden_sources_have_no_name() -> None:
    def read_counts() -> list[float]:
        name = "watchfloor_ingest_misfit_values_total"
        return [WORKER_REGISTRY.get_sample_value(name, {"source": s}) or 0.0 for s in ("suricata.alert", "other")]

    before = read_counts()
    count_misfits({("suricata.alert", "http.status"): 3, ("suricata.alert", "src_port"): 1, ("our.own", "n"): 2})
    assert [after - count for after, count in zip(read_counts(), before, strict=True)] == [4, 2]
    assert b"our.own" not in generate_latest(WORKER_REGISTRY)


def test_metrics_are_off_by_default(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with serve_metrics(settings, "worker", MasterMetrics(settings).registry):
        assert not targets_folder(settings).exists()


def test_a_queue_that_is_down_leaves_the_rest(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        settings = Settings(home=tmp_path, metrics="on", kafka_bootstrap=f"127.0.0.1:{nobody.getsockname()[1]}")
        metrics = MasterMetrics(settings)
        metrics.items.inc(3)
        with serve_metrics(settings, "master", metrics.registry):
            samples = read_samples(settings, "master")
    assert samples["watchfloor_master_queued_items_total",] == 3
    assert ("watchfloor_ingest_lag_items",) not in samples


def test_targets_of_dead_processes_are_removed(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, metrics="on")
    dead = write_target(settings, "worker-4194303", "worker", 1)
    server = write_target(settings, "tserver1", "tserver", 2)
    assert not dead.exists() and server.exists()
    assert (server.stat().st_mode & 0o777, targets_folder(settings).stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("field n: 'many' is not an integer", "unfit_value"),
        ("field ts: missing; an event needs its time", "missing_field"),
        ("field a: web.x has no such field (its value is 'zq9')", "unknown_field"),
        ("the line is 2000000 bytes long; the limit is 1048576", "too_long"),
        ("the line has 3 columns; its header names 4", "wrong_columns"),
        ("not an access log line: client ident", "wrong_form"),
        ("neither _path nor path says which Zeek log this line belongs to", "wrong_form"),
        ("its gzip stream breaks off at byte 12 of what was unpacked; what followed is lost", "other"),
    ],
)
def test_reasons_are_told_by_their_kind(reason: str, kind: str) -> None:
    assert name_reason(reason) == kind
