"""Our iterators on the tablet servers: the check of their version, and the jar with them on a running cluster.

``install_iterators`` puts the jar on the cluster's own volume and makes it a context class loader, which the namespaces
of Watchfloor use. Nothing is copied to a server, and none is restarted.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

import jpype

from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import call_java
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.requests import EntryScan, ServerIterator
from watchfloor.store.bridge.streams import EntryStream
from watchfloor.store.encoding.keys import source_namespace
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.runtime.jars import find_own_jar

from .tables import CONTEXT_PROPERTY, INSTANCE_NAMESPACE, SIGHTINGS_TABLE, SOURCES_TABLE

_CLASS = _CLASS_ON_SERVERS = "watchfloor.iterators.VersionIterator"
_ITERATOR_CLASS = "org.apache.accumulo.core.iterators.SortedKeyValueIterator"
_FOLDER = "watchfloor-iterators"
_CONTEXT = "watchfloor"
_FACTORY = "general.context.class.loader.factory"
_CONTEXT_PATH = f"general.vfs.context.classpath.{_CONTEXT}"
_WAIT_SECONDS = 60
_REMEDIES = {
    True: "`watchfloor down`, then `watchfloor up` starts them with this version's",
    False: "an administrator runs `watchfloor iterators install`, or puts this version's jar on their class path",
}


def check_iterators(settings: Settings, connection: Connection) -> None:
    """Raises ``StoreError`` with the remedy if a tablet server lacks our iterators, or has another version of them.

    It asks the server of the catalog. Before the catalog's table exists there is nothing to check.
    """
    if connection.client.tableOperations().exists(SOURCES_TABLE):
        _compare_versions(settings, read_versions(connection, SOURCES_TABLE))


def check_all_iterators(settings: Settings, connection: Connection) -> str:
    """Checks as ``check_iterators`` does, but each server of the table of sightings, and returns the version."""
    _compare_versions(settings, read_versions(connection, SIGHTINGS_TABLE))
    return client_version()


def client_version() -> str:
    """Returns the version of the iterators that this process asks for."""
    return str(jvm.java_class(_CLASS).version())


def read_versions(connection: Connection, table: str) -> set[str]:
    """Returns the versions of the iterators of the servers of a table's tablets; empty if a server has none.

    Raises ``StoreError`` if the store does not answer.
    """
    everything = Ranges.everything()
    scan = EntryScan(table, everything, [ServerIterator(30, "version", _CLASS_ON_SERVERS)])
    try:
        with EntryStream(connection, (), scan) as stream:
            return {version.decode() for batch in stream for version in batch.column("value").to_pylist()}
    except StoreError:
        if connection.client.tableOperations().testClassLoad(table, _CLASS_ON_SERVERS, _ITERATOR_CLASS):
            raise
        return set()


def install_iterators(settings: Settings, connection: Connection) -> str:
    """Puts our jar on the instance's first volume and makes Watchfloor's tables use it; returns the jar's path.

    It may be called again, for example with a newer jar. Raises ``StoreError`` if the user may not do that, if the
    cluster has a class loader of its own, or if the servers do not have the iterators within a minute.
    """
    local = find_own_jar(settings.jars)
    try:
        path = _install_jar(connection, local)
    except (StoreError, jpype.JException) as error:
        text = str(error) if isinstance(error, StoreError) else str(error.getMessage())
        if "PERMISSION_DENIED" in text:
            text += "; the user needs the permission System.SYSTEM: run this command as an administrator"
        raise StoreError(f"the iterators cannot be installed: {text}") from error
    _await_version(settings, connection)
    return path


def _install_jar(connection: Connection, local: Path) -> str:
    """Puts a jar on the first volume, and makes it the context of Watchfloor's namespaces; returns its path there."""
    operations = connection.client.instanceOperations()
    files = jvm.java_class("watchfloor.bridge.sink.BulkFiles")
    volume = call_java(files.volume, connection.java)
    if factory := str(operations.getSystemConfiguration().get(_FACTORY) or ""):
        raise StoreError(f"the cluster loads classes by {factory}: put {local} on the class path of its servers")
    # A jar with other contents has another name: servers notice the property sooner than a changed file.
    digest = hashlib.sha256(local.read_bytes()).hexdigest()[:16]
    path = f"{volume}/{_FOLDER}/{local.stem}-{digest}.jar"
    if not call_java(files.exists, path):
        call_java(files.put, str(local), path)
    # Ours first, as the servers' class path may have an older one.
    operations.setProperty(f"{_CONTEXT_PATH}.delegation", "post")
    operations.setProperty(_CONTEXT_PATH, path)
    for namespace in _list_namespaces(connection):
        _set_context(connection, namespace)
    return path


def _list_namespaces(connection: Connection) -> Sequence[str]:
    """Returns the namespaces of the instance's tables and of all sources."""
    everything = Ranges.everything()
    with EntryStream(connection, (), EntryScan(SOURCES_TABLE, everything)) as stream:
        rows = {row for batch in stream for row in batch.column("row").to_pylist()}
    # Rows of other things than sources begin with a zero byte.
    return [INSTANCE_NAMESPACE, *sorted(source_namespace(row.decode()) for row in rows if not row.startswith(b"\0"))]


def _set_context(connection: Connection, namespace: str) -> None:
    """Makes the tables of a namespace use the context. Servers may learn of a new context after some seconds only."""
    operations = connection.client.namespaceOperations()
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            operations.setProperty(namespace, CONTEXT_PROPERTY, _CONTEXT)
            return
        except jpype.JException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _await_version(settings: Settings, connection: Connection) -> None:
    """Returns when every server that answers for the table of sightings has this client's version."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while (found := read_versions(connection, SIGHTINGS_TABLE)) != {client_version()}:
        if time.monotonic() > deadline:
            _compare_versions(settings, found)
        time.sleep(0.5)


def _compare_versions(settings: Settings, found: set[str]) -> None:
    wanted = client_version()
    if found != {wanted}:
        have = f"iterators {', '.join(sorted(found - {wanted}))}" if found else "no iterators of Watchfloor"
        raise StoreError(
            f"the tablet servers have {have}, this client needs {wanted}: {_REMEDIES[settings.is_accumulo_local]}"
        )
