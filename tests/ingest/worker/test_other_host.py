"""A worker on a host that lacks the file of its item says so, and which host has queued it.

In `make test`: the other host is a process with a host name and mounts of its own, where the system allows these.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ingest_support import RUN, own
from loaded import load

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.process_identity import name_this_process

pytestmark = pytest.mark.stack
NAMESPACES = ["unshare", "--uts", "--mount"]


def can_unshare() -> bool:
    try:
        return subprocess.run([*NAMESPACES, "true"], capture_output=True, timeout=30).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not can_unshare(), reason="no namespaces of host names and mounts may be made here")
def test_a_worker_without_the_file_says_so(store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "elsewhere")
    folder = tmp_path / "sensors"
    folder.mkdir()
    log = folder / "conn.log"
    head = f"#separator \\x09\n#path\telsewhere{RUN}\n#fields\tts\thost\n#types\ttime\tstring\n"
    log.write_text(f"{head}1772323200.0\ta\n")
    elsewhere = f'hostname elsewhere && mount -t tmpfs none "{folder}" && exec "$@"'
    code = "import sys; from watchfloor.api.cli.main import main; sys.exit(main())"
    arguments = ["--home", str(settings.home), "worker", "--workers", "1"]
    command = [*NAMESPACES, "sh", "-c", elsewhere, "sh", sys.executable, "-c", code, *arguments]
    queue = {"TOPIC": settings.topic, "GROUP": settings.group, "PARTITIONS": str(settings.partitions)}
    environment = {**os.environ, **{f"WATCHFLOOR_{name}": value for name, value in queue.items()}}
    worker = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        result = load(settings, log, workers=0)
    finally:
        worker.terminate()
        worker.communicate(timeout=60)
    (failed,) = [reason for file in result.files for reason in file.failed]
    here = name_this_process().partition(":")[0]
    assert "conn.log: cannot be read: No such file or directory on elsewhere, where this worker runs; " in failed
    assert f"it was queued on {here}: give each host with workers the folder under this path" in failed
    assert load(settings, log, workers=1).events == 1
