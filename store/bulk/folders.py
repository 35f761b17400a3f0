"""Where files for bulk imports lie, and the removal of what killed workers have left there.

A folder's name begins with the process that made it. Which processes of another machine are gone cannot be told here:
a worker removes those of its own machine.
"""

from __future__ import annotations

import socket

import psutil

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.sources import Connection, _java
from watchfloor.store.store import Store

_CLUSTER_FOLDER = "watchfloor-bulk"


def folder_root(settings: Settings, connection: Connection) -> str:
    """The folder of all folders: on a file system that the store's servers read. Raises ``StoreError``."""
    if settings.local_accumulo:
        return f"file://{settings.home}/data/bulk"
    volume = _java(jvm.java_class("watchfloor.bridge.sink.BulkFiles").volume, connection.java)
    return f"{volume}/{_CLUSTER_FOLDER}"


def folder_name(unique: str, table: str) -> str:
    """A folder of this process."""
    return f"{_owner(psutil.Process())}~{unique}~{table}"


def remove_left_overs(store: Store) -> list[str]:
    """Removes folders of processes of this machine that are gone; their names. Raises ``StoreError``."""
    files = jvm.java_class("watchfloor.bridge.sink.BulkFiles")
    root = folder_root(store.settings, store.connection)
    left = [name for name in map(str, _java(files.names, root)) if _is_left_over(name)]
    for name in left:
        _java(files.remove, f"{root}/{name}")
    return left


def _owner(process: psutil.Process) -> str:
    """A pid is given out again by the system; with the time of its start it names one process."""
    return f"{socket.gethostname()}~{process.pid}~{process.create_time():.0f}"


def _is_left_over(name: str) -> bool:
    host, *rest = name.split("~")
    if host != socket.gethostname() or len(rest) != 4:
        return False
    try:
        process = psutil.Process(int(rest[0]))
        return abs(process.create_time() - float(rest[1])) > 1 or process.status() == psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, ValueError):
        return True
