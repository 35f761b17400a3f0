"""A table of the instance that is there for a while and holds nothing that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jpype

from watchfloor.schema.errors import StoreError
from watchfloor.store.bridge.connection import Connection

from .tables import INSTANCE_NAMESPACE, create_table, drop_table


@contextmanager
def make_scratch_table(connection: Connection, name: str) -> Iterator[str]:
    """Makes an empty table and yields its whole name; drops it at the end. One that a killed process left is replaced.

    No two processes may use one name at the same time. Raises ``StoreError``.
    """
    table = f"{INSTANCE_NAMESPACE}.{name}"
    with _translate_errors():
        drop_table(connection, table)
        create_table(connection, table)
    try:
        yield table
    finally:
        with _translate_errors():
            drop_table(connection, table)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except jpype.JException as error:
        raise StoreError(f"the table of a warm-up: {error.getMessage()}") from error
