"""The REST service answers queries, counts and watches with the right records.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from rest_fakes import (
    BEARER,
    GOOD,
    OPERATOR,
    QUERY,
    SOURCE,
    FakeService,
    FakeServices,
    FakeTokens,
    check_problem,
    events,
    read_lines,
)

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.health import Health
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.supervision.restarts import ServerRestarts, save_restarts


def test_a_query_streams_events_and_ends_with_a_summary(client: FlaskClient, service: FakeService) -> None:
    response = client.post(QUERY, json={"source": "web.access", "limit": 5}, headers=BEARER)
    *rows, last = read_lines(response.data)
    assert response.content_type == "application/x-ndjson"
    assert rows[0] == {"ts": "2026-01-08T12:00:00.000000Z", "client": "192.0.2.0", "path": "/0"}
    assert rows[1]["tags"] == ["a", None]
    assert len(rows) == 5
    assert set(last) == {"summary"}
    assert last["summary"]["status"] == "complete"
    assert {"rows", "batches", "plan", "seconds"} <= set(last["summary"])
    response.close()  # as the server does when all is sent
    assert service.results[0].closed.is_set()


def test_a_query_says_all_it_can(client: FlaskClient, service: FakeService, services: FakeServices) -> None:
    body = {
        "source": "web.access", "since": "2026-01-01", "until": 1_767_873_600.5, "where": "status = 404",
        "columns": ["path", "ts"], "limit": 3, "scheme": "index", "w": 4, "batching": {"growth": 2.0},
        "deadline": 1.5, "cursor": "abc",
    }  # fmt: skip
    assert client.post(QUERY, json=body, headers=BEARER).status_code == 200
    request = service.asked[0]
    assert (request.since, request.until) == (1_767_225_600_000_000, 1_767_873_600_500_000)
    assert (request.columns, request.limit, request.scheme, request.w) == (("path", "ts"), 3, "index", 4)
    assert request.batching.growth == 2.0
    assert (request.deadline, request.cursor, service.watched) == (1.5, "abc", [])
    assert services.authorizations == [("tlp_amber",)]


def test_a_filter_may_be_a_tree(client: FlaskClient, service: FakeService) -> None:
    from watchfloor.schema.filter.json_form import to_json
    from watchfloor.schema.filter.parse import parse_filter

    tree = to_json(parse_filter("status = 404"))
    assert client.post(QUERY, json={"source": "web.access", "where": tree}, headers=BEARER).status_code == 200
    assert service.asked[0].where == tree


def test_explain_gives_the_plan_twice(client: FlaskClient) -> None:
    answer = client.post("/api/v1/explain", json={"source": "web.access"}, headers=BEARER).json
    assert answer["plan"]["scheme"] == "batched-scan"
    assert answer["text"].startswith("scheme ")
    assert answer["batching"] == {"policy": "none", "first": None}


@pytest.mark.parametrize("watch", [True, False])
def test_a_watch_streams_as_a_query_does(client: FlaskClient, service: FakeService, watch: bool) -> None:
    service.batches = [events(0, 0), events(0, 2)]
    *rows, last = read_lines(client.post(QUERY, json=GOOD | {"watch": watch}, headers=BEARER).data)
    assert len(rows) == 2 and last["summary"]["rows"] == 2
    assert service.watched == service.asked * watch


def test_the_service_may_bound_all_deadlines(services: FakeServices, service: FakeService) -> None:
    client = create_app(services, FakeTokens(), RestLimits(deadline=60, watch_deadline=90)).test_client()
    for asked in ({}, {"deadline": 5}, {"deadline": 500}, {"watch": True}):
        assert client.post(QUERY, json=GOOD | asked, headers=BEARER).status_code == 200
    assert [request.deadline for request in service.asked] == [60, 5, 60, 90]


def test_sources(client: FlaskClient) -> None:
    outline = client.get("/api/v1/sources", headers=BEARER).json["sources"]
    assert [(s["name"], s["fields"], s["indexed"]) for s in outline] == [("web.access", 5, ["client", "status"])]
    assert client.get("/api/v1/sources/web.access", headers=BEARER).json["definition"] == SOURCE.definition


def test_counts(client: FlaskClient) -> None:
    def get(path: str) -> Any:
        return client.get(f"/api/v1/{path}", headers=BEARER).json

    assert get("count?source=web.access") == {"source": "web.access", "count": 5}
    assert get("count?source=web.access&field=status&value=404&since=2026-01-01") == {
        "source": "web.access", "field": "status", "value": "404", "since": "2026-01-01T00:00:00.000000Z", "count": 2,
    }  # fmt: skip
    assert get("top?source=web.access&field=client&limit=1")["values"] == [{"value": "192.0.2.1", "count": 3}]
    timeline = get("timeline?source=web.access&bucket=hour")
    assert timeline["buckets"][0] == {"start": "2026-01-08T11:00:00.000000Z", "count": 1}


def test_health_needs_no_token_and_says_when_the_store_is_down(
    client: FlaskClient, app: Flask, service: FakeService
) -> None:
    assert client.get("/healthz").json == {"status": "ok", "store": "answers", "disk": "ok"}
    service.error = StoreError("the store does not answer")
    assert client.get("/healthz").status_code == 200  # asked again only after a second
    time.sleep(1.05)
    response = client.get("/healthz")
    check_problem(response, "unavailable")
    assert int(response.headers["Retry-After"]) > 0


def test_health_and_status_say_that_the_disk_is_nearly_full_and_what_was_restarted(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, disk_reserve=1 << 60)
    (tmp_path / "run").mkdir()
    save_restarts(settings, {"kafka": ServerRestarts(count=3)})
    client = create_app(FakeServices(FakeService()), FakeTokens(), settings=settings).test_client()
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json["status"]) == (200, "ok"), "queries are not stopped by it"
    told = answer.json["disk"]
    assert "MiB are free, ingest pauses below 1,099,511,627,776 MiB" in told and "free some space" in told
    assert str(tmp_path) not in told, "anybody may ask"
    status = client.get("/api/v1/status", headers=OPERATOR).json
    assert (status["disk"], status["restarts"]) == (told, {"kafka": 3})


def test_the_damage_of_the_token_file_is_for_operators_alone(tmp_path: Path) -> None:
    tokens = FakeTokens()
    tokens.damage = f"{tmp_path}/secret/tokens.json is damaged: no JSON at line 1, column 2"
    client = create_app(FakeServices(FakeService()), tokens).test_client()
    assert client.get("/api/v1/status", headers=OPERATOR).json["tokens"] == tokens.damage
    for headers, status in ((BEARER, 403), ({}, 401), ({"Authorization": "Bearer wrong"}, 401)):
        refused = client.get("/api/v1/status", headers=headers)
        answers = [refused, client.get("/healthz", headers=headers), client.post(QUERY, json=GOOD, headers=headers)]
        answers += [client.get(f"/api/v1/{path}", headers=headers) for path in ("sources", "count", "none")]
        assert refused.status_code == status
        for answer in answers:
            told = answer.get_data(as_text=True) + str(answer.headers)
            assert str(tmp_path) not in told and "tokens.json" not in told and "damaged" not in told


def test_health_is_told_soon_although_the_store_hangs() -> None:
    answer = threading.Event()
    health = Health(lambda: answer.wait(20) and 7, max_wait=0.2)
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises(StoreError, match="has not answered"):
            health.count_sources()
        assert time.monotonic() - began < 2
    answer.set()
    time.sleep(0.2)
    assert health.count_sources() == 7
