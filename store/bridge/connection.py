"""A connection to one Accumulo instance."""

from __future__ import annotations

import time
from typing import Any

from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.credentials import Credentials, KerberosCredentials, StoreCredentials
from watchfloor.schema.settings.settings import Settings

from . import jvm
from .call import JavaResource, call_java, to_java_bytes

_LEAST_SECONDS = 86_400
Cell = tuple[bytes, bytes, bytes]
"""Row, family and qualifier of an entry."""


class Connection(JavaResource):
    """A client of one Accumulo instance as one user.

    ``java`` is the Java object of the same name, ``client`` its ``AccumuloClient``.
    """

    def __init__(self, java: Any) -> None:
        super().__init__(java)
        self.java = java
        self.client = java.client()

    @classmethod
    def open(cls, settings: Settings, credentials: StoreCredentials) -> Connection:
        """Starts the JVM, connects, and lets Accumulo check the credentials.

        Raises ``StoreError`` within seconds if the store is down.
        """
        try:
            properties = settings.client_properties.read_text("utf-8")
        except OSError as error:
            raise StoreError(f"no client properties of the store: {error}; has `watchfloor up` been run?") from error
        return cls.connect(settings, properties, credentials)

    @classmethod
    def connect(cls, settings: Settings, properties: str, credentials: StoreCredentials) -> Connection:
        """Connects like ``open``, given the text of the client properties."""
        jvm.start_jvm(settings.jars, settings.jvm_heap)
        if account := settings.read_zookeeper_credentials():
            call_java(jvm.java_class("watchfloor.bridge.ZooKeeperLogin").use, account.user, account.password)
        use_hadoop(settings)
        java = jvm.java_class("watchfloor.bridge.Connection")
        return cls(call_java(java.open, properties, to_java_credentials(credentials)))

    @property
    def is_ending(self) -> bool:
        """True if what proves the user ends within a day, as a delegation token does after some days."""
        return bool(self.java.tokenEnd() < (time.time() + _LEAST_SECONDS) * 1000)

    def swap(self, table: str, cell: Cell, expected: bytes | None, value: bytes) -> bool:
        """Writes an entry durably if its value is ``expected`` (None: if it does not exist). Returns whether it did."""
        return self.write_if(table, cell, expected, cell[2], value)

    def write_if(self, table: str, cell: Cell, expected: bytes | None, qualifier: bytes, value: bytes) -> bool:
        """Writes an entry of the row and family of ``cell`` durably if that has the value ``expected``, as ``swap``."""
        arguments = map(to_java_bytes, (*cell, expected, qualifier, value))
        return bool(call_java(self.java.writeIf, table, *arguments))


def use_hadoop(settings: Settings) -> None:
    """Says how the JVM, which must run, reaches Hadoop's file systems, if the settings tell."""
    if files := settings.hadoop_folder:
        user = find_files_user(settings)
        login = None if user is None else to_java_credentials(user)
        call_java(jvm.java_class("watchfloor.bridge.HadoopClient").use, str(files), login)


def find_files_user(settings: Settings) -> KerberosCredentials | None:
    """Returns the principal that opens the store's files in HDFS; None if the ingest user is none.

    A user with a password in Accumulo may have a keytab for HDFS alone: it is then a principal of the default realm.
    """
    principal, keytab = settings.find_principal("ingest"), settings.keytab_file("ingest")
    if "@" not in principal and keytab is None:
        return None
    return KerberosCredentials(principal, keytab, settings.kerberos_file)


def is_memory_short() -> bool:
    """Returns whether the scans of this process hold more memory than they should, though they no longer read ahead."""
    return bool(jvm.java_class("watchfloor.bridge.scan.ReadAheadMemory").isShort())


def to_java_credentials(credentials: StoreCredentials) -> Any:
    """Returns Java's ``Credentials``, which make the token by which Accumulo authenticates the user."""
    java = jvm.java_class("watchfloor.bridge.Credentials")
    if isinstance(credentials, Credentials):
        return java.ofPassword(credentials.user, credentials.password)
    files = (None if path is None else str(path) for path in (credentials.keytab, credentials.config))
    return java.ofPrincipal(credentials.user, *files)
