"""An item whose file one host cannot open is read on another host, or fails with the names of the hosts that tried.

In `make test`: the other host is a process with a host name and mounts of its own, where the system allows these.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from ingest_support import RUN, counts, exactly, ledger_rows, log_file, own, source, wait_for
from ingest_support import load as load_here
from loaded import load

from watchfloor.ingest.queue.other_hosts import read_hosts
from watchfloor.ingest.queue.work_queue import queue_lag
from watchfloor.schema.errors import QueueError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.process_identity import name_this_process
from watchfloor.store.store import Store

NAMESPACES = ["unshare", "--uts", "--mount"]
LINES = 3000
IMPATIENT = """
import watchfloor.ingest.worker.claim as claim
claim.HOST_SECONDS = 3.0  # for which an item waits for a host with its file
"""
HERE = name_this_process().partition(":")[0]


def can_unshare() -> bool:
    try:
        return subprocess.run([*NAMESPACES, "true"], capture_output=True, timeout=30).returncode == 0
    except OSError:
        return False


pytestmark = [
    pytest.mark.stack,
    pytest.mark.skipif(not can_unshare(), reason="no namespaces of host names and mounts may be made here"),
]


@contextmanager
def worker_elsewhere(settings: Settings, folder: Path, host: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a worker on a host of this name, on which ``folder`` is empty; ends it and its children.

    What is imported as a worker starts is in the folder above.
    """
    elsewhere = f'hostname {host} && mount -t tmpfs none "{folder}" && exec "$@"'
    code = "import sys; from watchfloor.api.cli.main import main; sys.exit(main())"
    arguments = ["--home", str(settings.home), "worker", "--workers", "1"]
    command = [*NAMESPACES, "sh", "-c", elsewhere, "sh", sys.executable, "-c", code, *arguments]
    queue = {"TOPIC": settings.topic, "GROUP": settings.group, "PARTITIONS": str(settings.partitions)}
    environment = {**os.environ, **{f"WATCHFLOOR_{name}": value for name, value in queue.items()}}
    environment["PYTHONPATH"] = str(folder.parent)
    worker = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: host in hosts_of(settings), 90)
        yield worker
    finally:
        worker.terminate()
        worker.wait(timeout=60)


def hosts_of(settings: Settings) -> set[str]:
    try:
        return set(read_hosts(settings).values())
    except QueueError:
        return set()


def test_a_file_that_no_host_with_workers_has(store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "elsewhere")
    folder = tmp_path / "sensors"
    folder.mkdir()
    log = folder / "conn.log"
    head = f"#separator \\x09\n#path\telsewhere{RUN}\n#fields\tts\thost\n#types\ttime\tstring\n"
    log.write_text(f"{head}1772323200.0\ta\n")
    (tmp_path / "sitecustomize.py").write_text(IMPATIENT)
    with worker_elsewhere(settings, folder, "elsewhere"):
        result = load(settings, log, workers=0)
    (failed,) = [reason for file in result.files for reason in file.failed]
    assert "conn.log: cannot be read on elsewhere: No such file or directory; no other host has workers" in failed
    assert f"it was queued on {HERE}: give a host with workers the folder under this path" in failed
    assert load(settings, log, workers=1).events == 1


def test_items_go_to_the_host_that_has_their_file(store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "passed")
    kind = source("passed")
    folder = tmp_path / "sensors"
    folder.mkdir()
    log = log_file(folder / "a.log", LINES)
    killed = threading.Event()
    with (
        Store.open(settings) as store,
        worker_elsewhere(settings, folder, "far") as far,
        ThreadPoolExecutor(1) as threads,
    ):
        store.catalog.register(kind)
        killing = threads.submit(kill_when_it_passes_items_on, far, store, log, killed)
        try:
            result = load_here(settings, log, feed=kind.name)
        finally:
            killed.set()
        assert killing.result() >= 1, "no worker was killed"
        assert not result.failed and (result.events, result.quarantined) == (LINES, 0)
        wait_for(lambda: queue_lag(settings) == 0)
        rows = ledger_rows(store, log)
        assert {row.state for row in rows} == {"done"} and {row.by.partition(":")[0] for row in rows} == {HERE}
        assert any(row.run and "far" in row.run.missed for row in rows), "none came to the host without the file"
        assert counts(store, kind) == exactly(kind, LINES)


def kill_when_it_passes_items_on(pool: subprocess.Popen[bytes], store: Store, log: Path, end: threading.Event) -> int:
    """Kills the pool's worker as soon as an item was given back by it. Returns the number of processes killed."""
    while not end.is_set():
        if any(row.run and row.run.missed for row in ledger_rows(store, log)):
            workers = psutil.Process(pool.pid).children()
            for worker in workers:
                worker.kill()
            return len(workers)
    return 0
