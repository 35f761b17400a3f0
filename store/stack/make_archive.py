"""Makes the archives of classes with which servers and clients start in half the time.

``make setup`` runs this once (``python -m watchfloor.store.stack.make_archive``). It runs a stack in a scratch folder,
records the classes that its servers and a client load, and makes Java write these to archives. For the archives' folder
and use see ``store/runtime/class_archive.py``.
"""

from __future__ import annotations

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
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.class_archive import CLIENT_ARCHIVE, SERVER_ARCHIVE, archive_folder
from watchfloor.store.runtime.core_site import CORE_SITE
from watchfloor.store.runtime.jars import client_class_path, list_archivable_jars
from watchfloor.store.runtime.java_home import find_java

from .servers.command import run_command
from .stack import start_stack, stop_stack

_SECONDS = 240
# The client whose classes are recorded: it makes the calls of every client, on tables that every stack has.
_CLIENT = """
import sys
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.store import Store
from watchfloor.store.admin.tables import ITEMS_TABLE
with Store.open(load_settings(sys.argv[1])) as store:
    store.catalog.read_sources()
    store.put(ITEMS_TABLE, [(b"row", b"", b"column", b"value")])
    ranges = Ranges()
    ranges.add_rows(b"", None)
    for ordered in (True, False):
        assert list(store.scan(EntryScan(ITEMS_TABLE, ranges, ordered=ordered)))
"""


def make_archives(settings: Settings) -> None:
    """Makes both archives unless they exist. Raises WatchfloorError or OSError when that fails."""
    java, jars = find_java(), list_archivable_jars(settings.jars)
    folder = archive_folder(settings.jars, java, jars)
    servers, clients = folder / SERVER_ARCHIVE, folder / CLIENT_ARCHIVE
    if servers.exists() and clients.exists():
        return
    print("setup: noting which classes servers and clients load, by running a stack once", flush=True)
    shutil.rmtree(folder.parent, ignore_errors=True)
    for archive in (servers, clients):
        _class_list_folder(archive).mkdir(parents=True)
    with zipfile.ZipFile(folder / "core-site.jar", "w") as jar:
        jar.writestr("core-site.xml", CORE_SITE)
    deadline = time.monotonic() + _SECONDS
    try:
        with _record_loaded_classes(_class_list_folder(servers)):
            start_stack(settings)
        with _record_loaded_classes(_class_list_folder(clients)):
            run_command(settings, "client", [sys.executable, "-c", _CLIENT, str(settings.home)], deadline)
    finally:
        with _record_loaded_classes(_class_list_folder(servers)):
            stop_stack(settings)
    _dump_archive(settings, servers, jars, deadline)
    _dump_archive(settings, clients, client_class_path(settings.jars)[:-1], deadline)


def _class_list_folder(archive: Path) -> Path:
    """Returns the folder with the lists of loaded classes, a file per JVM, from which an archive is made."""
    return archive.with_suffix("")


@contextmanager
def _record_loaded_classes(folder: Path) -> Iterator[None]:
    """Makes every JVM that starts within the ``with`` block write the list of its loaded classes into ``folder``."""
    os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:DumpLoadedClassList={folder}/%p"
    try:
        yield
    finally:
        del os.environ["JAVA_TOOL_OPTIONS"]


def _dump_archive(settings: Settings, archive: Path, class_path: list[Path] | list[str], deadline: float) -> None:
    """Writes an archive of all classes that were recorded for it, in one step, and removes the records."""
    lists = _class_list_folder(archive)
    names = dict.fromkeys(
        line for path in sorted(lists.glob("*")) for line in path.read_text("utf-8", "replace").splitlines()
    )
    (lists / "all").write_text("\n".join(names) + "\n")
    unfinished = archive.parent / "new"
    command = [str(find_java() / "bin/java"), "-Xshare:dump", "-Xlog:disable", "-Xmx512m"]
    command += [f"-XX:SharedClassListFile={lists / 'all'}", f"-XX:SharedArchiveFile={unfinished}"]
    command += ["-cp", ":".join(map(str, class_path))]
    run_command(settings, "archive", command, deadline)
    # Whoever runs this installation may use the archive.
    unfinished.chmod(0o644)
    unfinished.rename(archive)
    shutil.rmtree(lists)


def main() -> None:
    """Makes the archives with a stack in a scratch folder. They are optional: a failure is only reported."""
    with tempfile.TemporaryDirectory(prefix="watchfloor-") as scratch:
        try:
            make_archives(load_settings(scratch, overrides={"small": "on"}))
        except (WatchfloorError, OSError) as error:
            print(f"setup: no class archives, servers and clients start slower: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
