"""REST routes declare schemas that their answers fit, and the documentation names all of them.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from rest_fakes import (
    BEARER,
    GOOD,
    OPERATOR,
    FakeServices,
    FakeTokens,
    good_body,
    list_routes,
    list_rules,
    read_lines,
)
from route_walk import KNOWN

from watchfloor.api.formats.stream_encoder import NDJSON
from watchfloor.api.rest import app as app_module
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.problems import KINDS
from watchfloor.api.rest.base.route import JSON, ROUTES_FOLDER, Call, Route, find_routes


def test_every_file_in_the_folder_is_found(app: Flask) -> None:
    folder = Path(find_spec(ROUTES_FOLDER).submodule_search_locations[0])  # type: ignore[union-attr,index]
    files = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py") if path.stem != "__init__"]
    names = [".".join([ROUTES_FOLDER, *file.parts]) for file in files]
    declared = [route for name in names for route in import_module(name).ROUTES]
    assert names and sorted(map(str, find_routes())) == sorted(map(str, declared))
    assert sorted((route.method, re.sub("<.*?>", "nothing", route.path)) for route in declared) == sorted(
        list_routes(app)
    )


@pytest.mark.parametrize("route", find_routes(), ids=lambda route: f"{route.method} {route.path}")
def test_schemas_are_schemas_and_know_the_paths_variables(route: Route) -> None:
    for schema in (route.parameters, route.body, route.answer):
        if schema is not None:
            Draft202012Validator.check_schema(schema)
    variables = set(re.findall("<(.*?)>", route.path))
    assert variables <= set((route.parameters or {"properties": {}})["properties"])
    assert route.summary and (route.method in ("GET", "DELETE")) == (route.body is None)


@pytest.mark.parametrize("route", find_routes(), ids=lambda route: f"{route.method} {route.path}")
def test_answers_fit_their_schemas(client: FlaskClient, route: Route) -> None:
    known = {**KNOWN, "since": "2026-01-01"}
    properties = (route.parameters or {"properties": {}})["properties"]
    for names in (set(properties), set((route.parameters or {}).get("required", ()))):
        asked = {name: known[name] for name in names & set(known)}
        job = client.post("/api/v1/jobs", json=GOOD, headers=BEARER).json["job"] if "<job>" in route.path else ""
        path = re.sub("<.*?>", "web.access", route.path.replace("<job>", job))
        headers = OPERATOR if route.role == "operator" else BEARER
        response = client.open(
            path, method=route.method, query_string=asked, json=good_body(path) if route.body else None, headers=headers
        )
        assert (response.status_code, response.content_type) == (200, route.answer_type)
        for answer in read_lines(response.data) if route.answer_type in (JSON, NDJSON) else ():
            Draft202012Validator(route.answer).validate(answer)


def test_a_route_without_a_token_sees_nothing_labelled(services: FakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    def handle(call: Call) -> Any:
        return {"authorizations": call.grant.labels, "events": call.service.count_events("web.access", None, None)}

    route = Route("GET", "/open", "An open route", handle, {"type": "object"}, role=None)
    monkeypatch.setattr(app_module, "find_routes", lambda: [route])
    answer = create_app(services, FakeTokens()).test_client().get("/open").json
    assert answer == {"authorizations": [], "events": 5}
    assert services.authorizations == [()]


def test_every_endpoint_and_problem_is_documented(app: Flask) -> None:
    text = (Path(__file__).parents[2] / "docs/using/rest.md").read_text()
    for rule in list_rules(app):
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            assert f"{method} {re.sub('<(.*?)>', lambda name: name[1].upper(), rule.rule)}" in text
    for kind, (status, _) in KINDS.items():
        assert f"| `{kind}` | {status} |" in text
