"""Clones of tables: the state of a table at one moment, which shares the table's files.

A clone's name tells the process that made it, so that those which a killed process has left are found and dropped.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence

import jpype

from watchfloor.schema.errors import StoreError
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.runtime.process_identity import ProcessIdentity

from .tables import INSTANCE_NAMESPACE, call_for_each, drop_table, list_tables

_PREFIX = f"{INSTANCE_NAMESPACE}.clone_"


def name_clones(tables: Sequence[str]) -> dict[str, str]:
    """Returns a new name for a clone of each table, by the table's name."""
    maker = f"{ProcessIdentity.of_pid().mark}~{secrets.token_hex(4)}"
    # A table's name has letters, digits and underscores only.
    text = base64.b32encode(maker.encode()).decode().rstrip("=")
    return {table: f"{_PREFIX}{text}_{number}" for number, table in enumerate(tables)}


def clone_tables(connection: Connection, clones: dict[str, str]) -> None:
    """Clones tables, given with the names of their clones, with all that is durable now. Raises ``StoreError``."""
    operations = connection.client.tableOperations()
    none = jpype.JClass("java.util.Collections")

    def clone(table: str) -> None:
        operations.clone(table, clones[table], True, none.emptyMap(), none.emptySet())

    try:
        call_for_each(list(clones), clone)
    except jpype.JException as error:
        raise StoreError(f"cannot clone {', '.join(clones)}: {error.getMessage()}") from error


def drop_clones(connection: Connection, clones: Sequence[str]) -> None:
    """Drops clones, those that do not exist too."""
    if clones:
        call_for_each(list(clones), lambda name: drop_table(connection, name))


def drop_stale_clones(connection: Connection) -> list[str]:
    """Drops the clones of this machine's processes that have ended, and returns their names."""
    stale = [name for name in list_tables(connection) if name.startswith(_PREFIX) and _is_stale(name)]
    drop_clones(connection, stale)
    return stale


def _is_stale(name: str) -> bool:
    text = name.removeprefix(_PREFIX).rpartition("_")[0]
    try:
        maker = base64.b32decode(text + "=" * (-len(text) % 8)).decode()
        return ProcessIdentity.of_mark(maker.rpartition("~")[0]).is_gone()
    except ValueError:
        return False
