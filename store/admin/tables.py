"""Making the tables of a source, and those of the instance, through Accumulo's own API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import jpype

from watchfloor.schema.source import Source
from watchfloor.store.bridge.jvm import visit
from watchfloor.store.encoding.keys import aggregate_table, event_table, index_table, namespace, shard_names

SOURCES_TABLE = "watchfloor.sources"
ITEMS_TABLE = "watchfloor.items"
QUARANTINE_TABLE = "watchfloor.quarantine"

_PROPERTIES: Mapping[str, str] = {
    "table.file.compress.type": "snappy",
    "table.cache.block.enable": "true",
    "table.cache.index.enable": "true",
}
_COMPRESSED_ALREADY = {"table.file.compress.type": "none"}
"""What differs in a table whose values are vectors: they are compressed, each for itself."""


def tables_of(source: Source) -> tuple[str, str, str]:
    return event_table(source), index_table(source), aggregate_table(source)


def make_source_tables(client: Any, source: Source, readers: Sequence[str]) -> None:
    """The three tables of a source, one tablet per shard; those there are already are left alone."""
    make_namespace(client, namespace(source.name), readers)
    splits = shard_names(source.shards)[1:]
    names = tables_of(source)
    # At once: while one table waits for the manager, the next is on its way. It takes two thirds of the time.
    with ThreadPoolExecutor(len(names)) as pool:
        make = visit()(lambda name: make_table(client, name, splits, _properties(source, name)))
        list(pool.map(make, names))


def _properties(source: Source, table: str) -> Mapping[str, str]:
    of_vectors = source.layout == "block" and table == event_table(source)
    return {**_PROPERTIES, **(_COMPRESSED_ALREADY if of_vectors else {})}


def make_instance_tables(client: Any, readers: Sequence[str]) -> None:
    make_namespace(client, "watchfloor", readers)
    for table in (SOURCES_TABLE, ITEMS_TABLE, QUARANTINE_TABLE):
        make_table(client, table, ())


def make_namespace(client: Any, name: str, readers: Sequence[str]) -> None:
    """A namespace whose tables ``readers`` may read."""
    operations = client.namespaceOperations()
    if not operations.exists(name):
        exists = jpype.JClass("org.apache.accumulo.core.client.NamespaceExistsException")
        with suppress(exists):  # another worker may make it at the same time
            operations.create(name)
    read = jpype.JClass("org.apache.accumulo.core.security.NamespacePermission").READ
    for user in readers:
        client.securityOperations().grantNamespacePermission(user, name, read)


def make_table(client: Any, name: str, splits: Iterable[bytes], properties: Mapping[str, str] = _PROPERTIES) -> None:
    """A table, unless it is there."""
    operations = client.tableOperations()
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
    with suppress(exists):  # another worker may make it at the same time
        operations.create(name, configuration)


def labels_of(source: Source) -> set[str]:
    """The words of all visibility expressions of a source."""
    expressions = [source.visibility, *(f.visibility for f in source.fields)]
    return {word for expression in expressions for word in re.split(r"[&|]", expression) if word}


def allow_labels(client: Any, users: Sequence[str], labels: set[str]) -> None:
    """Lets ``users`` ask for these labels; which of them one query may see is said with the query."""
    if not labels:
        return
    authorizations = jpype.JClass("org.apache.accumulo.core.security.Authorizations")
    security = client.securityOperations()
    for user in users:
        have = {str(a) for a in str(security.getUserAuthorizations(user)).split(",") if a}
        if not labels <= have:
            security.changeUserAuthorizations(user, authorizations(*sorted(have | labels)))


def user_labels(client: Any, user: str) -> list[str]:
    """All labels that a user may ask for."""
    return [a for a in str(client.securityOperations().getUserAuthorizations(user)).split(",") if a]


def drop_source(client: Any, source: Source) -> None:
    """Removes a source's tables and its namespace, and then its row in the catalog."""
    for table in tables_of(source):
        if client.tableOperations().exists(table):
            client.tableOperations().delete(table)
    name = namespace(source.name)
    if client.namespaceOperations().exists(name):
        client.namespaceOperations().delete(name)
    delete_rows(client, SOURCES_TABLE, [source.name.encode()])


def compact(client: Any, source: Source) -> None:
    """Writes all of a source to files, one a tablet; returns when that is done."""
    for table in tables_of(source):
        client.tableOperations().compact(table, None, None, True, True)


def delete_rows(client: Any, table: str, rows: Iterable[bytes]) -> None:
    """Deletes whole rows of a table."""
    text, range_ = jpype.JClass("org.apache.hadoop.io.Text"), jpype.JClass("org.apache.accumulo.core.data.Range")
    ranges = jpype.JClass("java.util.ArrayList")()
    for row in rows:
        ranges.add(range_(text(jpype.JArray(jpype.JByte)(row))))
    authorizations = jpype.JClass("org.apache.accumulo.core.security.Authorizations").EMPTY
    deleter = client.createBatchDeleter(table, authorizations, 1)
    try:
        deleter.setRanges(ranges)
        deleter.delete()
    finally:
        deleter.close()
