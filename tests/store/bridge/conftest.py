"""Fixtures of the tests in this folder."""

from __future__ import annotations
import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
import jpype
import pyarrow as pa
import pytest
from scan_sessions import assert_scans_end
from watchfloor.schema.errors import InternalError, StoreError
from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.settings.credentials import Credentials
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.bridge.requests import EntryScan, EventScan, ServerIterator, ServerOptions
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.bridge.streams import EntryStream, EventStream
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.encoding.values import bridge_type, encode_column, to_arrow_type
from watchfloor.store.stack.stack import up
from bridge_tables import connect, events_batch, sink




@pytest.fixture(scope="module")
def connection(store_settings: Settings) -> Iterator[Connection]:
    with connect(store_settings) as opened:
        yield opened


@pytest.fixture
def table(connection: Connection, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"bridge_{request.node.name.split('[')[0]}"
    operations = connection.client.tableOperations()
    if operations.exists(name):
        operations.delete(name)
    operations.create(name)
    yield name
    if operations.exists(name):
        operations.delete(name)


@pytest.fixture(scope="module")
def events(connection: Connection) -> Iterator[str]:
    name = "bridge_events"
    operations = connection.client.tableOperations()
    if operations.exists(name):
        operations.delete(name)
    operations.create(name)
    security = connection.client.securityOperations()
    authorizations = jpype.JClass("org.apache.accumulo.core.security.Authorizations")
    user = connection.client.whoami()
    before = [str(label) for label in security.getUserAuthorizations(user)]
    security.changeUserAuthorizations(user, authorizations(jpype.JArray(jpype.JString)([*before, "red"])))
    with sink(connection) as writer:
        batch = events_batch()
        writer.write_rows(name, batch.slice(0, 1001))
        writer.write_rows(name, batch.slice(1001))
    yield name
    operations.delete(name)
