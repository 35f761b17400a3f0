"""Imports sorted files of this host, which stay where they are, into a table."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

import jpype

from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import call_java
from watchfloor.store.store import Store

from .import_folders import import_root, name_import_folder


def import_files(store: Store, table: str, files: Sequence[Path]) -> None:
    """Copies files to where the servers read them, and makes the copies part of a table. Raises ``StoreError``."""
    if not files:
        return
    folder_class = jvm.java_class("watchfloor.bridge.sink.BulkFolder")
    put = jvm.java_class("watchfloor.bridge.sink.BulkFiles").put
    path = f"{import_root(store.settings, store.connection)}/{name_import_folder(secrets.token_hex(4), table)}"
    folder = call_java(folder_class, store.connection.java, table, path, store.settings.durability == "sync")
    try:
        for number, file in enumerate(files):
            call_java(put, str(file), f"{path}/{number:06d}.rf")
        call_java(folder_class.load, jpype.JArray(folder_class)([folder]))
    finally:
        call_java(folder.close)
