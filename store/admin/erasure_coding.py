"""The policy of erasure coding of a source's tables in HDFS."""

from __future__ import annotations

from collections.abc import Mapping

from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.call import call_java
from watchfloor.store.bridge.connection import Connection


def choose_coding(connection: Connection, policy: str) -> Mapping[str, str]:
    """Returns the properties of a table whose files have a policy; none if it is empty: files are then replicated.

    The table's write-ahead logs are not its files: they stay replicated. Raises ``StoreError``, which says what is
    missing, if files cannot have the policy.
    """
    if not policy:
        return {}
    call_java(jvm.java_class("watchfloor.bridge.sink.ErasureCoding").require, connection.java, policy)
    return {"table.file.ec": "enable", "table.file.ec.policy": policy}
