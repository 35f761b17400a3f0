"""Look-ups on the real store: what is written by each codec, what a reader notices, and what cannot be run.

In `make test`: a client takes a second or two, most of them for the start of its JVM.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run_command

from watchfloor.loadgen.lookups.look_up import look_up_rows, repeat_lookups
from watchfloor.loadgen.lookups.options import CODECS, LookupLoad, LookupTable
from watchfloor.loadgen.lookups.write_table import write_table
from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import delete_rows
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

NAME = f"bench_lookups_test{os.getpid()}"
ROWS, TABLETS, SEED = 1500, 3, 7
MASK = (1 << 64) - 1
LOAD = LookupLoad(executors=3, queries=4, warm_up=0.0)


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    """The store, without the tables of these tests at the end."""
    with Store.open(store_settings) as opened:
        yield opened
        tables = opened.connection.client.tableOperations()
        for table in [str(table) for table in tables.list() if str(table).startswith(NAME)]:
            tables.delete(table)


@pytest.fixture(scope="module")
def small(store: Store) -> str:
    """A table of ten rows, all of which each look-up asks for. Whoever changes it changes it back."""
    write_table(store.settings, LookupTable(f"{NAME}_small", 10, "zstd", 2), 1)
    return f"{NAME}_small"


def mix(number: int) -> int:
    """SplitMix64, as its authors give it."""
    mixed = (number + 0x9E3779B97F4A7C15) & MASK
    mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & MASK
    mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & MASK
    return mixed ^ mixed >> 31


def expect_row(number: int, rows: int, seed: int) -> tuple[bytes, dict[bytes, bytes]]:
    """A row and its values by qualifier, as ``LookupRows`` in Java describes them."""
    step, base = ((1 << 63) - 1) // rows, mix(seed) + number * 11
    values = {b"c%d" % c: b"this is column %d of a row %04x" % (c, mix(base + c & MASK) & 0xFFFF) for c in range(10)}
    return b"%016x" % (number * step + mix(base + 10 & MASK) % step), values


def read_rows(store: Store, table: str) -> dict[bytes, dict[bytes, bytes]]:
    """All rows of a table, read through our own connection."""
    everything, rows = Ranges(), dict[bytes, dict[bytes, bytes]]()
    everything.add_rows(b"", None)
    for batch in store.scan(EntryScan(table, everything)):
        for entry in batch.to_pylist():
            assert entry["family"] == b"d"
            assert rows.setdefault(entry["row"], {}).setdefault(entry["qualifier"], entry["value"]) == entry["value"]
    return rows


def test_each_codec_writes_all_rows_in_files_of_its_own_size(store: Store) -> None:
    expected = dict(expect_row(number, ROWS, SEED) for number in range(ROWS))
    assert len(expected) == ROWS and list(expected) == sorted(expected)
    sizes, tables = {}, store.connection.client.tableOperations()
    for codec in CODECS:
        table = LookupTable(f"{NAME}_{codec}", ROWS, codec, TABLETS, SEED)
        written = write_table(store.settings, table, 2)
        assert read_rows(store, table.name) == expected, codec
        assert str(tables.getTableProperties(table.name)["table.file.compress.type"]) == codec
        assert len(tables.listSplits(table.name)) == TABLETS - 1
        folder = store.settings.home / "data/accumulo/tables" / written.table_id
        files = [path.stat().st_size for path in folder.rglob("I*.rf")]
        assert len(files) == TABLETS and sum(files) == written.bytes
        sizes[codec] = written.bytes
    assert sizes["none"] > 3 * sizes["snappy"] > 3 * sizes["gz"]
    assert sizes["none"] > 3 * sizes["lz4"] and sizes["none"] > 5 * sizes["zstd"]
    assert len(set(sizes.values())) == len(CODECS)


def test_rounds_by_several_processes_add_up(store: Store) -> None:
    table = LookupTable(f"{NAME}_rounds", 5, "snappy", 8, SEED)
    write_table(store.settings, table, 2)
    for result in repeat_lookups(store.settings, table.name, replace(LOAD, processes=2), 2):
        found = result.latencies
        assert found.lookups == LOAD.executors * LOAD.queries == sum(found.buckets) == sum(found.counts.values())
        assert (result.rows, result.batch) == (5, 5)
        assert 0 < found.min <= found.find_percentile(50) <= found.find_percentile(99.9) <= found.max
        assert found.min <= found.mean <= found.max and found.sum < 1000 * 3 * 2 * result.seconds


def test_cold_look_ups_meet_files_that_were_never_read(store: Store, small: str) -> None:
    def files() -> set[str]:
        table_id = str(store.connection.client.tableOperations().tableIdMap()[small])
        everything, names = Ranges(), set()
        everything.add_rows(f"{table_id};".encode(), f"{table_id}=".encode())
        for batch in store.scan(EntryScan("accumulo.metadata", everything)):
            names |= {str(e["qualifier"]) for e in batch.to_pylist() if e["family"] == b"file"}
        return names

    before = files()
    assert look_up_rows(store.settings, small, LOAD, "cold").latencies.lookups == 12
    assert before and len(files()) == len(before) and not files() & before


def test_a_row_that_is_gone_is_an_error_that_names_it(store: Store, small: str) -> None:
    row, values = expect_row(4, 10, 1)
    delete_rows(store.connection, small, [row])
    with pytest.raises(StoreError, match=f"row {row.decode()}, number 4, has 0 of 10 columns"):
        look_up_rows(store.settings, small, LOAD)
    store.put(small, [(row, b"d", qualifier, value) for qualifier, value in values.items()])


@pytest.mark.parametrize(
    ("qualifier", "value", "said"),
    [
        (b"c3", b"this is column 3 of a row", "has another value in column c3 than was written: this is column 3"),
        (b"c10", b"one too many", "has a column that was not written: c10"),
    ],
)
def test_a_cell_that_is_wrong_is_an_error_that_names_it(
    store: Store, small: str, qualifier: bytes, value: bytes, said: str
) -> None:
    row, values = expect_row(9, 10, 1)
    store.put(small, [(row, b"d", qualifier, value)])
    with pytest.raises(StoreError, match=f"row {row.decode()}, number 9, {said}"):
        look_up_rows(store.settings, small, LOAD)
    delete_rows(store.connection, small, [row])
    store.put(small, [(row, b"d", qualifier, value) for qualifier, value in values.items()])


def test_a_table_that_is_there_is_left_alone(store: Store, small: str) -> None:
    with pytest.raises(UserError, match=f"table {small} exists: --again replaces it"):
        write_table(store.settings, LookupTable(small, 3), 1)
    foreign = f"{NAME}_foreign"
    store.connection.client.tableOperations().create(foreign)
    with pytest.raises(UserError, match="was not made by `watchfloor lookups write`"):
        write_table(store.settings, LookupTable(foreign, 3), 1, again=True)
    assert len(read_rows(store, small)) == 10


def test_commands_print_ours_and_the_studys_figures(store: Store, small: str, tmp_path: Path) -> None:
    path = tmp_path / "read.json"
    line = ("lookups", "read", "--table", small, "--state", "warm", "--executors", "2", "--queries", "5")
    status, out, said = run_command(store.settings, *line, "--warm-up", "0", "--json", str(path), "--format", "ndjson")
    ours, *study = (json.loads(row) for row in out.splitlines())
    assert (status, ours["of"], len(study)) == (0, "here, warm", 8)
    assert {"of": "study, Replication, 16 nodes", "min_ms": 11, "mean_ms": 23, "max_ms": 731} in study
    assert "10 look-ups of 10 of 10 rows" in said and "all rows were right" in said
    written = json.loads(path.read_text())
    assert written["lookups"] == sum(written["buckets"].values()) == sum(count for _, count in written["counts"]) == 10
    status, _, said = run_command(store.settings, "lookups", "read", "--table", "bench_nothing")
    assert status == 2 and "there is no table bench_nothing: `watchfloor lookups write` makes one" in said
