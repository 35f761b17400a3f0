"""YCSB on the real store: what it loads, what it counts, a server that stands still, and what cannot be run.

In `make test`: a run takes two or three seconds, most of them for the start of its JVM.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from command_line import run_command

from watchfloor.loadgen.ycsb.workloads import WORKLOADS
from watchfloor.loadgen.ycsb.ycsb_client import (
    LoadRequest,
    RunRequest,
    load_records,
    run_workload,
    start_load,
    start_workload,
)
from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import ITEMS_TABLE, drop_table
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

TABLE = f"bench_ycsb_test{os.getpid()}"
RECORDS, FIELDS, LENGTH, TABLETS = 300, 3, 20, 4
OPERATIONS = 300
STALL, TARGET, SECONDS = 1.5, 200, 4


@pytest.fixture(scope="module")
def loaded(store_settings: Settings) -> Iterator[Settings]:
    """A stack with a table that YCSB has loaded."""
    result = load_records(store_settings, LoadRequest(TABLE, RECORDS, FIELDS, LENGTH, TABLETS, threads=2))
    assert result.output.returns == {"INSERT": {"BATCHED_OK": RECORDS}}
    yield store_settings
    with Store.open(store_settings) as store:
        drop_table(store.connection, TABLE)


def read_records(settings: Settings) -> dict[str, dict[str, bytes]]:
    """Returns all records of the table, read through our own connection, as fields by key."""
    records: dict[str, dict[str, bytes]] = defaultdict(dict)
    everything = Ranges()
    everything.add_rows(b"", None)
    with Store.open(settings) as store:
        for batch in store.scan(EntryScan(TABLE, everything)):
            for entry in batch.to_pylist():
                records[entry["row"].decode()][entry["qualifier"].decode()] = entry["value"]
    return records


def key_of(number: int) -> str:
    """The key of a record, as YCSB makes it: a hash of its number (FNV-1, 64 bits, signed)."""
    hashed = 0xCBF29CE484222325
    for _ in range(8):
        hashed = ((hashed ^ (number & 0xFF)) * 1099511628211) & (1 << 64) - 1
        number >>= 8
    return f"user{abs(hashed - (1 << 64) if hashed >> 63 else hashed)}"


def test_all_records_that_were_loaded_can_be_read_and_runs_add_theirs(loaded: Settings, tmp_path: Path) -> None:
    records = read_records(loaded)
    assert set(records) == {key_of(number) for number in range(RECORDS)}
    for fields in records.values():
        assert sorted(fields) == [f"field{number}" for number in range(FIELDS)]
        assert {len(value) for value in fields.values()} == {LENGTH}
    with Store.open(loaded) as store:
        tables = store.connection.client.tableOperations()
        assert len(tables.listSplits(TABLE)) == TABLETS - 1
        assert str(tables.getConfiguration(TABLE)["table.cache.block.enable"]) == "true"

    # Records that are in a buffer are not found; where each write is flushed, all are.
    held, flushed = (
        run_workload(loaded, RunRequest(WORKLOADS["D"], TABLE, OPERATIONS, threads=3, flush=flush), tmp_path / "kept")
        for flush in (False, True)
    )
    assert held.output.count("INSERT", "BATCHED_OK") == held.output.count("INSERT") > 0
    assert held.output.count("READ", "NOT_FOUND") > 0
    assert flushed.output.count("INSERT", "OK") == flushed.output.count("INSERT") > 0
    assert flushed.output.returns["READ"] == {"OK": flushed.output.count("READ")}
    for output in (held.output, flushed.output):
        assert output.operations == OPERATIONS and not output.failures
        assert output.operations_per_second == pytest.approx(OPERATIONS / output.seconds, rel=0.01)
        done = sum(latency.operations for name, latency in output.latencies.items() if name.startswith(("READ", "INS")))
        assert done == OPERATIONS
    assert (tmp_path / "kept").read_text().startswith("[OVERALL], RunTime(ms), ")

    # The second run went on where the first one ended.
    inserted = held.output.count("INSERT") + flushed.output.count("INSERT")
    assert set(read_records(loaded)) == {key_of(number) for number in range(RECORDS + inserted)}


def test_a_server_that_stands_still_shows_in_latency_from_when_operations_were_due(loaded: Settings) -> None:
    servers = [process for path in (loaded.home / "run").glob("tserver*.json") if (process := find_process(path))]
    request = RunRequest(WORKLOADS["A"], TABLE, TARGET * SECONDS, threads=2, target=TARGET, flush=True)
    with start_workload(loaded, request) as run:
        assert_no_secret_in_arguments(loaded, run.pid)
        wait_for_operations(run.pid)
        time.sleep(1)
        try:
            for server in servers:
                os.kill(server.pid, signal.SIGSTOP)
            time.sleep(STALL)
        finally:
            for server in servers:
                os.kill(server.pid, signal.SIGCONT)
        output = run.finish(request.operations).output
    assert output.operations == request.operations and not output.failures
    for operation in ("READ", "UPDATE"):
        plain, intended = output.latencies[operation], output.latencies[f"Intended-{operation}"]
        # Each thread waited once: two operations of some 400 of a kind at most.
        assert max(plain.highest, intended.highest) > STALL * 900
        assert plain.percentiles["99"] < STALL * 500 < intended.percentiles["95"]


def wait_for_operations(pid: int) -> None:
    """Waits until YCSB's client has begun with threads of its own."""
    until = time.monotonic() + 30
    while not any((task / "comm").read_text().startswith("Thread-") for task in Path(f"/proc/{pid}/task").iterdir()):
        assert time.monotonic() < until
        time.sleep(0.05)


def assert_no_secret_in_arguments(settings: Settings, pid: int) -> None:
    secrets = [path.read_text().strip() for path in settings.secret_folder.glob("*.password")]
    assert len(secrets) >= 3
    process = psutil.Process(pid)
    told = "\n".join([*process.cmdline(), *process.environ().values()])
    files = [
        path
        for folder in Path(tempfile.gettempdir()).glob("watchfloor-ycsb-*")
        for path in folder.iterdir()
        if path.is_file()
    ]
    told += "\n".join(path.read_text("utf-8", "replace") for path in files)
    assert not [secret for secret in secrets if secret in told]


def test_a_load_that_was_interrupted_ends_its_client_and_cannot_be_run(store_settings: Settings) -> None:
    table = f"{TABLE}_part"
    with start_load(store_settings, LoadRequest(table, records=100_000_000, tablets=1)) as run:
        wait_for_operations(run.pid)
        pid = run.pid
    assert not psutil.pid_exists(pid)
    with pytest.raises(UserError, match="was not loaded to its end"):
        run_workload(store_settings, RunRequest(WORKLOADS["C"], table))
    with Store.open(store_settings) as store:
        drop_table(store.connection, table)


def test_what_cannot_be_run_is_said(loaded: Settings, tmp_path: Path) -> None:
    status, _, said = run_command(loaded, "ycsb", "run", "X")
    assert (status, said) == (2, "watchfloor: unknown workload 'X'; known are A, B, C, D, E, F, insert\n")
    status, _, said = run_command(loaded, "ycsb", "run", "A", "--buffer", "much")
    assert (status, said) == (2, "watchfloor: --buffer: 'much' is not a size such as 256m or 1g\n")
    status, _, said = run_command(loaded, "ycsb", "run", "A", "--out", str(tmp_path / "none" / "file"))
    assert status == 2 and "file cannot be written: No such file or directory" in said
    for command, reason in (
        (("run", "C", "--table", "bench_nothing"), "no table bench_nothing: run `watchfloor ycsb load` first"),
        (("load", "--table", TABLE), f"table {TABLE} exists: --again drops it"),
        (("load", "--table", ITEMS_TABLE, "--again"), f"table {ITEMS_TABLE} exists, and was not made by"),
    ):
        status, out, said = run_command(loaded, "ycsb", *command)
        assert (status, out) == (2, "") and said.startswith(f"watchfloor: {reason}")


def test_a_store_that_is_down_is_said_within_seconds(store_settings: Settings, tmp_path: Path) -> None:
    properties = tmp_path / "cluster.properties"
    lines = store_settings.client_properties.read_text().splitlines()
    there = [line for line in lines if not line.startswith(("instance.zookeepers", "watchfloor.connect"))]
    properties.write_text("\n".join([*there, "instance.zookeepers=127.0.0.1:9", "watchfloor.connect.timeout=1"]))
    down = replace(
        store_settings, cluster_properties=properties, ingest_password=store_settings.password_file("ingest")
    )
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:9"):
        run_workload(down, RunRequest(WORKLOADS["C"], TABLE))
    assert time.monotonic() - began < 15
