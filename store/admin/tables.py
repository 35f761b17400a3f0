"""Creates, compacts and drops the tables of sources and of the instance, by Accumulo's own API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import jpype

from watchfloor.schema.source import Source
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.requests import REGEX_FILTER
from watchfloor.store.bridge.threads import JavaThreadPool
from watchfloor.store.encoding.keys import aggregate_table, event_table, index_table, shard_names, source_namespace

from .erasure_coding import choose_coding
from .labels import collect_labels

INSTANCE_NAMESPACE = "watchfloor"
CONTEXT_PROPERTY = "table.class.loader.context"
SOURCES_TABLE = "watchfloor.sources"
ITEMS_TABLE = "watchfloor.items"
QUARANTINE_TABLE = "watchfloor.quarantine"
DEAD_LETTERS_TABLE = "watchfloor.dead_letters"
LISTS_TABLE = "watchfloor.lists"
SIGHTINGS_TABLE = "watchfloor.sightings"
SIGHTINGS_SHARDS = 8
"""The number of shards of the table of sightings, for good."""
SEARCHES_TABLE = "watchfloor.searches"

_PROPERTIES: Mapping[str, str] = {
    "table.file.compress.type": "snappy",
    "table.cache.block.enable": "true",
    "table.cache.index.enable": "true",
}
_VECTOR_PROPERTIES: Mapping[str, str] = {**_PROPERTIES, "table.file.compress.type": "none"}
"""Properties of a table whose values are column vectors, each of which is compressed already."""
ZONES_PROPERTY = "table.custom.zones"
"""Says that all blocks of a table have zones, so that scans may rely on them. Tables of earlier versions lack it."""
_ZONE_PROPERTIES: Mapping[str, str] = {
    "table.groups.enabled": "zone",
    "table.group.zone": "zone",
    ZONES_PROPERTY: "true",
}
"""Properties by which zones stand apart from the vectors, in a locality group of their own."""


def source_tables(source: Source) -> tuple[str, str, str]:
    """Returns the names of a source's event, index and aggregate table."""
    return event_table(source), index_table(source), aggregate_table(source)


def create_source_tables(
    connection: Connection, source: Source, readers: Sequence[str], policy: str = "", zones: bool = True
) -> None:
    """Creates the missing ones of a source's three tables, with a tablet per shard; users ``readers`` may read them.

    ``policy`` is that of erasure coding of their files in HDFS, empty for replicas. ``zones`` says that all blocks that
    will be in the tables have zones. Raises ``StoreError`` if HDFS does not have the policy.
    """
    coding = choose_coding(connection, policy)
    _create_namespace(connection, source_namespace(source.name), readers)
    splits = shard_names(source.shards)[1:]
    names = source_tables(source)

    def create(name: str) -> None:
        _create_table(connection, name, splits, {**_choose_properties(source, name, zones), **coding})

    call_for_each(names, create)


def create_instance_tables(connection: Connection, readers: Sequence[str]) -> None:
    """Creates the tables that do not belong to one source, if they are missing; users ``readers`` may read them."""
    _create_namespace(connection, INSTANCE_NAMESPACE, readers)
    single = (SOURCES_TABLE, ITEMS_TABLE, QUARANTINE_TABLE, DEAD_LETTERS_TABLE, LISTS_TABLE, SEARCHES_TABLE)
    splits: Mapping[str, Sequence[bytes]] = {SIGHTINGS_TABLE: shard_names(SIGHTINGS_SHARDS)[1:]}
    exists = connection.client.tableOperations().exists
    if missing := [table for table in (SIGHTINGS_TABLE, *single) if not exists(table)]:
        call_for_each(missing, lambda table: _create_table(connection, table, splits.get(table, ()), _PROPERTIES))


def list_tables(connection: Connection) -> list[str]:
    """Returns the names of all tables of the instance."""
    return [str(name) for name in connection.client.tableOperations().list()]


def read_table_ids(connection: Connection) -> dict[str, str]:
    """Returns the IDs of all tables by name. The folder with a table's files is named by its ID."""
    ids = connection.client.tableOperations().tableIdMap()
    return {str(name): str(table_id) for name, table_id in ids.items()}


def have_zones(connection: Connection, table: str) -> bool:
    """Returns whether all blocks of an event table have zones."""
    return str(connection.client.tableOperations().getConfiguration(table).get(ZONES_PROPERTY)) == "true"


def drop_table(connection: Connection, table: str) -> None:
    """Removes a table if it exists."""
    if connection.client.tableOperations().exists(table):
        connection.client.tableOperations().delete(table)


def flush_table(connection: Connection, table: str) -> None:
    """Makes the tablet servers write a table's entries from memory to files. Returns when they have."""
    connection.client.tableOperations().flush(table, None, None, True)


def compact_tables(connection: Connection, tables: Sequence[str]) -> None:
    """Merges the files of each tablet, with the entries in memory, into one file. Returns when that is done."""
    operations = connection.client.tableOperations()
    call_for_each(tables, lambda name: operations.compact(name, None, None, True, True))


def compact_source(connection: Connection, source: Source) -> None:
    """Compacts the three tables of a source as ``compact_tables`` does."""
    compact_tables(connection, source_tables(source))


def begin_file_compactions(connection: Connection, tables: Sequence[str]) -> None:
    """Begins to write all files of the tables anew, without entries in memory. Does not wait for the end of this."""
    operations = connection.client.tableOperations()
    call_for_each(tables, lambda name: operations.compact(name, None, None, False, False))


def delete_rows(connection: Connection, table: str, rows: Iterable[bytes]) -> None:
    """Deletes whole rows of a table."""
    text, range_ = jpype.JClass("org.apache.hadoop.io.Text"), jpype.JClass("org.apache.accumulo.core.data.Range")
    ranges = [range_(text(jpype.JArray(jpype.JByte)(row))) for row in rows]
    _delete_ranges(connection, table, ranges)


def drop_source(connection: Connection, source: Source) -> None:
    """Removes a source's tables, its namespace and its sightings, and then its row in the catalog.

    The servers look at all sightings for those of the source.
    """
    drop_source_tables(connection, source)
    setting = jpype.JClass("org.apache.accumulo.core.client.IteratorSetting")(30, "source", REGEX_FILTER)
    # In ISO-8859-1 each byte is one character.
    setting.addOption("colqRegex", rf"(?s).{{8}}\Q{source.name}\E\x00.*")
    setting.addOption("encoding", "ISO-8859-1")
    everything = [jpype.JClass("org.apache.accumulo.core.data.Range")()]
    _delete_ranges(connection, SIGHTINGS_TABLE, everything, sorted(collect_labels(source)), setting)
    delete_rows(connection, SOURCES_TABLE, [source.name.encode()])


def drop_source_tables(connection: Connection, source: Source) -> None:
    """Removes a source's tables and its namespace."""
    call_for_each(source_tables(source), lambda table: drop_table(connection, table))
    _drop_namespace(connection, source_namespace(source.name))


def drop_namespaces(connection: Connection, beginning: str) -> None:
    """Removes all namespaces whose names begin so, with their tables."""
    client: Any = connection.client
    found = [str(name) for name in client.namespaceOperations().list()]
    for namespace in sorted(name for name in found if name.startswith(beginning)):
        own = [table for table in list_tables(connection) if table.startswith(f"{namespace}.")]
        for table in own:
            drop_table(connection, table)
        _drop_namespace(connection, namespace)


def _drop_namespace(connection: Connection, name: str) -> None:
    client: Any = connection.client
    if client.namespaceOperations().exists(name):
        client.namespaceOperations().delete(name)


def call_for_each(tables: Sequence[str], act: Callable[[str], None]) -> None:
    """Calls ``act`` with each table, with all at the same time, because each mostly waits for the manager."""
    with JavaThreadPool(len(tables)) as pool:
        list(pool.map(act, tables))


def _delete_ranges(
    connection: Connection, table: str, ranges: Sequence[Any], labels: Sequence[str] = (), iterator: Any = None
) -> None:
    """Deletes the entries in ranges of a table that these labels, and an iterator, let through."""
    authorizations = jpype.JClass("org.apache.accumulo.core.security.Authorizations")(*labels)
    deleter = connection.client.createBatchDeleter(table, authorizations, 1)
    try:
        if iterator is not None:
            deleter.addScanIterator(iterator)
        deleter.setRanges(jpype.JClass("java.util.ArrayList")(ranges))
        deleter.delete()
    finally:
        deleter.close()


def _choose_properties(source: Source, table: str, zones: bool) -> Mapping[str, str]:
    """Returns the properties of one of a source's tables."""
    if source.layout != "block" or table != event_table(source):
        return _PROPERTIES
    return {**_VECTOR_PROPERTIES, **_ZONE_PROPERTIES} if zones else _VECTOR_PROPERTIES


def _create_namespace(connection: Connection, name: str, readers: Sequence[str]) -> None:
    """Creates a namespace unless it exists, and lets the users ``readers`` read its tables."""
    client: Any = connection.client
    if not client.namespaceOperations().exists(name):
        exists = jpype.JClass("org.apache.accumulo.core.client.NamespaceExistsException")
        with suppress(exists):  # another worker may create it at the same time
            client.namespaceOperations().create(name)
        # Where the iterators are in a context class loader, the tables of a new source need it too.
        if name != INSTANCE_NAMESPACE:
            properties = client.namespaceOperations().getNamespaceProperties(INSTANCE_NAMESPACE)
            if context := properties.get(CONTEXT_PROPERTY):
                client.namespaceOperations().setProperty(name, CONTEXT_PROPERTY, context)
    read = jpype.JClass("org.apache.accumulo.core.security.NamespacePermission").READ
    for user in readers:
        client.securityOperations().grantNamespacePermission(user, name, read)


def _create_table(connection: Connection, name: str, splits: Iterable[bytes], properties: Mapping[str, str]) -> None:
    """Creates a table unless it exists."""
    operations = connection.client.tableOperations()
    if operations.exists(name):
        return
    text = jpype.JClass("org.apache.hadoop.io.Text")
    points = jpype.JClass("java.util.TreeSet")()
    for split in splits:
        points.add(text(jpype.JArray(jpype.JByte)(split)))
    settings = jpype.JClass("java.util.HashMap")()
    for key, value in properties.items():
        settings.put(key, value)
    configuration = jpype.JClass("org.apache.accumulo.core.client.admin.NewTableConfiguration")()
    configuration = configuration.setProperties(settings)
    if points.size():
        configuration = configuration.withSplits(points)
    exists = jpype.JClass("org.apache.accumulo.core.client.TableExistsException")
    with suppress(exists):  # another worker may create it at the same time
        operations.create(name, configuration)
