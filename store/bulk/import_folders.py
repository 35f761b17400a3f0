"""The folders with files for bulk imports: their names, and removal of those that killed workers have left.

A folder's name begins with the identity of the process that made it. A process cannot tell which processes of another
machine have ended, so a worker removes only folders of its own machine.
"""

from __future__ import annotations

import socket

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import call_java
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.runtime.process_identity import ProcessIdentity
from watchfloor.store.store import Store

_SHARED_FOLDER = "watchfloor-bulk"


def import_root(settings: Settings, connection: Connection) -> str:
    """Returns the folder of all import folders, on a file system that the servers read too. Raises ``StoreError``."""
    if settings.has_local_files:
        return _local_root(settings)
    volume = call_java(jvm.java_class("watchfloor.bridge.sink.BulkFiles").volume, connection.java)
    return f"{volume}/{_SHARED_FOLDER}"


def find_import_folder(settings: Settings, name: str) -> str:
    """Returns the path of an import folder; on HDFS it is relative to the first of the instance's volumes."""
    return f"{_local_root(settings)}/{name}" if settings.has_local_files else f"{_SHARED_FOLDER}/{name}"


def name_import_folder(unique: str, table: str) -> str:
    """Returns the name of a folder of this process; ``unique`` tells it apart from the process's other folders."""
    return f"{ProcessIdentity.of_pid().mark}~{unique}~{table}"


def remove_stale_folders(store: Store) -> list[str]:
    """Removes folders of this machine's processes that have ended, and returns their names. Raises ``StoreError``."""
    files = jvm.java_class("watchfloor.bridge.sink.BulkFiles")
    root = import_root(store.settings, store.connection)
    stale = [name for name in map(str, call_java(files.names, root)) if _is_stale(name)]
    for name in stale:
        call_java(files.remove, f"{root}/{name}")
    return stale


def _local_root(settings: Settings) -> str:
    return f"file://{settings.home}/data/bulk"


def _is_stale(name: str) -> bool:
    """Returns whether a folder was made by a process of this machine that has ended, or that its name does not tell."""
    host, *rest = name.split("~")
    if host != socket.gethostname() or len(rest) != 4:
        return False
    try:
        return ProcessIdentity.of_mark("~".join((host, *rest[:2]))).is_gone()
    except ValueError:
        return True
