"""A token that is bound to sources gets the answers that it would get if there were no other source.

Every analyst's route is asked about a source that the token is not bound to, and about one that does not exist: but for
the name, the answers are the same to the byte, durations aside.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from flask.testing import FlaskClient
from ingest_support import RUN
from loaded import batch_of, write
from rest_fakes import check_problem
from route_walk import RouteRequest, ask, list_requests, route_values

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.route import find_routes
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.tokens.token_file import TokenFile
from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

MINE, OTHER, NONE = (f"bound{RUN}.{name}" for name in ("mine", "xqzw", "wzqx"))
START = datetime(2024, 3, 1, tzinfo=UTC)
FIELDS = [
    {"name": "ts", "type": "time"},
    {"name": "who", "type": "string", "indexed": True, "ecs": "user.name"},
    {"name": "size", "type": "int", "indexed": True},
]


@pytest.fixture(scope="module")
def client(store_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client that sends an analyst's token that is bound to one of two sources, and otherwise sees everything."""
    with Store.open(store_settings) as store, store.sink() as sink:
        for name in (MINE, OTHER):
            form = {"name": name, "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 1}
            source = store.catalog.register(parse_definition({**form, "fields": FIELDS}))
            who = name.rpartition(".")[2]
            events = [{"ts": START + timedelta(seconds=n), "who": who, "size": n % 5} for n in range(50)]
            write(sink, source, 0, batch_of(source, events))
        sink.flush()
    secret = tmp_path_factory.mktemp("secret")
    token = TokenFile(secret).create_token("bound", "analyst", None, None, [f"{MINE[:-1]}?"])
    services = StoreServices(store_settings)
    found = create_app(services, TokensInForce(secret)).test_client()
    found.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    yield found
    services.close()


def requests_about(name: str) -> list[RouteRequest]:
    routes = [route for route in find_routes() if route.role == "analyst" and "/searches" not in route.path]
    values = route_values((name, "*"), ("who", "size"), "who", "2024-03-01", "2024-03-01T00:00:25Z")
    words = {
        "value": ["3", "mine", "xqzw"],
        "where": ["who = xqzw", "who = mine", f"who in ({name} where size = 3 | who)"],
    }
    return list(list_requests(routes, {**values, **words}))


def test_a_source_of_others_is_as_none(client: FlaskClient) -> None:
    pairs = list(zip(requests_about(OTHER), requests_about(NONE), strict=True))
    assert len(pairs) > 100
    answered = 0
    for request, same in pairs:
        answer = ask(client, request, "")
        assert answer.replace(OTHER, NONE) == ask(client, same, ""), str(request)
        answered += json.loads(answer)[0] == 200
        if "/jobs" not in request.path:  # The list of jobs repeats what was asked.
            assert not [text for text in (OTHER, "xqzw") if text in answer and text not in str(request)], str(request)
    assert answered > 50, "there is something to hide"


def test_the_own_source_is_all_that_there_is(client: FlaskClient) -> None:
    assert [source["name"] for source in client.get("/api/v1/sources").json["sources"]] == [MINE]
    assert client.get(f"/api/v1/count?source={MINE}").json["count"] == 50
    found = client.post("/api/v1/query", json={"source": "*", "where": "size = 3"}).text.splitlines()
    assert len(found) == 11 and all(json.loads(line)["_source"] == MINE for line in found[:-1])
    check_problem(client.get(f"/api/v1/count?source={OTHER}"), "unknown-source")
    sighted = client.get("/api/v1/find?value=xqzw&kind=user").json
    assert sighted["sightings"] == []
