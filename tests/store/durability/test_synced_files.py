"""What ``LocalFiles`` writes is on the disk when it is closed, renamed or made, if the durability is ``sync``.

In `make test`: one short process of Java writes some files.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from power_cut import Disk, cut_power, recorded

# Writes as a tablet server does, and as a worker does for an import; leaves what nobody relies on: a file that is open.
WRITE = """
import os, sys
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.bridge import jvm
jvm.start_jvm(load_settings().jars)
URI = jvm.java_class("java.net.URI")
path = jvm.java_class("org.apache.hadoop.fs.Path")
configuration = jvm.java_class("org.apache.hadoop.conf.Configuration")()
configuration.set("watchfloor.files.durability", sys.argv[1])
files = jvm.java_class("watchfloor.stack.files.LocalFiles")()
files.initialize(URI("file:///"), configuration)
home = sys.argv[2]
def create(name):
    out = files.create(path(f"{home}/{name}"))
    out.write(b"0123456789")
    return out
create("tables/1/tablet/F1.rf_tmp").close()
files.rename(path(f"{home}/tables/1/tablet/F1.rf_tmp"), path(f"{home}/tables/1/tablet/F1.rf"))
files.mkdirs(path(f"{home}/tables/1/import"))
files.rename(path(f"{home}/tables/1/tablet/F1.rf"), path(f"{home}/tables/1/import/I1.rf"))
plain = jvm.java_class("watchfloor.stack.files.LocalFiles")()
plain.initialize(URI("file:///"), jvm.java_class("org.apache.hadoop.conf.Configuration")())
out = plain.create(path(f"{home}/tables/1/import/appended"))
out.write(b"01234")
out.close()
if sys.argv[1] == "sync":
    appended = plain.append(path(f"{home}/tables/1/import/appended"))
    appended.hsync()
    appended.close()
    files.mkdirs(path(f"{home}/tables/1/import/later"))
log = create("wal/host+1/log")
log.hsync()
log.write(b"not acknowledged")
log.flush()
create("unfinished").flush()
os._exit(0)
"""


def write_files(folder: Path, durability: str) -> Disk:
    folder.mkdir()
    with recorded(folder.parent) as notes:
        subprocess.run([sys.executable, "-c", WRITE, durability, folder], check=True, timeout=60)
    return Disk.read(notes)


def sizes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("durability", "left"),
    [
        ("sync", {"tables/1/import/I1.rf": 10, "tables/1/import/appended": 5, "wal/host+1/log": 10, "unfinished": 0}),
        ("flush", {}),
    ],
)
def test_after_a_power_cut_there_is_what_was_closed_or_synced(
    tmp_path: Path, durability: str, left: dict[str, int]
) -> None:
    folder = tmp_path / "accumulo"
    disk = write_files(folder, durability)
    written = {"tables/1/import/I1.rf": 10, "tables/1/import/appended": 5, "wal/host+1/log": 26, "unfinished": 10}
    assert sizes(folder) == written
    lost = cut_power(folder, disk)
    assert sizes(folder) == left
    assert {"unfinished", "wal/host+1/log"} <= set(lost)
