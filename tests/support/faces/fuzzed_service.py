"""The REST service over a source with a field of every type in each layout, to be asked drawn requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from flask.testing import FlaskClient
from ingest_support import RUN
from loaded import LAYOUTS, Loaded, batch_of, in_layout
from mixed_events import mixed_events, mixed_source
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

FILTERS = (None, "string_indexed = GET", "int_plain > 5")


@dataclass(frozen=True)
class FuzzedService:
    """The service, a source of each layout, and cursors of queries of each source."""

    client: FlaskClient
    sources: dict[str, Source]
    cursors: dict[str, list[str]]


@pytest.fixture(scope="module")
def fuzzed(store_settings: Settings) -> Iterator[FuzzedService]:
    source, events = mixed_source(f"zeek.fuzzed{RUN}"), mixed_events(200)
    loaded = Loaded(source, events, batch_of(source, events))
    with Store.open(store_settings) as store:
        sources = {layout: in_layout(store, loaded, layout).source for layout in LAYOUTS}
        service = QueryService(store)
        cursors = {layout: [_make_cursor(service, sources[layout], where) for where in FILTERS] for layout in LAYOUTS}
    services = StoreServices(store_settings)
    limits = RestLimits(deadline=0.5, watch_deadline=0.5)
    yield FuzzedService(create_app(services, AnyToken(), limits).test_client(), sources, cursors)
    services.close()


def _make_cursor(service: QueryService, source: Source, where: str | None) -> str:
    result = service.run(QueryRequest(source.name, where=where, limit=3))
    assert sum(map(len, result)) == 3
    cursor: str = result.summary["cursor"]
    return cursor
