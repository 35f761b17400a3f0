"""REST reports every error in one shape.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from rest_fakes import (
    BEARER,
    GOOD,
    OPERATOR,
    QUERY,
    TOKEN,
    FakeService,
    FakeServices,
    FakeTokens,
    check_problem,
    events,
    good_body,
    read_lines,
)
from route_walk import good_path

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import BODY_BYTES
from watchfloor.api.rest.base.problems import problem_type
from watchfloor.api.rest.base.route import ANY_ROLE, find_routes
from watchfloor.schema.errors import StoreError

ERRORS: list[tuple[str, str, Any, str]] = [
    ("POST", QUERY, {}, "bad-body"),
    ("POST", QUERY, [], "bad-body"),
    ("POST", QUERY, GOOD | {"limit": 0}, "bad-body"),
    ("POST", QUERY, GOOD | {"limit": True}, "bad-body"),
    ("POST", QUERY, GOOD | {"deadline": 0}, "bad-body"),
    ("POST", QUERY, GOOD | {"cursor": 5}, "bad-body"),
    ("POST", QUERY, GOOD | {"colums": ["a"]}, "bad-body"),
    ("POST", QUERY, GOOD | {"scheme": "fast"}, "bad-body"),
    ("POST", QUERY, GOOD | {"where": "status ="}, "bad-filter"),
    ("POST", QUERY, GOOD | {"where": {"op": "nonsense"}}, "bad-filter"),
    ("POST", QUERY, GOOD | {"where": "status = yes"}, "bad-filter"),
    ("POST", QUERY, GOOD | {"where": "statu = 1"}, "unknown-field"),
    ("POST", QUERY, GOOD | {"columns": ["pat"]}, "unknown-field"),
    ("POST", QUERY, GOOD | {"since": "2026-02-01", "until": "2026-01-01"}, "bad-time-range"),
    ("POST", QUERY, GOOD | {"since": "yesterday-ish"}, "bad-time-range"),
    ("POST", QUERY, GOOD | {"since": 1e300}, "bad-time-range"),
    ("POST", QUERY, GOOD | {"batching": {"speed": 1}}, "bad-request"),
    ("POST", QUERY, GOOD | {"batching": {"policy": []}}, "bad-request"),
    ("POST", QUERY, {"source": "web.acces"}, "unknown-source"),
    ("POST", "/api/v1/explain", GOOD | {"where": "("}, "bad-filter"),
    ("GET", "/api/v1/sources/nothing", None, "unknown-source"),
    ("GET", "/api/v1/sources?x=1", None, "bad-parameter"),
    ("GET", "/api/v1/count", None, "bad-parameter"),
    ("GET", "/api/v1/count?source=web.access&source=b", None, "bad-parameter"),
    ("GET", "/api/v1/count?source=web.access&field=status", None, "bad-request"),
    ("GET", "/api/v1/count?source=nothing", None, "unknown-source"),
    ("GET", "/api/v1/count?source=web.access&since=2026-01-02&until=2026-01-01", None, "bad-time-range"),
    ("GET", "/api/v1/top?source=web.access", None, "bad-parameter"),
    ("GET", "/api/v1/top?source=web.access&field=client&limit=many", None, "bad-parameter"),
    ("GET", "/api/v1/top?source=web.access&field=path", None, "bad-request"),
    ("GET", "/api/v1/timeline?source=web.access&bucket=week", None, "bad-request"),
    ("GET", "/api/v1/events/nothing", None, "unknown-event"),
    ("GET", "/api/v1/events/web.access?newer=201", None, "bad-parameter"),
    ("GET", "/api/v1/values?source=web.access", None, "bad-parameter"),
    ("GET", "/api/v1/values?source=web.access&field=nothing", None, "unknown-field"),
    ("GET", "/api/v1/values?source=web.access&field=path&limit=0", None, "bad-parameter"),
    ("GET", "/api/v1/nothing", None, "not-found"),
    ("GET", "/static/nothing.js", None, "not-found"),
    ("GET", QUERY, None, "method-not-allowed"),
    ("DELETE", "/api/v1/sources", None, "method-not-allowed"),
]


@pytest.mark.parametrize(("method", "path", "body", "kind"), ERRORS)
def test_errors_are_problems(client: FlaskClient, method: str, path: str, body: Any, kind: str) -> None:
    check_problem(client.open(path, method=method, json=body, headers=BEARER), kind)


STORELESS = re.compile("/session$|/metrics$|/openapi.json$|/docs$|GET .*/jobs$|<job>")
"""Routes that ask the store nothing."""


def test_every_route_fails_in_the_one_shape(client: FlaskClient, service: FakeService) -> None:
    assert len(find_routes()) >= 8
    for route in find_routes():
        path = good_path(route)
        if route.role is not None:
            check_problem(client.open(path, method=route.method, json=GOOD), "unauthorized")
            wrong = client.open(path, method=route.method, json=GOOD, headers={"Authorization": "Bearer wrong"})
            check_problem(wrong, "unauthorized")
            assert wrong.headers["WWW-Authenticate"].startswith("Bearer ")
        check_problem(client.open(path, method="PATCH", headers=BEARER), "method-not-allowed")
    for error, kind in ((StoreError("down"), "unavailable"), (RuntimeError("a secret"), "internal")):
        service.error = error
        for route in (route for route in find_routes() if not STORELESS.search(f"{route.method} {route.path}")):
            fresh = create_app(FakeServices(service), FakeTokens()).test_client()
            headers = OPERATOR if route.role == "operator" else BEARER
            body = good_body(route.path) if route.body else None
            answer = fresh.open(good_path(route), method=route.method, json=body, headers=headers)
            assert "secret" not in check_problem(answer, kind)["detail"]


@pytest.mark.parametrize("path", ["/api/v1/sources/%2F0", "/api/v1//count", "/api/v1/sources/", "/static//app.js"])
def test_slashes_are_not_mended(client: FlaskClient, path: str) -> None:
    check_problem(client.get(path, headers=BEARER), "not-found")


def test_a_filter_error_has_its_place(client: FlaskClient) -> None:
    text = "status = 200 and path ="
    problem = check_problem(client.post(QUERY, json=GOOD | {"where": text}, headers=BEARER), "bad-filter")
    assert problem["position"] == len(text)
    assert problem["caret"] == f"  {text}\n  {' ' * len(text)}^"
    assert problem["reason"] and "^" not in problem["reason"]


def test_an_unknown_field_comes_with_the_nearest_names(client: FlaskClient) -> None:
    problem = check_problem(client.post(QUERY, json=GOOD | {"where": "statu = 1"}, headers=BEARER), "unknown-field")
    assert "did you mean status" in problem["detail"]


def test_a_bad_body_says_where(client: FlaskClient) -> None:
    body = GOOD | {"limit": "many", "columns": [1]}
    problem = check_problem(client.post(QUERY, json=body, headers=BEARER), "bad-body")
    assert [e["pointer"] for e in problem["errors"]] == ["/columns/0", "/limit"]


def test_bodies_that_are_no_json(client: FlaskClient) -> None:
    json_type = BEARER | {"Content-Type": "application/json"}
    check_problem(client.post(QUERY, data=b"{", headers=json_type), "bad-body")
    check_problem(client.post(QUERY, data=b"\xff\x00", headers=json_type), "bad-body")
    check_problem(client.post(QUERY, data=b'{"source": "web.access"}', headers=BEARER), "unsupported-media-type")
    check_problem(client.post(QUERY, data=b" " * (BODY_BYTES + 1), headers=json_type), "too-large")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "bearer x y", TOKEN, f"Bearer {TOKEN}x"])
def test_tokens_that_are_not_good(client: FlaskClient, header: str) -> None:
    check_problem(client.get("/api/v1/sources", headers={"Authorization": header}), "unauthorized")


def test_a_token_of_another_role_is_refused(client: FlaskClient) -> None:
    for route in find_routes():
        if route.role not in (None, ANY_ROLE):
            headers = BEARER if route.role == "operator" else OPERATOR
            problem = check_problem(client.open(good_path(route), method=route.method, headers=headers), "forbidden")
            assert f"this needs a token of the role {route.role}" in problem["detail"]


def test_an_admins_token_is_good_for_every_route(client: FlaskClient) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}-admin"}
    for route in find_routes():
        response = client.open(good_path(route), method=route.method, headers=headers, json={})
        assert response.status_code not in (401, 403), route.path


def test_a_failure_before_the_first_event_is_an_error(client: FlaskClient, service: FakeService) -> None:
    service.batches = [StoreError("a tablet server is gone")]
    check_problem(client.post(QUERY, json=GOOD, headers=BEARER), "unavailable")
    assert service.results[0].closed.is_set()


def test_a_failure_midway_is_in_the_summary(client: FlaskClient, service: FakeService) -> None:
    service.batches = [events(0, 2), StoreError("a tablet server is gone")]
    response = client.post(QUERY, json=GOOD, headers=BEARER)
    assert response.status_code == 200
    *rows, last = read_lines(response.data)
    assert len(rows) == 2
    assert last["summary"]["status"] == "failed"
    assert last["summary"]["problem"]["type"] == problem_type("unavailable")
    assert "tablet server" not in response.text, "the reason is for the service's log"
