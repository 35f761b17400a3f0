"""Removes entries of expired events from tables, by compactions with a filter, and tells what tables take on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jpype

from watchfloor.store.bridge.connection import Connection

from .tables import call_for_each

_FILTER, _PRIORITY = "watchfloor.retention.ExpiredFilter", 40


def remove_expired_rows(connection: Connection, options: Mapping[str, Mapping[str, str]]) -> None:
    """Writes the files of tables anew without the entries that are expired, and returns when that is done.

    ``options`` are those of Java's ``ExpiredFilter`` by table. Files of which nothing is left are not written.
    """
    operations = connection.client.tableOperations()

    def compact(table: str) -> None:
        setting = jpype.JClass("org.apache.accumulo.core.client.IteratorSetting")(_PRIORITY, "expired", _FILTER)
        for name, value in options[table].items():
            setting.addOption(name, value)
        config = jpype.JClass("org.apache.accumulo.core.client.admin.CompactionConfig")()
        settings = jpype.JClass("java.util.ArrayList")()
        settings.add(setting)
        operations.compact(table, config.setFlush(True).setWait(True).setIterators(settings))

    call_for_each(list(options), compact)


def read_table_bytes(connection: Connection, tables: Sequence[str]) -> int:
    """Returns the bytes of the files of tables, without entries that are only in memory yet."""
    names = jpype.JClass("java.util.HashSet")()
    for table in tables:
        names.add(table)
    return sum(int(usage.getUsage()) for usage in connection.client.tableOperations().getDiskUsage(names))
