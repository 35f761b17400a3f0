"""A stack keeps its files in HDFS: its servers are killed while events come in and none is lost, and nobody without a
ticket gets at a file.

One stack of this file's own. Without MIT Kerberos the file is skipped, which fails in continuous integration.

In `make soak`: NameNode, DataNodes and the rest are started several times, for minutes in all.
"""

from __future__ import annotations

import json
import os
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
from wire import Wire

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge import jvm
from watchfloor.store.stack.hdfs.hdfs_site import VOLUME, hdfs_uri
from watchfloor.store.stack.home.stack_state import load_state
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.stack.supervision.supervised import stop_supervisor
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    require_kerberos()
    with stack_folder() as plain:
        settings = replace(plain, **SMALL)  # type: ignore[arg-type]
        start_stack(settings, datanodes=3)
        definition = tmp_path_factory.mktemp("hdfs") / "source.json"
        definition.write_text(json.dumps(SOURCE))
        refused = run(settings, "sources", "add", str(definition), policy="RS-6-3-1024k")
        assert refused.returncode and "RS-6-3-1024k, which needs 9 DataNodes" in refused.stderr, refused.stderr
        done = run(settings, "sources", "add", str(definition), policy="XOR-2-1-1024k")
        assert done.returncode == 0, done.stderr
        yield settings


def test_a_datanode_and_the_namenode_are_killed_in_a_load_and_no_event_is_lost(
    settings: Settings, tmp_path: Path
) -> None:
    files = [write_events(tmp_path / f"{name}.json", 20_000) for name in ("first", "second", "third")]
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "--home", str(settings.home), "load", "--source"]
    with subprocess.Popen([*command, str(SOURCE["name"]), *map(str, files)], stderr=subprocess.PIPE) as load:
        for name in ("datanode2", "namenode"):
            time.sleep(2)
            kill(settings, name)
        _, errors = load.communicate(timeout=300)
    assert load.returncode == 0, errors.decode()
    assert read_words(settings) == list_words(("first", 20_000), ("second", 20_000), ("third", 20_000))
    deadline = time.monotonic() + 60
    while (status := run(settings, "status")).returncode and time.monotonic() < deadline:
        time.sleep(1)
    assert status.returncode == 0, status.stdout
    assert "HDFS with 3 DataNodes" in status.stdout.splitlines()[0]


PUT = """
import sys
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import call_java
from watchfloor.store.bridge.hadoop_files import prepare_hadoop
prepare_hadoop(load_settings(sys.argv[1]))
files = jvm.java_class("watchfloor.bridge.sink.BulkFiles")
for local, address in zip(sys.argv[2::2], sys.argv[3::2]):
    call_java(files.put, local, address)
"""


def test_log_files_in_hdfs_are_loaded(settings: Settings, tmp_path: Path) -> None:
    state = load_state(settings)
    assert state is not None
    folder = f"{hdfs_uri(state)}{VOLUME}/watchfloor-bulk/logs"
    local = [write_events(tmp_path / f"{name}.json", 3_000) for name in ("inner", "other")]
    moves = [text for path in local for text in (str(path), f"{folder}/day/{path.name}")]
    done = subprocess.run(
        [sys.executable, "-c", PUT, str(settings.home), *moves], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    before = read_words(settings)
    for turn in ("first", "second"):
        done = run(settings, "load", "--source", str(SOURCE["name"]), f"{folder}/*/inner.json", f"{folder}/day")
        assert done.returncode == 0, done.stderr
        assert sorted(before + list_words(("inner", 3_000), ("other", 3_000))) == read_words(settings), turn
    missing = run(settings, "load", "--source", str(SOURCE["name"]), f"{folder}/nothing.json")
    assert missing.returncode and "nothing.json: no file is there" in missing.stderr, missing.stderr


def test_files_are_the_operators_and_a_principal_without_rights_or_ticket_is_refused(settings: Settings) -> None:
    folder = settings.home / "data/hdfs"
    assert not [path for path in folder.rglob("*") if path.stat().st_mode & 0o077]
    state = load_state(settings)
    assert state is not None
    code = """
import sys
from watchfloor.store.bridge import jvm
from watchfloor.schema.settings.load import load_settings
settings = load_settings(sys.argv[1])
jvm.start_jvm(settings.jars, settings.jvm_heap)
credentials = jvm.java_class("watchfloor.bridge.Credentials")
login = None if sys.argv[2] == "-" else credentials.ofPrincipal(*sys.argv[2:4], str(settings.kerberos_file))
jvm.java_class("watchfloor.bridge.HadoopClient").use(str(settings.conf_folder), login)
for name in jvm.java_class("watchfloor.bridge.sink.BulkFiles").names(sys.argv[4]):
    print(name)
"""
    volume = f"hdfs://localhost:{state.ports['namenode']}/accumulo"
    secret = settings.secret_folder

    def list_volume(user: str, keytab: Path | str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, str(settings.home), user, str(keytab), volume]
        # A client that tells a name, as HDFS without Kerberos would believe.
        told = os.environ | {"HADOOP_USER_NAME": "hdfs", "KRB5CCNAME": "FILE:/nonexistent"}
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=told)

    ours = list_volume(settings.find_principal("ingest"), secret / "ingest.keytab")
    assert {"tables", "wal"} <= set(ours.stdout.split()), ours.stderr
    query = list_volume(settings.find_principal("query"), secret / "query.keytab")
    assert query.returncode and "Permission denied" in query.stderr, query.stdout
    nobody = list_volume("-", "-")
    assert nobody.returncode and not nobody.stdout, nobody.stdout


def test_its_file_system_stays_and_datanodes_are_never_taken_away(settings: Settings) -> None:
    with pytest.raises(StackError, match="may get more, not fewer"):
        start_stack(settings, datanodes=2)


@pytest.mark.parametrize("below", ["", "/wal"])
def test_a_policy_on_the_volume_or_on_its_logs_is_refused_with_the_reason(settings: Settings, below: str) -> None:
    with Store.open(settings) as store:
        bulk = jvm.java_class("watchfloor.bridge.sink.BulkFiles")
        folder = jvm.java_class("org.apache.hadoop.fs.Path")(f"{bulk.volume(store.connection.java)}{below}")
        files = bulk.system(str(folder))
        files.setErasureCodingPolicy(folder, "XOR-2-1-1024k")
        # `up` leaves a stack alone of which everything runs.
        stop_supervisor(settings)
        kill(settings, "gc")
        try:
            with pytest.raises(StackError, match="write-ahead logs must be replicated, as HDFS neither flushes nor"):
                start_stack(settings)
        finally:
            files.unsetErasureCodingPolicy(folder)
    start_stack(settings)


@pytest.mark.parametrize("level, readable", [("auth-conf", False), ("ssl", False), ("none", True)])
def test_a_level_of_security_holds_on_the_ports_of_datanodes_too(
    settings: Settings, tmp_path: Path, level: str, readable: bool
) -> None:
    before = read_words(settings)
    start_stack(settings, security=level)
    state = load_state(settings)
    assert state is not None
    word = f"needle{level.replace('-', '')}"
    with Wire([port for name, port in state.ports.items() if name.startswith("datanode")]) as wire:
        done = run(settings, "load", str(write_events(tmp_path / f"{word}.json", 20)), "--source", str(SOURCE["name"]))
        assert done.returncode == 0, done.stderr
    assert read_words(settings) == sorted(before + list_words((word, 20)))
    # The write-ahead log is not compressed.
    assert wire.bytes_seen > 1_000
    assert bool(wire.count(word.encode())) == readable
