"""Fixtures of the tests in this folder."""

from __future__ import annotations

from collections.abc import Iterator

import jpype
import pytest
from bridge_tables import connect, events_batch, sink

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.connection import Connection


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
