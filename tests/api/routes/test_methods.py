"""HEAD is answered as GET is, without a body, and OPTIONS tells the methods of each path.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient
from rest_fakes import BEARER, OPERATOR, FakeService, check_problem
from route_walk import good_path

from watchfloor.api.rest.base.route import Route, find_routes
from watchfloor.api.rest.page import STATIC

ROUTES = find_routes()
PATHS = sorted({re.sub("<.*?>", "web.access", route.path) for route in ROUTES})
UNSTABLE = {"Date"}
PAGE_PATHS = ("/", *sorted(f"/static/{path.name}" for path in STATIC.glob("*")))


def methods_of(path: str) -> set[str]:
    """Returns the methods of all routes that a path fits."""
    fitting = {r.method for r in ROUTES if re.fullmatch(re.sub("<.*?>", "[^/]+", r.path), path)}
    return {*fitting, "OPTIONS"} | ({"HEAD"} if "GET" in fitting else set())


def headers_of(route: Route) -> dict[str, str]:
    return OPERATOR if route.role == "operator" else BEARER


@pytest.mark.parametrize("route", [r for r in ROUTES if r.method == "GET"], ids=lambda route: route.path)
@pytest.mark.parametrize("is_known", [True, False])
def test_head_is_get_without_a_body(client: FlaskClient, service: FakeService, route: Route, is_known: bool) -> None:
    path = good_path(route) if is_known else good_path(route).replace("web.access", "nothing")
    got = client.get(path, headers=headers_of(route))
    head = client.head(path, headers=headers_of(route))
    assert got.data and head.status_code == got.status_code
    assert head.data == b""
    head.close()
    unstable = UNSTABLE | ({"Content-Length"} if route.path == "/metrics" else set())  # each reading is counted
    assert {k: v for k, v in head.headers if k not in unstable} == {k: v for k, v in got.headers if k not in unstable}
    assert all(result.closed.is_set() or result.status != "running" for result in service.results)


@pytest.mark.parametrize("path", PATHS)
def test_options_tells_the_methods_without_a_token(client: FlaskClient, path: str) -> None:
    answer = client.options(path)
    assert (answer.status_code, answer.data) == (200, b"")
    assert {*answer.headers["Allow"].split(", ")} == methods_of(path)


@pytest.mark.parametrize("path", PATHS)
def test_other_methods_are_refused_and_the_allowed_ones_named(client: FlaskClient, path: str) -> None:
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - methods_of(path):
        answer = client.open(path, method=method, headers=BEARER)
        check_problem(answer, "method-not-allowed")
        assert {*answer.headers["Allow"].split(", ")} == methods_of(path)
    if "GET" not in methods_of(path):
        head = client.head(path, headers=BEARER)
        assert (head.status_code, head.data) == (405, b"")


@pytest.mark.parametrize("path", PAGE_PATHS)
def test_the_pages_files_are_answered_likewise(client: FlaskClient, path: str) -> None:
    got, head, options = client.get(path), client.head(path), client.options(path)
    assert got.status_code == head.status_code == options.status_code == 200
    assert got.data and head.data == options.data == b""
    assert {k: v for k, v in head.headers if k != "Date"} == {k: v for k, v in got.headers if k != "Date"}
    assert {*options.headers["Allow"].split(", ")} == {"GET", "HEAD", "OPTIONS"}
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        refused = client.open(path, method=method)
        check_problem(refused, "method-not-allowed")
        assert {*refused.headers["Allow"].split(", ")} == {"GET", "HEAD", "OPTIONS"}


@pytest.mark.parametrize("path", ["/static/nothing.js", "/static/", "/index.html", "/static/app.js/more"])
def test_a_file_that_the_page_lacks_is_not_found(client: FlaskClient, path: str) -> None:
    check_problem(client.get(path), "not-found")
    head = client.head(path)
    assert (head.status_code, head.data) == (404, b"")


def test_options_of_no_path_is_not_found(client: FlaskClient) -> None:
    check_problem(client.options("/api/v1/nothing"), "not-found")
