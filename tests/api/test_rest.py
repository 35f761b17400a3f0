"""The REST service: its answers, its errors in their one shape, streaming, and the way it stops."""

from __future__ import annotations

import http.client
import json
import re
import stat
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from rest_fakes import SOURCE, TOKEN, FakeService, FakeServices, FakeTokens, events
from served import serve_app

from watchfloor.api.rest import app as app_module
from watchfloor.api.rest.app import ROUTES_FOLDER, create_app, find_routes
from watchfloor.api.rest.auth import Tokens, hash_token
from watchfloor.api.rest.base.health import Health
from watchfloor.api.rest.base.problems import KINDS, problem_type
from watchfloor.api.rest.base.route import Call, Route
from watchfloor.api.rest.base.validate import MAX_BODY
from watchfloor.schema.errors import SettingsError, StoreError

BEARER = {"Authorization": f"Bearer {TOKEN}"}
QUERY = "/api/v1/query"


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def services(service: FakeService) -> FakeServices:
    return FakeServices(service)


@pytest.fixture
def app(services: FakeServices) -> Flask:
    return create_app(services, FakeTokens(), max_queries=2)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def lines(text: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def check_problem(response: Any, kind: str) -> dict[str, Any]:
    """The one shape of errors, and that this is the one that was meant."""
    problem = json.loads(response.data)
    assert response.content_type == "application/problem+json"
    assert problem["type"] == problem_type(kind)
    assert (problem["status"], problem["title"]) == KINDS[kind]
    assert response.status_code == problem["status"]
    assert isinstance(problem["detail"], str) and problem["detail"]
    return problem


# Answers


def test_a_query_streams_events_and_ends_with_a_summary(client: FlaskClient, service: FakeService) -> None:
    response = client.post(QUERY, json={"source": "web.access", "limit": 5}, headers=BEARER)
    *rows, last = lines(response.data)
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
    *rows, last = lines(client.post(QUERY, json=GOOD | {"watch": watch}, headers=BEARER).data)
    assert len(rows) == 2 and last["summary"]["rows"] == 2
    assert service.watched == service.asked * watch


def test_the_service_may_bound_all_deadlines(services: FakeServices, service: FakeService) -> None:
    client = create_app(services, FakeTokens(), max_deadline=60).test_client()
    for asked in ({}, {"deadline": 5}, {"deadline": 500}, {"watch": True}):
        assert client.post(QUERY, json=GOOD | asked, headers=BEARER).status_code == 200
    assert [request.deadline for request in service.asked] == [60, 5, 60, 60]


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
    assert client.get("/healthz").json == {"status": "ok", "store": "answers", "sources": 1}
    service.error = StoreError("the store does not answer")
    assert client.get("/healthz").status_code == 200  # asked again only after a second
    time.sleep(1.05)
    response = client.get("/healthz")
    check_problem(response, "unavailable")
    assert int(response.headers["Retry-After"]) > 0


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


# Errors

GOOD = {"source": "web.access"}
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
    ("GET", "/api/v1/nothing", None, "not-found"),
    ("GET", "/", None, "not-found"),
    ("GET", QUERY, None, "method-not-allowed"),
    ("DELETE", "/api/v1/sources", None, "method-not-allowed"),
]


@pytest.mark.parametrize(("method", "path", "body", "kind"), ERRORS)
def test_errors_are_problems(client: FlaskClient, method: str, path: str, body: Any, kind: str) -> None:
    check_problem(client.open(path, method=method, json=body, headers=BEARER), kind)


@pytest.mark.parametrize("path", [QUERY, "/api/v1/explain"])
@pytest.mark.parametrize("name", ["since", "until", "where", "columns", "limit", "deadline", "cursor", "watch", "w"])
def test_null_in_a_body_means_not_given(client: FlaskClient, service: FakeService, path: str, name: str) -> None:
    for body in (GOOD, GOOD | {name: None}):
        assert client.post(path, json=body, headers=BEARER).status_code == 200
    assert service.asked[0] == service.asked[1]


def test_null_is_no_way_around_what_is_needed_or_unknown(client: FlaskClient) -> None:
    for body in ({"source": None}, GOOD | {"colums": None}):
        check_problem(client.post(QUERY, json=body, headers=BEARER), "bad-body")
    assert client.post(QUERY, json=GOOD | {"batching": {"width": None}}, headers=BEARER).status_code == 200


@pytest.mark.parametrize(("text", "limit"), [("1.0", 1), ("1e3", 1000), ("2.0e1", 20), ("7", 7)])
def test_a_whole_number_may_be_written_as_a_float(
    client: FlaskClient, service: FakeService, text: str, limit: int
) -> None:
    body = f'{{"source": "web.access", "limit": {text}, "batching": {{"width": {text}}}}}'
    headers = BEARER | {"Content-Type": "application/json"}
    assert client.post(QUERY, data=body.encode(), headers=headers).status_code == 200
    request = service.asked[0]
    assert (request.limit, request.batching.width) == (limit, limit)
    assert type(request.limit) is type(request.batching.width) is int


BAD_LIMITS = ["1.5", "0.0", "-1.0", "NaN", "Infinity", "1e300", "1e999", "1" + "0" * 30, "1" + "0" * 400, '"1"', "true"]


@pytest.mark.parametrize("text", BAD_LIMITS)
def test_a_limit_that_is_no_whole_number_is_a_bad_body(client: FlaskClient, text: str) -> None:
    body = f'{{"source": "web.access", "limit": {text}}}'.encode()
    for path in (QUERY, "/api/v1/explain"):
        answer = client.post(path, data=body, headers=BEARER | {"Content-Type": "application/json"})
        check_problem(answer, "bad-body")


def test_a_width_that_is_no_whole_number_is_refused(client: FlaskClient) -> None:
    for width in (1.5, "1", 1e300):
        check_problem(client.post(QUERY, json=GOOD | {"batching": {"width": width}}, headers=BEARER), "bad-request")


@pytest.mark.parametrize("text", ["1.0", "1e3", "NaN", "inf", "-1", "1" + "0" * 30, "0", "10001", "1%200", "%D9%A1"])
def test_a_limit_in_the_address_is_a_whole_number(client: FlaskClient, text: str) -> None:
    address = f"/api/v1/top?source=web.access&field=client&limit={text}"
    problem = check_problem(client.get(address, headers=BEARER), "bad-parameter")
    assert problem["detail"] == "the parameter 'limit' must be a whole number from 1 to 10,000"


def routes(app: Flask) -> list[tuple[str, str]]:
    """(method, path) of every route, with a value in place of a variable."""
    return [
        (method, re.sub("<.*?>", "nothing", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


def test_every_route_fails_in_the_one_shape(app: Flask, client: FlaskClient, service: FakeService) -> None:
    assert len(routes(app)) >= 8
    for method, path in routes(app):
        if path != "/healthz":
            check_problem(client.open(path, method=method, json=GOOD), "unauthorized")
            wrong = client.open(path, method=method, json=GOOD, headers={"Authorization": "Bearer wrong"})
            check_problem(wrong, "unauthorized")
            assert wrong.headers["WWW-Authenticate"].startswith("Bearer ")
        check_problem(client.open(path, method="PATCH", headers=BEARER), "method-not-allowed")
    parameters = "?source=web.access&field=client"
    for error, kind in ((StoreError("down"), "unavailable"), (RuntimeError("a secret"), "internal")):
        service.error = error
        for method, path in routes(app):
            asks = path + (parameters if path.rpartition("/")[2] in ("count", "top", "timeline") else "")
            asks = asks.replace("client", "client&value=192.0.2.1") if "top" not in asks else asks
            fresh = create_app(FakeServices(service), FakeTokens()).test_client()
            problem = check_problem(fresh.open(asks, method=method, json=GOOD, headers=BEARER), kind)
            assert "secret" not in problem["detail"]


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
    check_problem(client.post(QUERY, data=b" " * (MAX_BODY + 1), headers=json_type), "too-large")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "bearer x y", TOKEN, f"Bearer {TOKEN}x"])
def test_tokens_that_are_not_good(client: FlaskClient, header: str) -> None:
    check_problem(client.get("/api/v1/sources", headers={"Authorization": header}), "unauthorized")


def test_a_failure_before_the_first_event_is_an_error(client: FlaskClient, service: FakeService) -> None:
    service.batches = [StoreError("a tablet server is gone")]
    check_problem(client.post(QUERY, json=GOOD, headers=BEARER), "unavailable")
    assert service.results[0].closed.is_set()


def test_a_failure_midway_is_in_the_summary(client: FlaskClient, service: FakeService) -> None:
    service.batches = [events(0, 2), StoreError("a tablet server is gone")]
    response = client.post(QUERY, json=GOOD, headers=BEARER)
    assert response.status_code == 200
    *rows, last = lines(response.data)
    assert len(rows) == 2
    assert last["summary"]["status"] == "failed"
    assert last["summary"]["problem"]["type"] == problem_type("unavailable")
    assert "tablet server" in last["summary"]["problem"]["detail"]


# On a real server


@pytest.fixture
def port(app: Flask) -> Iterator[int]:
    with serve_app(app, threads=4) as port:
        yield port


def ask(port: int, body: Any = GOOD) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", QUERY, json.dumps(body), BEARER | {"Content-Type": "application/json"})
    return connection.getresponse()


def test_the_first_events_do_not_wait_for_more(port: int, service: FakeService) -> None:
    more = threading.Event()
    service.batches = [events(0, 1), more, events(1, 1)]
    response = ask(port)
    assert json.loads(response.readline())["path"] == "/0"
    assert not more.is_set()
    more.set()
    rest = lines(response.read())
    assert rest[0]["path"] == "/1"
    assert rest[-1]["summary"]["status"] == "complete"


def test_a_client_that_leaves_ends_its_query(port: int, service: FakeService) -> None:
    service.batches = [events(0, 1), threading.Event()]
    response = ask(port)
    response.readline()
    assert not service.results[0].closed.is_set()
    response.close()
    assert service.results[0].closed.wait(5), "the query was still open 5 s after its client had left"


def test_a_client_that_leaves_in_the_middle_of_much_ends_its_query(port: int, service: FakeService) -> None:
    class Endless(list[pa.RecordBatch]):
        def __iter__(self) -> Iterator[pa.RecordBatch]:
            batch = events(0, 1000)
            while True:
                yield batch

    service.batches = Endless()
    response = ask(port)
    response.read(100_000)
    response.close()
    assert service.results[0].closed.wait(10)


def test_queries_are_bounded_and_short_requests_still_answered(port: int, service: FakeService) -> None:
    more = threading.Event()
    service.batches = [events(0, 1), more]
    running = [ask(port), ask(port)]
    refused = ask(port)
    assert refused.status == 503
    assert json.loads(refused.read())["type"] == problem_type("busy")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    more.set()
    for response in running:
        assert lines(response.read())[-1]["summary"]["status"] == "complete"
    assert ask(port).status == 200


# Tokens


def test_the_first_token_is_made_once_and_private(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    tokens = Tokens.open(secret)
    token = (secret / "rest.token").read_text().strip()
    holder = tokens.find_holder(token)
    assert holder is not None and holder.authorizations is None
    for name in ("tokens.json", "rest.token"):
        assert stat.S_IMODE((secret / name).stat().st_mode) == 0o600
    assert token not in (secret / "tokens.json").read_text()
    assert Tokens.open(secret).find_holder(token) == holder
    assert tokens.find_holder(token + "x") is None
    assert tokens.find_holder("") is None


def test_tokens_may_change_while_they_are_used(tmp_path: Path) -> None:
    tokens = Tokens.open(tmp_path)
    (tmp_path / "tokens.json").write_text(json.dumps({hash_token("new"): {"name": "soc", "authorizations": ["a"]}}))
    holder = tokens.find_holder("new")
    assert holder is not None and (holder.name, holder.authorizations) == ("soc", ("a",))
    assert tokens.find_holder((tmp_path / "rest.token").read_text().strip()) is None


@pytest.mark.parametrize("content", ["", "[]", '{"x": {}}', '{"00": {"name": "a", "authorizations": []}}'])
def test_damaged_tokens_are_said(tmp_path: Path, content: str) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(content)
    tokens.chmod(0o600)
    with pytest.raises(SettingsError, match=r"tokens\.json"):
        Tokens.open(tmp_path)


def test_tokens_that_others_can_read_are_refused(tmp_path: Path) -> None:
    Tokens.open(tmp_path)
    (tmp_path / "tokens.json").chmod(0o644)
    with pytest.raises(SettingsError, match="chmod 600"):
        Tokens.open(tmp_path)


# Routes


def test_every_file_in_the_folder_is_found(app: Flask) -> None:
    folder = Path(find_spec(ROUTES_FOLDER).submodule_search_locations[0])  # type: ignore[union-attr,index]
    names = [path.stem for path in sorted(folder.glob("*.py")) if path.stem != "__init__"]
    declared = [route for name in names for route in import_module(f"{ROUTES_FOLDER}.{name}").ROUTES]
    assert names and find_routes() == declared
    assert sorted((route.method, re.sub("<.*?>", "nothing", route.path)) for route in declared) == sorted(routes(app))


@pytest.mark.parametrize("route", find_routes(), ids=lambda route: f"{route.method} {route.path}")
def test_schemas_are_schemas_and_know_the_paths_variables(route: Route) -> None:
    for schema in (route.parameters, route.body, route.answer):
        if schema is not None:
            Draft202012Validator.check_schema(schema)
    variables = set(re.findall("<(.*?)>", route.path))
    assert variables <= set((route.parameters or {"properties": {}})["properties"])
    assert route.summary and (route.method == "GET") == (route.body is None)


@pytest.mark.parametrize("route", find_routes(), ids=lambda route: f"{route.method} {route.path}")
def test_answers_fit_their_schemas(client: FlaskClient, route: Route) -> None:
    known = {"source": "web.access", "field": "status", "value": "404", "since": "2026-01-01"}
    properties = (route.parameters or {"properties": {}})["properties"]
    for names in (set(properties), set((route.parameters or {}).get("required", ()))):
        asked = {name: known[name] for name in names & set(known)}
        path = route.path.replace("<name>", "web.access")
        response = client.open(
            path, method=route.method, query_string=asked, json=GOOD if route.body else None, headers=BEARER
        )
        assert (response.status_code, response.content_type) == (200, route.answer_type)
        for answer in lines(response.data):
            Draft202012Validator(route.answer).validate(answer)


def test_a_route_without_a_token_sees_nothing_labelled(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    def handle(call: Call) -> Any:
        return {"authorizations": call.authorizations, "events": call.service.count_events("web.access", None, None)}

    route = Route("GET", "/open", "An open route", handle, {"type": "object"}, needs_token=False)
    monkeypatch.setattr(app_module, "find_routes", lambda: [route])
    answer = create_app(services, FakeTokens()).test_client().get("/open").json
    assert answer == {"authorizations": [], "events": 5}
    assert services.authorizations == [()]


# Documentation


def test_every_endpoint_and_problem_is_documented(app: Flask) -> None:
    text = (Path(__file__).parents[2] / "docs/using/rest.md").read_text()
    for rule in app.url_map.iter_rules():
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            assert f"{method} {rule.rule.replace('<name>', 'NAME')}" in text
    for kind, (status, _) in KINDS.items():
        assert f"| `{kind}` | {status} |" in text
