"""Removes entries of expired events from tables, by compactions with a filter, and tells what tables take on disk."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import jpype

from watchfloor.store.bridge.call import to_java_bytes
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.encoding.keys import reverse_time, shard_names

from .tables import call_for_each

_FILTER, _PRIORITY = "watchfloor.retention.ExpiredFilter", 40
RowRange = tuple[bytes | None, bytes | None]
"""Rows after the first and up to the second, as tablets have them; None is the table's begin or end."""


def remove_expired_events(connection: Connection, table: str, shards: int, kept_from: int) -> None:
    """Writes the tablets of an event table anew that have expired events, without these.

    The expired events of a shard are the last of its rows. So of a table with several tablets a shard only the oldest
    are written. ``kept_from`` is the time (µs) from which on events are kept.
    """
    splits = [bytes(split.copyBytes()) for split in connection.client.tableOperations().listSplits(table)]
    options = {"table": "events", "from": str(kept_from)}
    # Accumulo runs one compaction with a filter at a time on a table.
    for rows in find_expired_tablets(splits, shards, kept_from):
        _compact_range(connection, table, options, rows)


def find_expired_tablets(splits: Sequence[bytes], shards: int, kept_from: int) -> list[RowRange]:
    """Returns the tablets that may have events before ``kept_from`` (µs); neighbours are one range.

    ``splits`` are the rows with which all tablets but the last end, ascending.
    """
    tails = [(name + reverse_time(kept_from - 1), name[:-1] + bytes([name[-1] + 1])) for name in shard_names(shards)]
    bounds: list[bytes | None] = [None, *splits, None]
    found: list[RowRange] = []
    for place in sorted(
        {n for first, end in tails for n in range(bisect_left(splits, first), bisect_left(splits, end) + 1)}
    ):
        before, last = bounds[place], bounds[place + 1]
        if found and found[-1][1] == before:
            found[-1] = (found[-1][0], last)
        else:
            found.append((before, last))
    return found


def remove_expired_rows(connection: Connection, options: Mapping[str, Mapping[str, str]]) -> None:
    """Writes the files of tables anew without the entries that are expired, and returns when that is done.

    ``options`` are those of Java's ``ExpiredFilter`` by table. Files of which nothing is left are not written.
    """
    call_for_each(list(options), lambda table: _compact_range(connection, table, options[table], (None, None)))


def _compact_range(connection: Connection, table: str, options: Mapping[str, str], rows: RowRange) -> None:
    setting = jpype.JClass("org.apache.accumulo.core.client.IteratorSetting")(_PRIORITY, "expired", _FILTER)
    for name, value in options.items():
        setting.addOption(name, value)
    settings = jpype.JClass("java.util.ArrayList")()
    settings.add(setting)
    config = jpype.JClass("org.apache.accumulo.core.client.admin.CompactionConfig")()
    config = config.setStartRow(_to_text(rows[0])).setEndRow(_to_text(rows[1]))
    config = config.setFlush(True).setWait(True).setIterators(settings)
    connection.client.tableOperations().compact(table, config)


def _to_text(row: bytes | None) -> Any:
    return None if row is None else jpype.JClass("org.apache.hadoop.io.Text")(to_java_bytes(row))


def read_table_bytes(connection: Connection, tables: Sequence[str]) -> int:
    """Returns the bytes of the files of tables, without entries that are only in memory yet."""
    names = jpype.JClass("java.util.HashSet")()
    for table in tables:
        names.add(table)
    return sum(int(usage.getUsage()) for usage in connection.client.tableOperations().getDiskUsage(names))
