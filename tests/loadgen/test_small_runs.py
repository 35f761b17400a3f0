"""Every experiment runs small on the stack, writes all of its figures and leaves nothing behind.

In `make soak`: the experiments together take minutes.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from watchfloor.ingest.queue.work_queue import ItemProducer, _client_options
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.loadgen.engines import rounds
from watchfloor.loadgen.engines.peers.peer_process import PEERS, SQL_PEERS, explain_missing
from watchfloor.loadgen.experiments.blocks import run as blocks
from watchfloor.loadgen.experiments.encodings import run as encodings
from watchfloor.loadgen.experiments.registry import draw_pictures, load_experiment
from watchfloor.loadgen.experiments.responsiveness import run as responsiveness
from watchfloor.loadgen.experiments.stats import run as stats
from watchfloor.loadgen.experiments.stats.questions import list_questions
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.harness import cpu_usage
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.session import open_session
from watchfloor.loadgen.suite import bench
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import list_tables
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]

# `ingest` has a stack of its own: see test_ingest_scaling.
SMALL = {
    "backup": ["--events", "20000"],
    "batching": ["--events", "10000", "--turns", "1", "--first-turns", "2"],
    "blocks": ["--events", "10000", "--loads", "1", "--repeats", "1"],
    "cancel": ["--events", "10000", "--repeats", "2"],
    "ceiling": ["--events", "2000", "--log-bytes", "300000", "--repeats", "1"],
    "continuous": ["--entries", "3000", "--repeats", "1", "--seconds", "1"],
    "crossover": ["--events", "10000", "--turns", "1"],
    "export": ["--events", "10000", "--repeats", "1"],
    "encodings": ["--events", "2000", "--repeats", "1"],
    "first-result": ["--events", "3000", "--turns", "2"],
    "formats": ["--megabytes", "1", "--repeats", "1"],
    "generator": ["--events", "2000", "--repeats", "1"],
    "hunt": ["--events", "3000", "--count", "30", "--sample", "3", "--repeats", "1"],
    "lookups": [
        *("--rows", "500", "--executors", "2", "--queries", "3", "--tablets", "2", "--turns", "1"),
        *("--codecs", "snappy", "--warm-up", "0"),
    ],
    "load": ["--events", "3000"],
    "memory": ["--bytes", "2000000"],
    "page": ["--events", "2000,4000", "--turns", "1", "--starts", "1", "--clients", "2", "--seconds", "1"],
    "peers": ["--events", "10000", "--loads", "1", "--repeats", "1"],
    "rest-load": [
        "--events",
        "5000",
        "--load-seconds",
        "2",
        "--servers",
        "watchfloor",
        "--clients",
        "10",
        "--stalled",
        "5",
        "--half-open",
        "50",
        "--repeats",
        "3",
    ],
    "readers": ["--events", "2000", "--repeats", "1"],
    "responsiveness": ["--events", "10000", "--turns", "1", "--layout", "block", "--seconds", "0.3"],
    "stats": ["--events", "10000", "--repeats", "1"],
    "ycsb": ["--records", "100", "--operations", "100", "--threads", "2", "--workloads", "D", "--buffers", "100000"],
}

ONE_FEED = "proxy.events"


@pytest.mark.parametrize("name", SMALL)
def test_small_runs_write_all_and_leave_nothing(
    name: str,
    store_settings: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # More workers and sizes would prove no more than these do, and take as long again. Nothing is compared, so that no
    # server need be at rest and no engine warm.
    monkeypatch.setattr(cpu_usage, "_IDLE_CORES", 1000.0)
    monkeypatch.setattr(rounds, "WARM_UP_SECONDS", 0.0)
    monkeypatch.setattr(stats, "WARM_UP_SECONDS", 0.0)
    monkeypatch.setattr(stats, "list_questions", lambda rank: [q for q in list_questions(rank) if q.feed == ONE_FEED])
    monkeypatch.setattr(blocks, "CASES", [case for case in blocks.CASES if case.workers == 1][:4])
    monkeypatch.setattr(encodings, "SIZES", encodings.SIZES[:1])
    monkeypatch.setattr(encodings, "CODECS", encodings.CODECS[-1:])
    monkeypatch.setattr(responsiveness, "SHARES", responsiveness.SHARES[:1])
    monkeypatch.setattr(responsiveness, "FIXED_SCHEMES", responsiveness.FIXED_SCHEMES[-1:])
    path = tmp_path / "out.json"
    assert bench.main([name, "--home", str(store_settings.home), "--json", str(path), *SMALL[name]]) == 0
    written = json.loads(path.read_text())
    unmeasured = {"peer_to_block", "watchfloor_to_peer"} if all(map(explain_missing, SQL_PEERS)) else set()
    unmeasured |= {"peer_to_watchfloor"} if all(map(explain_missing, PEERS)) else set()
    assert {f["metric"] for f in written["figures"]} == {m.name for m in load_experiment(name).metrics} - unmeasured
    assert all(f["samples"] for f in written["figures"])
    assert written["experiment"] == name and written["options"]["seed"] == 1
    assert (
        written["machine"]["cores"] and written["settings"]["sink_memory_mb"] and written["versions"]["accumulo-core"]
    )
    shown = capsys.readouterr().out
    assert all(figure["metric"] in shown for figure in written["figures"])
    assert all(figure["value"] == 1 for figure in written["figures"] if figure["metric"] == "same_answers")
    assert list(draw_pictures(name, Measurement.from_json(written).figures))
    assert_nothing_is_left(store_settings)


def assert_nothing_is_left(settings: Settings) -> None:
    """No source, table, line of the ledger, or topic of an experiment."""
    with Store.open(settings) as store:
        assert not [source for source in store.catalog.read_sources() if source.startswith("bench.")]
        assert not [name for name in list_tables(store.connection) if name.startswith("bench")]
        assert not [row for row in Ledger(store).read_rows() if row.item and row.item.feed.startswith("bench.")]
    admin = KafkaAdminClient(**_client_options(settings))
    try:
        until = time.monotonic() + 10  # brokers hear of it a moment later
        while found := [topic for topic in admin.list_topics() if topic.startswith("watchfloor.bench.")]:
            assert time.monotonic() < until, found
            time.sleep(0.1)
    finally:
        admin.close()


def test_an_experiment_that_fails_leaves_nothing(store_settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "proxy.json"
    with path.open("wb") as out:
        generate_events(out, 100, 1)
    with pytest.raises(RuntimeError, match="halfway"), open_session(str(store_settings.home)) as session:
        item = session.make_item(path, session.create_source("proxy.events"))
        ledger = Ledger(session.store)
        with ItemProducer(session.settings) as producer:
            ledger.write_queued([item], producer.topic)
            producer.send([item])
        ledger.close()
        raise RuntimeError("halfway")
    assert_nothing_is_left(store_settings)
