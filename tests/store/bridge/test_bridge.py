"""The bridge reports refusals by their cause, ends scans that are closed, and leaves no memory in the JVM.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import jpype
import pyarrow as pa
import pytest
from bridge_tables import binary, connect, entries, events_batch, read, request_hosts, scan_events, shards, sink
from own_stack import unsupervised
from scan_sessions import assert_scans_end

from watchfloor.schema.errors import InternalError, StoreError
from watchfloor.schema.settings.credentials import Credentials
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.bridge.streams import EventStream
from watchfloor.store.bridge.waiting import read_waited_seconds

pytestmark = pytest.mark.stack


def refused(connection: Connection, table: str, batch: pa.RecordBatch, cause: str) -> None:
    writer = sink(connection)
    with pytest.raises(StoreError, match=rf"{table}.*{cause}"):
        writer.write_entries(table, batch)
        writer.flush()
    with pytest.raises(StoreError, match="failed before"):
        writer.write_entries(table, batch)
    with pytest.raises(StoreError, match="failed before"):
        writer.flush()
    writer.close()


def test_the_time_for_which_a_full_writer_waits_is_known(connection: Connection, table: str) -> None:
    before = read_waited_seconds()
    time.sleep(0.2)
    assert read_waited_seconds() == before, "Python's own time is none of it"
    began, writer = time.monotonic(), EntrySink(connection, 1 << 20, 1, 200)
    for first in range(0, 16_000, 400):
        rows = [b"%08d" % n for n in range(first, first + 400)]
        writer.write_entries(table, entries(row=rows, value=[os.urandom(4096) for _ in rows]))
    waited = read_waited_seconds() - before
    assert 0.01 < waited < time.monotonic() - began, "64 MB have no room in 1 MB"
    writer.close()


def test_a_missing_table(connection: Connection) -> None:
    refused(connection, "bridge_none", entries(row=[b"r"]), "does not exist")
    with pytest.raises(StoreError, match=r"bridge_none.*does not exist"):
        read(connection, "bridge_none")


def test_a_bad_visibility(connection: Connection, table: str) -> None:
    refused(connection, table, entries(row=[b"r"], visibility=[b"a&"]), "visibility")


def test_a_violated_constraint(connection: Connection, table: str) -> None:
    constraint = "org.apache.accumulo.core.data.constraints.DefaultKeySizeConstraint"
    operations = connection.client.tableOperations()
    if constraint not in {str(name) for name in operations.listConstraints(table)}:
        operations.addConstraint(table, constraint)
    refused(connection, table, entries(row=[b"r" * (1 << 20 | 1)]), "DefaultKeySizeConstraint")


def test_no_permission(store_settings: Settings, table: str) -> None:
    with connect(store_settings, role="query") as reader:
        refused(reader, table, entries(row=[b"r"]), "PERMISSION")
        with pytest.raises(StoreError, match=f"{table}.*PERMISSION"):
            read(reader, table)


def test_a_wrong_password(store_settings: Settings) -> None:
    with pytest.raises(StoreError, match="wrong password"):
        Connection.connect(store_settings, store_settings.client_properties.read_text(), Credentials("root", "guess"))


def test_a_store_that_is_down_is_said_so_at_once(store_settings: Settings) -> None:
    properties = "instance.name=none\ninstance.zookeepers=127.0.0.1:1\nwatchfloor.connect.timeout=2\n"
    # The client goes on trying for twice this, and holds up all other connections of the process meanwhile.
    properties += "instance.zookeepers.timeout=2s\n"
    begin = time.monotonic()
    with pytest.raises(StoreError, match=r"none at 127\.0\.0\.1:1 does not answer"):
        Connection.connect(store_settings, properties, Credentials("root", "secret"))
    assert time.monotonic() - begin < 10


def test_a_row_without_cells_is_our_error(connection: Connection, table: str) -> None:
    batch = pa.RecordBatch.from_arrays([binary([b"r"]), binary([None])], names=["row", "field"])
    writer = sink(connection)
    with pytest.raises(InternalError, match="no cell"):
        writer.write_rows(table, batch)
    writer.close()


def test_close_from_another_thread_ends_a_scan(connection: Connection, events: str) -> None:
    stream = EventStream(connection, [], request_hosts(events))
    batches = iter(stream)
    next(batches)
    closer = threading.Timer(0.2, stream.close)
    closer.start()
    with pytest.raises(StoreError, match="closed before its end"):
        for _ in batches:
            time.sleep(0.05)
    closer.join()
    stream.close()
    assert_scans_end(connection, events)


def test_a_scan_closed_at_its_start_leaves_nothing_on_the_servers(connection: Connection, events: str) -> None:
    for millis in range(40):
        stream = EventStream(connection, [], request_hosts(events))
        time.sleep(millis / 4000)
        stream.close()
    assert_scans_end(connection, events)


def test_no_memory_is_left_at_exit(store_settings: Settings, events: str) -> None:
    """A process that ends with a scan half read, batches in hand and a sink open ends quietly, with its own status."""
    credentials = store_settings.read_credentials("ingest")
    program = textwrap.dedent(f"""
        import sys
        from watchfloor.schema.settings.load import load_settings
        from watchfloor.schema.settings.credentials import Credentials
        from watchfloor.store.bridge.connection import Connection
        from watchfloor.store.bridge.requests import EntryScan
        from watchfloor.store.bridge.sinks import EntrySink
        from watchfloor.store.bridge.streams import EntryStream
        from watchfloor.store.encoding.ranges import Ranges
        settings = load_settings({str(store_settings.home)!r})
        credentials = Credentials({credentials.user!r}, sys.stdin.read())
        connection = Connection.connect(settings, settings.client_properties.read_text(), credentials)
        ranges = Ranges()
        ranges.add_rows(b"", None)
        kept = iter(EntryStream(connection, [], EntryScan({events!r}, ranges, batch_rows=10)))
        first = next(kept)
        sink = EntrySink(connection, 1 << 20, 1, 0)
        sys.exit(7)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=credentials.password,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


def test_java_holds_no_vectors(connection: Connection, table: str, events: str) -> None:
    allocated = jpype.JClass("watchfloor.bridge.columns.ArrowMemory").allocated
    gc.collect()  # What tests before this one have read may wait for it.
    before = allocated()
    batches = scan_events(connection, events, shards(), ["host"])
    with sink(connection) as writer:
        writer.write_rows(table, events_batch(100))
    assert allocated() > before
    del batches
    assert allocated() <= before


def test_java_that_collects_its_garbage_does_not_have_python_collect_everything() -> None:
    program = textwrap.dedent("""
        import gc
        import time

        import jpype

        from watchfloor.schema.settings.settings import Settings
        from watchfloor.store.bridge.jvm import start_jvm

        start_jvm(Settings().jars, "64m")
        before = gc.get_stats()[2]["collections"]
        for _ in range(400):
            jpype.JArray(jpype.JByte)(1 << 20)
        collectors = jpype.JClass("java.lang.management.ManagementFactory").getGarbageCollectorMXBeans()
        time.sleep(0.5)
        print(sum(each.getCollectionCount() for each in collectors), gc.get_stats()[2]["collections"] - before)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    java, python = map(int, done.stdout.split())
    assert java > 10
    assert python <= 1, "JPype begins one, and is not told that it has ended"


def test_a_forked_process_is_refused(connection: Connection) -> None:
    child = os.fork()
    if child == 0:
        try:
            jvm.java_class("java.lang.String")
        except InternalError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.crash
def test_a_killed_server_is_said_within_the_time_out(store_settings: Settings, table: str) -> None:
    """Last in this file: it leaves the stack to be repaired."""
    with connect(store_settings, "\nwatchfloor.write.timeout=4\nwatchfloor.connect.timeout=4\n") as brief:
        writer = sink(brief)
        writer.write_rows(table, events_batch(100))
        writer.flush()
        servers = [json.loads(path.read_text())["pid"] for path in (store_settings.home / "run").glob("tserver*.json")]
        assert servers
        with unsupervised(store_settings):
            for pid in servers:
                os.kill(pid, signal.SIGKILL)
            begin = time.monotonic()
            with pytest.raises(StoreError, match=table):
                writer.write_rows(table, events_batch())
                writer.flush()
            writer.close()
            assert time.monotonic() - begin < 30
    with connect(store_settings) as again:
        assert len({row[0] for row in read(again, table)}) >= 100
