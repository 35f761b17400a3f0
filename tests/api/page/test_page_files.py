"""The files of the web page: types, entity tags, compression, a strict content policy, and their size.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from rest_fakes import check_problem

from watchfloor.api.rest.page import CONTENT_TYPES, STATIC, add_page, read_files

MAX_BUNDLE = 300_000  # bytes, compressed
NAMES = sorted(path.name for path in STATIC.glob("*"))
TYPES = {
    "app.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "index.html": "text/html; charset=utf-8",
    "licenses.txt": "text/plain; charset=utf-8",
}


def test_all_files_are_served_with_their_types(client: FlaskClient) -> None:
    assert list(TYPES) == NAMES
    for name, content_type in TYPES.items():
        answer = client.get(f"/static/{name}")
        assert (answer.status_code, answer.content_type) == (200, content_type)
        assert answer.data == (STATIC / name).read_bytes()
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert client.get("/").data == (STATIC / "index.html").read_bytes()


def test_a_browser_that_has_a_file_gets_it_no_second_time(client: FlaskClient) -> None:
    for headers in ({}, {"Accept-Encoding": "gzip"}):
        answer = client.get("/static/app.js", headers=headers)
        again = client.get("/static/app.js", headers={**headers, "If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.data) == (304, b"")
        assert again.headers["Content-Security-Policy"]
        assert answer.headers["Cache-Control"] == "no-cache"
    plain, packed = (client.get("/", headers={"Accept-Encoding": way}).headers["ETag"] for way in ("identity", "gzip"))
    assert plain != packed
    assert client.get("/static/app.js", headers={"If-None-Match": plain}).status_code == 200


def test_files_are_compressed_where_the_client_takes_that(client: FlaskClient) -> None:
    answer = client.get("/static/app.js", headers={"Accept-Encoding": "gzip, br"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert gzip.decompress(answer.data) == (STATIC / "app.js").read_bytes()
    refused = client.get("/static/app.js", headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers


def test_the_bundle_is_small() -> None:
    assert sum(len(file.compressed) for file in read_files(STATIC).values()) <= MAX_BUNDLE


def test_the_content_policy_is_strict_and_the_page_needs_no_exception(client: FlaskClient) -> None:
    policy = dict(part.split(" ", 1) for part in client.get("/").headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in str(policy)
    html = (STATIC / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|https?://", html)
    assert all(link.startswith("/static/") for link in re.findall(r'(?:src|href)="([^"]*)"', html))


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fapp.py", "../app.py", "%2e%2e/app.py", ".", "app.js/", ""])
def test_nothing_else_is_served(client: FlaskClient, name: str) -> None:
    check_problem(client.get(f"/static/{name}"), "not-found")


def test_a_service_without_the_page_says_how_to_build_it(tmp_path: Path) -> None:
    app = Flask(__name__, static_folder=None)
    app.register_error_handler(Exception, lambda error: (error.detail, 404))
    add_page(app, tmp_path)
    assert "make setup" in app.test_client().get("/").text


def test_the_licenses_of_all_libraries_are_told(client: FlaskClient) -> None:
    text = client.get("/static/licenses.txt").text
    assert all(f"{name} " in text for name in ("uplot", "@codemirror/view", "@lezer/common", "@tanstack/virtual-core"))
    assert text.count("MIT") >= 10 and "undefined" not in text


def test_the_lock_file_names_no_registry() -> None:
    lock = Path(__file__).parents[3] / "api" / "web" / "package-lock.json"
    assert '"resolved"' not in lock.read_text() and lock.read_text().count('"integrity"') > 10
    assert set(CONTENT_TYPES) == {Path(name).suffix for name in TYPES}
