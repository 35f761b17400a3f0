"""The OpenAPI document is valid and has what the routes declare; the page made of it needs no other file.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser
from typing import Any

import pytest
from answer_parts import check_lines, check_messages
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator, ValidationError
from openapi_spec_validator import OpenAPIV31SpecValidator
from rest_fakes import check_problem

from watchfloor.api.rest.base.problems import KINDS, problem_type
from watchfloor.api.rest.base.route import Route, find_routes
from watchfloor.api.rest.openapi.document import LINE_SCHEMA, make_document
from watchfloor.api.rest.openapi.page import CONTENT_POLICY

ROUTES = find_routes()


def show_path(route: Route) -> str:
    """Returns the path of a route as OpenAPI writes it."""
    return re.sub("<(.*?)>", r"{\1}", route.path)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return make_document(ROUTES)


def test_it_is_valid_and_what_the_service_sends(client: FlaskClient, document: dict[str, Any]) -> None:
    OpenAPIV31SpecValidator(document).validate()
    answer = client.get("/api/v1/openapi.json")  # without a token
    assert (answer.status_code, answer.json) == (200, json.loads(json.dumps(document)))


def test_every_operation_has_a_name_of_its_own(document: dict[str, Any]) -> None:
    names = [one["operationId"] for item in document["paths"].values() for one in item.values()]
    assert len({*names}) == len(names) == len(ROUTES)
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in names)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_it_has_what_a_route_declares(document: dict[str, Any], route: Route) -> None:
    operation = document["paths"][show_path(route)][route.method.lower()]
    properties = (route.parameters or {"properties": {}})["properties"]
    parameters = {one["name"]: one for one in operation.get("parameters", ())}
    assert parameters.keys() == properties.keys()
    for name, one in parameters.items():
        assert {**one["schema"], **{k: one[k] for k in ("description",) if k in one}} == properties[name]
        assert one["in"] == ("path" if f"<{name}>" in route.path else "query")
        assert one.get("required", False) == (name in (route.parameters or {}).get("required", ()))
    assert ("requestBody" in operation) == (route.body is not None)
    if route.body is not None:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert {"$schema": route.body.get("$schema"), **schema} == {"$schema": None, **route.body}
    content = operation["responses"]["200"]["content"]
    assert [*content] == [route.answer_type.partition(";")[0], *route.other_types]
    answer = content[route.answer_type.partition(";")[0]]["schema"]
    assert answer.get(LINE_SCHEMA, answer) == route.answer
    assert operation["security"] == ([] if route.role is None else [{"token": []}])


EVENT, SUMMARY = '{"ts": "2026-01-08", "n": 1, "tags": ["a", null]}', '{"summary": {"status": "complete", "rows": 1}}'
MESSAGE = 'id: 1\ndata: {"ts": "2026-01-08", "_id": "1"}\n\n'
LAST = 'event: summary\ndata: {"status": "limit", "rows": 1}\n\n'
ROWS = '{"part": 0, "share": 1.0, "complete": true, "rows": [{"count": 1}]}'


@pytest.mark.parametrize(
    ("path", "good", "bad"),
    [
        (
            "query",
            [SUMMARY, f"{EVENT}\n{SUMMARY}", f'{EVENT}\n{{"summary": {{"status": "deadline", "rows": 0}}}}\n'],
            [
                "",
                EVENT,
                f"{SUMMARY}\n{EVENT}",
                f"{SUMMARY}\n{SUMMARY}",
                f'{{"_id": 1}}\n{SUMMARY}',
                f"[1]\n{SUMMARY}",
                '{"summary": {"status": "done", "rows": 1}}',
                '{"summary": {"status": "failed", "rows": 1}}',
                '{"summary": {"status": "complete"}}',
            ],
        ),
        ("stats", [f"{ROWS}\n{SUMMARY}"], [ROWS, f"{EVENT}\n{SUMMARY}", f'{{"part": 0, "rows": []}}\n{SUMMARY}']),
        (
            "tail",
            [LAST, f": nothing new\n\n{MESSAGE}{LAST}"],
            [
                MESSAGE,
                f"{LAST}{MESSAGE}",
                f"data: 1\n\n{LAST}",
                'event: summary\ndata: {"rows": 1}\n\n',
                f"id: 1\n\n{LAST}",
            ],
        ),
    ],
)
def test_the_schema_of_a_stream_lets_no_other_parts_pass(
    document: dict[str, Any], path: str, good: list[str], bad: list[str]
) -> None:
    (operation,) = document["paths"][f"/api/v1/{path}"].values()
    schema = next(iter(operation["responses"]["200"]["content"].values()))["schema"]
    check = check_messages if path == "tail" else check_lines
    for text in good:
        check(schema, text)
    for text in bad:
        with pytest.raises((AssertionError, ValidationError, ValueError)):
            check(schema, text)


def test_problems_fit_their_schema(client: FlaskClient, document: dict[str, Any]) -> None:
    schema = document["components"]["schemas"]["Problem"]
    assert schema["properties"]["type"]["enum"] == [problem_type(kind) for kind in KINDS]
    Draft202012Validator(schema).validate(check_problem(client.get("/api/v1/sources"), "unauthorized"))


class Page(HTMLParser):
    """Collects the elements of a page, and checks that they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_names_every_route_and_loads_nothing(client: FlaskClient) -> None:
    answer = client.get("/api/v1/docs")
    assert (answer.status_code, answer.content_type) == (200, "text/html; charset=utf-8")
    page = Page()
    page.feed(answer.text)
    assert page.open == []
    text = " ".join(page.texts)
    for route in ROUTES:
        assert f"{route.method} {show_path(route)}" in text
        assert route.summary in text
    for tag, attributes in page.elements:
        assert tag not in ("script", "link", "img", "iframe", "form", "object", "base")
        assert not {"style", "src", "srcset", "onclick"} & attributes.keys()
        assert attributes.get("href", "#") in ("openapi.json",) or str(attributes.get("href", "#")).startswith("#")
    targets = {str(attributes["id"]) for _, attributes in page.elements if "id" in attributes}
    links = {str(attributes["href"])[1:] for _, attributes in page.elements if "href" in attributes}
    assert links - {"penapi.json"} == targets


def test_the_policy_allows_the_page_its_style_alone(client: FlaskClient) -> None:
    answer = client.get("/api/v1/docs")
    policy = answer.headers["Content-Security-Policy"]
    assert policy == CONTENT_POLICY and "default-src 'none'" in policy and "unsafe" not in policy
    style = answer.text.partition("<style>")[2].partition("</style>")[0]
    assert f"'sha256-{b64encode(hashlib.sha256(style.encode()).digest()).decode()}'" in policy


@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/api/v1/docs"])
def test_a_client_that_has_it_gets_no_body(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    again = client.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert client.get(path, headers={"If-None-Match": '"another"'}).data == answer.data
