"""Nothing can be appended to a log that the manager does not know to be one of a living tablet server.

In `make test`: a short process of Java asks the ZooKeeper of the run's stack.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import make_private_folder
from watchfloor.store.stack.accounts.zookeeper_login import login_option
from watchfloor.store.stack.home.stack_state import load_state

pytestmark = pytest.mark.stack

# Writes a log's header, and then an entry, with the configuration of a server.
APPEND = """
import json, os, sys
import jpype
jars, properties, log, home, login = json.loads(sys.argv[1])
jpype.startJVM(login, classpath=[f"{jars}/*"])
system = jpype.JClass("java.lang.System")
system.setProperty("accumulo.properties", f"file://{properties}")
system.setProperty("java.io.tmpdir", home)
configuration = jpype.JClass("org.apache.hadoop.conf.Configuration")()
local = jpype.JClass("watchfloor.stack.files.LocalFiles")
configuration.setClass("fs.file.impl", local, jpype.JClass("org.apache.hadoop.fs.FileSystem"))
files = local()
files.initialize(jpype.JClass("java.net.URI")("file:///"), configuration)
out = files.create(jpype.JClass("org.apache.hadoop.fs.Path")(log))
out.write(b"header")
out.hsync()
out.write(b"entry")
try:
    out.hsync()
    print("acknowledged")
except jpype.JException as error:
    print(error.getMessage())
sys.stdout.flush()
os._exit(0)
"""


def append(settings: Settings, log: Path, folder: Path) -> str:
    given = [
        *map(str, (settings.jars, settings.conf_folder / "accumulo.properties", log, folder)),
        login_option(settings),
    ]
    done = subprocess.run(
        [sys.executable, "-c", APPEND, json.dumps(given)], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("server", ["a living server", "no server"])
def test_an_entry_of_an_unknown_log_is_not_acknowledged(store_settings: Settings, tmp_path: Path, server: str) -> None:
    state = load_state(store_settings)
    assert state is not None
    port = state.ports["tserver1" if server == "a living server" else "gc"]
    log = store_settings.home / "data" / "accumulo" / "wal" / f"127.0.0.1+{port}" / str(uuid.uuid4())
    # Whoever makes a file makes its folder, open as the umask leaves it; a server's folder is closed.
    make_private_folder(log.parent)
    try:
        assert "counts as dead" in append(store_settings, log, tmp_path)
    finally:
        log.unlink()
