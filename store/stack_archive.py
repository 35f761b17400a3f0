"""An archive of the servers' classes, loaded and verified beforehand: it halves the work of starting a JVM.

``make setup`` makes it once, by running a stack in a scratch folder and noting which classes its servers load
(``python -m watchfloor.store.stack_archive``). A JVM takes an archive only with the very class path that it was made
for, so that path holds no folder and ours, the jar that changes, comes after it. Without an archive all works as well.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from watchfloor.schema.errors import WatchfloorError
from watchfloor.store.settings import Settings, load_settings

CORE_SITE = """<?xml version="1.0"?>
<!-- Hadoop's own local file system ignores sync, and the write-ahead log would lose data without a word. -->
<configuration>
  <property><name>fs.file.impl</name><value>org.apache.hadoop.fs.RawLocalFileSystem</value></property>
  <property><name>fs.AbstractFileSystem.file.impl</name><value>org.apache.hadoop.fs.local.RawLocalFs</value></property>
</configuration>
"""
_SECONDS = 240


def cache(settings: Settings, java: Path, jars: list[Path]) -> Path:
    """The folder of the archive for this Java and these jars, beside the jars; it need not exist."""
    release = java / "release"
    parts = [str(java), release.read_text() if release.exists() else "", CORE_SITE]
    parts += [f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in jars]
    return settings.jars.parent / "cds" / hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def make(settings: Settings) -> Path:
    """Makes the archive unless it is there, and returns it. Raises WatchfloorError or OSError when that fails."""
    # Here, because a stack looks for the archive when it starts.
    from watchfloor.store.stack import down, up
    from watchfloor.store.stack_errand import run
    from watchfloor.store.stack_java import archived_jars, find_java

    java, jars = find_java(), archived_jars(settings)
    folder = cache(settings, java, jars)
    archive = folder / "servers.jsa"
    if archive.exists():
        return archive
    print("setup: noting which classes the servers load, by running a stack once", flush=True)
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "core-site.jar", "w") as jar:
        jar.writestr("core-site.xml", CORE_SITE)
    os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:DumpLoadedClassList={folder}/%p.classes"
    try:
        up(settings)
    finally:
        down(settings)
        del os.environ["JAVA_TOOL_OPTIONS"]
    lists = sorted(folder.glob("*.classes"))
    names = dict.fromkeys(line for path in lists for line in path.read_text(errors="replace").splitlines())
    (folder / "all").write_text("\n".join(names) + "\n")
    command = [str(java / "bin/java"), "-Xshare:dump", "-Xlog:disable", "-Xmx512m"]
    command += [f"-XX:SharedClassListFile={folder / 'all'}", f"-XX:SharedArchiveFile={folder / 'new'}"]
    command += ["-cp", ":".join(map(str, (folder / "core-site.jar", *jars)))]
    run(settings, "archive", command, time.monotonic() + _SECONDS)
    (folder / "new").rename(archive)
    for path in (*lists, folder / "all"):
        path.unlink()
    return archive


def main() -> None:
    """Makes the archive in a scratch stack. It is an extra: when it fails, this says so and exits 0."""
    with tempfile.TemporaryDirectory(prefix="watchfloor-") as scratch:
        try:
            make(load_settings(scratch))
        except (WatchfloorError, OSError) as error:
            print(f"setup: no class archive, servers start slower: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
