"""Archives of classes, loaded and verified beforehand: they halve the work of starting a JVM, a server's or a client's.

``make setup`` makes them once, by running a stack in a scratch folder and noting which classes its servers load, and
which a client of it (``python -m watchfloor.store.stack.make_archive``). A JVM takes an archive only with a class path
that begins as the one that it was made for, so that path holds no folder, and ours, the jar that changes, comes
after it.
Without an archive all works as well.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from watchfloor.schema.errors import WatchfloorError
from watchfloor.schema.settings.settings import Settings, load_settings

SERVERS, CLIENTS = "servers.jsa", "clients.jsa"
CORE_SITE = """<?xml version="1.0"?>
<!-- Hadoop's own local file system ignores sync, and the write-ahead log would lose data without a word. -->
<configuration>
  <property><name>fs.file.impl</name><value>watchfloor.stack.LocalFiles</value></property>
  <property><name>fs.AbstractFileSystem.file.impl</name><value>org.apache.hadoop.fs.local.RawLocalFs</value></property>
</configuration>
"""
_SECONDS = 240
# What every client does sooner or later, on tables that every stack has.
_CLIENT = """
import sys
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.schema.settings.settings import load_settings
from watchfloor.store.store import Store
from watchfloor.store.admin.tables import ITEMS_TABLE
with Store.open(load_settings(sys.argv[1])) as store:
    store.sources()
    store.put(ITEMS_TABLE, [(b"row", b"", b"column", b"value")])
    ranges = Ranges()
    ranges.add_rows(b"", None)
    for ordered in (True, False):
        assert list(store.scan(ITEMS_TABLE, ranges, ordered=ordered))
"""


def cache(folder: Path, java: Path, jars: list[Path]) -> Path:
    """The folder of the archives for this Java and these jars of ``folder``, beside that; it need not exist."""
    release = java / "release"
    parts = [str(java), release.read_text() if release.exists() else "", CORE_SITE]
    parts += [f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in jars]
    return folder.parent / "cds" / hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def flags(archive: Path) -> list[str]:
    """The JVM's options for an archive, none if that is not there."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"] if archive.exists() else []


def make(settings: Settings) -> None:
    """Makes the archives unless they are there. Raises WatchfloorError or OSError when that fails."""
    # Here, because a stack looks for its archive when it starts.
    from watchfloor.store.bridge import jvm
    from watchfloor.store.runtime.java_home import archived_jars, find_java

    from .errand import run
    from .stack import down, up

    java, jars = find_java(), archived_jars(settings.jars)
    folder = cache(settings.jars, java, jars)
    servers, clients = folder / SERVERS, folder / CLIENTS
    if servers.exists() and clients.exists():
        return
    print("setup: noting which classes servers and clients load, by running a stack once", flush=True)
    shutil.rmtree(folder.parent, ignore_errors=True)
    for part in (servers, clients):
        part.with_suffix("").mkdir(parents=True)
    with zipfile.ZipFile(folder / "core-site.jar", "w") as jar:
        jar.writestr("core-site.xml", CORE_SITE)
    deadline = time.monotonic() + _SECONDS
    try:
        with _noting_classes(servers.with_suffix("")):
            up(settings)
        with _noting_classes(clients.with_suffix("")):
            run(settings, "client", [sys.executable, "-c", _CLIENT, str(settings.home)], deadline)
    finally:
        with _noting_classes(servers.with_suffix("")):
            down(settings)
    for archive, path in (
        (servers, [folder / "core-site.jar", *jars]),
        (clients, jvm.class_path(settings.jars)[:-1]),
    ):
        noted = archive.with_suffix("")
        names = dict.fromkeys(
            line for one in sorted(noted.glob("*")) for line in one.read_text("utf-8", "replace").splitlines()
        )
        (noted / "all").write_text("\n".join(names) + "\n")
        command = [str(java / "bin/java"), "-Xshare:dump", "-Xlog:disable", "-Xmx512m"]
        command += [f"-XX:SharedClassListFile={noted / 'all'}", f"-XX:SharedArchiveFile={folder / 'new'}"]
        command += ["-cp", ":".join(map(str, path))]
        run(settings, "archive", command, deadline)
        (folder / "new").rename(archive)
        shutil.rmtree(noted)


@contextmanager
def _noting_classes(folder: Path) -> Iterator[None]:
    """Every JVM that is started meanwhile notes in ``folder`` which classes it loads."""
    os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:DumpLoadedClassList={folder}/%p"
    try:
        yield
    finally:
        del os.environ["JAVA_TOOL_OPTIONS"]


def main() -> None:
    """Makes the archive in a scratch stack. It is an extra: when it fails, this says so and exits 0."""
    with tempfile.TemporaryDirectory(prefix="watchfloor-") as scratch:
        try:
            make(load_settings(scratch))
        except (WatchfloorError, OSError) as error:
            print(f"setup: no class archives, servers and clients start slower: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
