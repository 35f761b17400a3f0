"""The continuous suite on a real store: what it writes, walks and verifies, beside plain Python over all entries.

In `make test`: its tables have some ten thousand entries.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from table_entries import Entry, count_rows, delete_entries, overwrite_entries, read_entries

from watchfloor.loadgen.continuous.clients import ClientKind, run_clients, start_clients
from watchfloor.loadgen.continuous.collector import COLUMNS
from watchfloor.loadgen.continuous.ingest import IngestOptions, sum_ingest
from watchfloor.loadgen.continuous.main import main
from watchfloor.loadgen.continuous.readers import ReaderOptions, sum_reads
from watchfloor.loadgen.continuous.table import TableLayout, TableRows, create_table
from watchfloor.loadgen.continuous.verify import Verification, verify_table
from watchfloor.loadgen.continuous.visibilities import LABELS, STUDY_AUTHORIZATIONS, STUDY_VISIBILITIES
from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store
from watchfloor.store.workloads.client_process import Record
from watchfloor.store.workloads.drop_table import drop_table

pytestmark = pytest.mark.stack
SMALL = IngestOptions(entries=6_000, interval=200, depth=5, buffer=1_000_000)
RUN = f"{os.getpid()}"


def verify(settings: Settings, rows: TableRows, memory: int = 32 << 20) -> tuple[Verification, list[Record]]:
    told: list[Record] = []
    return verify_table(settings, rows, threads=2, memory=memory, heap="128m", heard=told.append), told


def counts(verification: Verification) -> dict[str, int]:
    return {name: n for name, n in asdict(verification).items() if name != "seconds"}


@pytest.fixture(scope="module")
def labelled(store_settings: Settings) -> Iterator[TableRows]:
    """A table that three clients have written, with visibilities, checksums and values of many sizes."""
    rows = TableRows(f"bench_labelled_{RUN}")
    create_table(store_settings, rows, TableLayout(7, authorizations=STUDY_AUTHORIZATIONS))
    options = replace(SMALL, visibilities=STUDY_VISIBILITIES, least_filler=3, most_filler=300)
    done = sum_ingest(run_clients(store_settings, options.make_client(rows), 3, 1))
    assert done.entries >= 3 * SMALL.entries and done.flushes >= 3 * SMALL.entries // SMALL.interval
    yield rows
    drop_table(store_settings, rows.name)


@pytest.fixture(scope="module")
def entries(store_settings: Settings, labelled: TableRows) -> list[Entry]:
    with Store.open(store_settings) as store:
        return read_entries(store.connection, labelled.name, LABELS)


def test_entries_are_those_of_the_public_tool(entries: list[Entry]) -> None:
    uuids = set()
    for entry in entries:
        assert len(entry.row) == 16 and len(entry.family) == len(entry.qualifier) == 4
        assert 0 <= int(entry.row, 16) < (1 << 63) - 1 and int(entry.family, 16) < 32767 > int(entry.qualifier, 16)
        uuid, count, previous = entry.value.split(b":")[:3]
        assert len(uuid) == 36 and len(count) == 16 and len(previous) in (0, 16)
        assert entry.is_intact
        uuids.add(uuid)
    assert len(uuids) == 3
    assert {entry.visibility for entry in entries} <= {text.encode() for text in STUDY_VISIBILITIES}
    assert len({entry.visibility for entry in entries}) > 3
    assert len({len(entry.value) for entry in entries}) > 50


def test_all_lists_of_a_block_are_joined(entries: list[Entry]) -> None:
    # Whatever is not the last entry of the last list, or of the newest round of one of two blocks, is pointed to.
    found = count_rows(entries)
    assert found["undefined"] == 0
    blocks = 3 * (SMALL.entries // (SMALL.interval * SMALL.depth) + 2)
    assert found["unreferenced"] <= 3 * 2 * SMALL.interval + blocks


@pytest.mark.parametrize("memory", [32 << 20, 40_000])
def test_the_verification_equals_plain_python(
    store_settings: Settings, labelled: TableRows, entries: list[Entry], memory: int
) -> None:
    found, told = verify(store_settings, labelled, memory)
    assert counts(found) == count_rows(entries) and found.is_right
    assert not [record for record in told if "undefined" in record or "corrupt" in record]


def test_walkers_with_the_authorizations_of_the_study_miss_nothing(
    store_settings: Settings, labelled: TableRows
) -> None:
    reader = ReaderOptions(lookups=300, sleep=0, authorizations=STUDY_AUTHORIZATIONS, report=0, batch=50, wanted=400)
    for kind in ("walk", "batchwalk", "scan"):
        lookups = 300 if kind == "walk" else 10
        client = replace(reader, lookups=lookups).make_client(kind, labelled)
        found = sum_reads(run_clients(store_settings, client, 2, 1))
        assert found.requests == 2 * lookups and found.missing == found.corrupt == 0
        assert found.entries > 0 and 0 < found.least <= found.mean <= found.most


@pytest.fixture
def table(store_settings: Settings) -> Iterator[TableRows]:
    """A table that one client has written."""
    rows = TableRows(f"bench_lists_{RUN}")
    create_table(store_settings, rows, TableLayout(3))
    run_clients(store_settings, SMALL.make_client(rows), 1, 5)
    yield rows
    drop_table(store_settings, rows.name)


def test_each_of_a_hundred_removed_and_a_hundred_damaged_entries_is_found(
    store_settings: Settings, table: TableRows
) -> None:
    with Store.open(store_settings) as store:
        entries = read_entries(store.connection, table.name)
        pointed = {entry.previous for entry in entries}
        drawn = random.Random(3).sample([entry for entry in entries if entry.row in pointed], 200)
        removed, damaged = drawn[:100], [replace(entry, value=b"X" + entry.value[1:]) for entry in drawn[100:]]
        delete_entries(store.connection, table.name, removed)
        overwrite_entries(store.connection, table.name, damaged)
        expected = count_rows(read_entries(store.connection, table.name))
    found, told = verify(store_settings, table)
    assert counts(found) == expected and not found.is_right
    corrupt = [record["corrupt"] for record in told if "corrupt" in record]
    assert len(corrupt) == 100 == expected["corrupt"]
    assert {text.split()[0].encode() for text in corrupt} == {entry.row for entry in damaged}
    undefined = {record["undefined"].encode() for record in told if "undefined" in record}
    # A row whose entry is removed or damaged is undefined if an intact entry still points to it.
    intact = {entry.row for entry in entries} - {entry.row for entry in drawn}
    still = {entry.previous for entry in entries if entry.row in intact}
    assert undefined == {entry.row for entry in drawn if entry.row in still}
    assert len(undefined) > 150

    walker = ReaderOptions(lookups=2_000, sleep=0, report=0).make_client("walk", table)
    records = run_clients(store_settings, walker, 1, 1)
    missing = {record["missing"].encode() for record in records[0] if "missing" in record}
    assert missing and missing <= {entry.row for entry in removed}


@pytest.mark.timeout(120)
def test_clients_of_so_many_seconds_end_when_the_waiting_is_interrupted(
    store_settings: Settings, labelled: TableRows
) -> None:
    reader = ReaderOptions(sleep=10, report=0, authorizations=STUDY_AUTHORIZATIONS).make_client("scan", labelled)
    interrupt = threading.Timer(4, os.kill, [os.getpid(), signal.SIGINT])
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        run_clients(store_settings, reader, 2, 1, seconds=3600)
    interrupt.join()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("make", [IngestOptions.make_client, IngestOptions.make_plain_client])
def test_endless_ingest_ends_when_the_waiting_is_interrupted(
    store_settings: Settings, make: Callable[[IngestOptions, TableRows], ClientKind]
) -> None:
    rows = TableRows(f"bench_endless_{RUN}")
    create_table(store_settings, rows, TableLayout(1))
    interrupt = threading.Timer(4, os.kill, [os.getpid(), signal.SIGINT])
    interrupt.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_clients(store_settings, make(replace(SMALL, entries=1 << 40), rows), 1, 1)
    finally:
        interrupt.join()
        drop_table(store_settings, rows.name)


def test_a_client_that_is_killed_leaves_nothing_undefined(store_settings: Settings) -> None:
    rows = TableRows(f"bench_killed_{RUN}")
    create_table(store_settings, rows, TableLayout(2))
    endless = replace(SMALL, entries=1 << 62)
    try:
        flushes = []
        with (
            pytest.raises(StoreError, match="exit status -9"),
            start_clients(
                store_settings, endless.make_client(rows), 1, 1, lambda number, record: flushes.append(record)
            ) as running,
        ):
            kill = signal.SIGKILL

            def hear(number: int, record: Record) -> None:
                flushes.append(record)
                if len(flushes) == 12:
                    os.kill(running._clients[0].pid, kill)

            running._heard = hear
            running.wait()
        found, _ = verify(store_settings, rows)
        assert found.is_right and found.entries >= 10 * SMALL.interval
    finally:
        drop_table(store_settings, rows.name)


def test_a_signal_stops_ingest_after_a_flush_and_a_read_sum_is_printed(
    store_settings: Settings, tmp_path: Path
) -> None:
    name = f"bench_signal_{RUN}"
    environment = {**os.environ, "WATCHFLOOR_HOME": str(store_settings.home)}
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "continuous"]
    subprocess.run([*command, "createtable", "--table", name, "--tablets", "1"], env=environment, check=True)
    try:
        ingest = subprocess.Popen(
            [*command, "ingest", "--table", name, "--interval", "500", "--buffer", "1000000"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert ingest.stdout is not None and "uuid" in json.loads(ingest.stdout.readline())
        for _ in range(3):
            assert json.loads(ingest.stdout.readline())["interval"] == 500
        ingest.terminate()
        out, errors = ingest.communicate(timeout=60)
        total = json.loads(out.splitlines()[-1])["entries"]
        assert ingest.returncode == 0 and f"{total:,} entries by 1 clients" in errors, errors
        found, _ = verify(store_settings, TableRows(name))
        assert found.is_right and total - 500 <= found.entries <= total
    finally:
        drop_table(store_settings, name)


def test_the_collector_writes_the_columns_of_the_original(
    store_settings: Settings, table: TableRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("WATCHFLOOR_HOME", str(store_settings.home))
    out = tmp_path / "stats"
    until = time.monotonic() + 60
    # Another test may have started a second server.
    servers = str(len(list((store_settings.home / "run").glob("tserver*.json"))))
    wanted, found = (True, servers), (False, "")
    # The manager asks the servers every few seconds, and lists one that another test has killed for half a minute.
    while found != wanted and time.monotonic() < until:
        arguments = ["stats", "--table", table.name, "--interval", "0.2", "--samples", "2", "--out", str(out)]
        assert main(arguments) == 0
        head, *lines = out.read_text().splitlines()
        assert head.split() == list(COLUMNS.values()) and len(lines) == 2
        numbers = dict(zip(head.split(), lines[-1].split(), strict=True))
        found = (int(numbers["TABLE_RECS"]) >= SMALL.entries, numbers["TABLET_SERVERS"])
    assert len(numbers) == 27
    assert found == wanted
    assert numbers["TABLE_TABLETS"] == numbers["TABLE_TABLETS_ONLINE"] == "3"
    assert int(numbers["TOTAL_ENTRIES"]) >= int(numbers["TABLE_RECS"]) and numbers["MAP_TASK"] == "0"
    assert out.stat().st_mode & 0o077 == 0


def test_what_does_not_fit_is_refused_with_the_remedy(
    store_settings: Settings, table: TableRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHFLOOR_HOME", str(store_settings.home))
    bad = tmp_path / "bad"
    bad.write_text("A&\n")
    for arguments, message in [
        (["createtable", "--table", table.name], "--again replaces it"),
        (["createtable", "--table", "watchfloor.sources", "--again"], "without a namespace"),
        (["createtable", "--table", "x", "--tablets", "0"], "--tablets is 0"),
        (["createtable", "--table", "x", "--property", "table.split"], "write NAME=VALUE"),
        (["ingest", "--table", table.name, "--clients", "0"], "--clients is 0"),
        (["ingest", "--table", table.name, "--interval", "0"], "--interval is 0"),
        (["ingest", "--table", table.name, "--first-row", "5", "--end-row", "5"], "rows go from 5"),
        (["ingest", "--table", table.name, "--visibilities", str(tmp_path / "no")], "cannot be read"),
        (
            ["ingest", "--table", table.name, "--visibilities", str(bad), "--entries", "1"],
            "bad visibility A&: empty term",
        ),
        (["walk", "--table", table.name, "--lookups", "0"], "--lookups is 0"),
        (["verify", "--table", table.name, "--memory", "400"], "less --memory, or more --heap"),
        (["stats", "--table", "bench_nothing", "--samples", "1"], "make it with createtable"),
    ]:
        with pytest.raises(UserError, match=message):
            main(arguments)
    for arguments, message in [
        (["ingest", "--table", "bench_nothing", "--entries", "1"], "the table does not exist"),
        (["verify", "--table", "bench_nothing"], "bench_nothing"),
    ]:
        with pytest.raises(StoreError, match=message):
            main(arguments)


def test_a_heap_that_java_refuses_is_told(store_settings: Settings) -> None:
    with pytest.raises(StoreError, match="ended with the exit status 1"):
        verify_table(store_settings, TableRows("bench_nothing"), heap="much")


def test_an_empty_table_has_nothing_to_walk(store_settings: Settings) -> None:
    rows = TableRows(f"bench_empty_{RUN}")
    create_table(store_settings, rows, TableLayout(1))
    try:
        with pytest.raises(UserError, match="found no entry to start from"):
            run_clients(store_settings, ReaderOptions(sleep=0).make_client("walk", rows), 1, 1)
        assert not any(counts(verify(store_settings, rows)[0]).values())
    finally:
        drop_table(store_settings, rows.name)
