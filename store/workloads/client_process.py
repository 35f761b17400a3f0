"""Starts a Java client that makes load on the store, and reads the records that it prints.

A client is told its options once and reports a line of JSON for each thing it measured, so that nothing is called per
entry. Its passwords go through its standard input. The end of that input asks it to stop: a client never outlives its
caller.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.settings.credentials import Credentials, StoreCredentials
from watchfloor.schema.settings.settings import Role, Settings
from watchfloor.store.bridge.connection import find_files_user
from watchfloor.store.runtime.class_archive import CLIENT_ARCHIVE, archive_folder, archive_options
from watchfloor.store.runtime.jars import ZSTD_OPTION, client_class_path, list_archivable_jars
from watchfloor.store.runtime.java_home import find_java
from watchfloor.store.runtime.private_files import UMASK

Record = dict[str, Any]
_MAIN = "watchfloor.workload.WorkloadMain"
_STOP_SECONDS = 120
"""The time that a client has to come to a place at which it may stop, before it is killed."""
_OPTIONS = (
    "-XX:-UsePerfData",
    # The JVM's own warnings would stand between the records on standard output.
    "-Xlog:disable",
    "-Xlog:all=warning:stderr",
    "-Djava.awt.headless=true",
    "-Dlog4j2.configurationFile=classpath:watchfloor-bridge-log4j2.properties",
    "-Dlog4j2.disableJmx=true",
    ZSTD_OPTION,
)


class ClientProcess:
    """A running client; see ``start_client``."""

    def __init__(self, name: str, process: subprocess.Popen[bytes]) -> None:
        self._name, self._process = name, process
        self.has_begun = threading.Event()
        """Set when the client, connected to the store, begins its work, or has ended."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def read_records(self) -> Iterator[Record]:
        """Yields what the client reports until it ends.

        Raises ``UserError`` if its options do not fit, and ``StoreError`` if it fails or is killed.
        """
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                record: Record = orjson.loads(line)
                if "refused" in record:
                    raise UserError(record["refused"])
                if "error" in record:
                    raise StoreError(record["error"])
                if "begun" in record:
                    self.has_begun.set()
                else:
                    yield record
        finally:
            self.has_begun.set()
        if status := self._process.wait():
            raise StoreError(f"the client {self._name} ended with the exit status {status}")

    def ask_to_stop(self) -> None:
        """Makes the client stop at the next place at which it may; ``read_records`` then comes to its end."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            self._process.stdin.close()


@contextmanager
def start_client(
    settings: Settings,
    name: str,
    options: Mapping[str, Any],
    *,
    heap: str = "512m",
    role: Role = "ingest",
    class_path: Sequence[str] | None = None,
) -> Iterator[ClientProcess]:
    """Starts the client of class ``name``, relative to Java's package ``watchfloor.workload``.

    ``options`` are numbers, texts, truths and lists of them; each client says which it needs. ``class_path`` is that of
    clients unless another is given. At the end of the block the client is asked to stop, and killed if it does not.
    Raises ``StoreError`` or ``SettingsError``.
    """
    account, zookeeper = settings.read_credentials(role), settings.read_zookeeper_credentials()
    given = {
        "properties": _read_properties(settings),
        **_describe_account(account),
        "zookeeper": None if zookeeper is None else {"user": zookeeper.user, "password": zookeeper.password},
        "hadoop": _describe_files(settings),
        "options": dict(options),
    }
    process = subprocess.Popen(
        make_java_command(settings.jars, heap, _MAIN, name, class_path=class_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        umask=UMASK,
        # A Ctrl-C reaches this process, which asks the client to stop.
        start_new_session=True,
    )
    assert process.stdin is not None
    client = ClientProcess(name, process)
    try:
        with contextlib.suppress(BrokenPipeError):  # It has ended; `read_records` says so.
            process.stdin.write(json.dumps(given).encode() + b"\n")
            process.stdin.flush()
        yield client
    finally:
        _end_process(client, process)


def _describe_account(account: StoreCredentials) -> dict[str, Any]:
    """Returns a user and what proves it, in the words of Java's ``WorkloadMain``."""
    if isinstance(account, Credentials):
        return {"user": account.user, "password": account.password}
    keytab, config = (None if path is None else str(path) for path in (account.keytab, account.config))
    return {"user": account.user, "keytab": keytab, "kerberos_config": config}


def _describe_files(settings: Settings) -> dict[str, Any] | None:
    """Returns how a client reaches the store's files, if they are not local."""
    folder, user = settings.hadoop_folder, find_files_user(settings)
    if folder is None:
        return None
    return {"folder": str(folder), **(_describe_account(user) if user else {})}


def run_client(
    settings: Settings, name: str, options: Mapping[str, Any], *, heap: str = "512m", role: Role = "ingest"
) -> list[Record]:
    """Runs a client to its end and returns all its records. Raises as ``start_client``."""
    with start_client(settings, name, options, heap=heap, role=role) as client:
        return list(client.read_records())


def make_java_command(jars: Path, heap: str, *arguments: str, class_path: Sequence[str] | None = None) -> list[str]:
    """Returns the command line of a Java client: ``arguments`` are its main class and what follows it.

    With a ``class_path`` other than that of clients their class archive is of no use.
    """
    java = find_java()
    archive = archive_folder(jars, java, list_archivable_jars(jars)) / CLIENT_ARCHIVE
    archived = archive_options(archive) if class_path is None else []
    path = ":".join(class_path or client_class_path(jars))
    return [str(java / "bin" / "java"), *_OPTIONS, f"-Xmx{heap}", *archived, "-cp", path, *arguments]


def _read_properties(settings: Settings) -> str:
    try:
        return settings.client_properties.read_text("utf-8")
    except OSError as error:
        raise StoreError(f"no client properties of the store: {error}; has `watchfloor up` been run?") from error


def _end_process(client: ClientProcess, process: subprocess.Popen[bytes]) -> None:
    """Ends a client that still runs, and closes its pipes."""
    with contextlib.suppress(BrokenPipeError):  # It may have ended without reading what it was told.
        client.ask_to_stop()
    process.stdin = None  # `communicate` would flush it.
    try:
        process.communicate(timeout=_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
