"""Answers of every route are compressed as the client accepts it, and are the same as those that are not.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import pytest
from answer_parts import decompress
from flask.testing import FlaskClient
from rest_fakes import BEARER, GOOD, OPERATOR, FakeService, events
from route_walk import good_path

from watchfloor.api.formats.compression import ENCODINGS
from watchfloor.api.rest.answers import negotiation
from watchfloor.api.rest.base.route import Route, find_routes

ROUTES = [r for r in find_routes() if r.method == "GET" and r.path not in ("/metrics", "/api/v1/tail")]
"""Metrics differ each time, and a tail is a stream."""


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_every_answer_is_compressed_if_it_is_large(
    client: FlaskClient, route: Route, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = OPERATOR if route.role == "operator" else BEARER
    plain = client.get(good_path(route), headers=headers)
    assert "Content-Encoding" not in plain.headers and "Accept-Encoding" in plain.headers["Vary"]
    monkeypatch.setattr(negotiation, "LEAST_BYTES", 1)
    packed = client.get(good_path(route), headers={**headers, "Accept-Encoding": encoding})
    assert (packed.status_code, packed.headers["Content-Encoding"]) == (plain.status_code, encoding)
    assert decompress(packed.data, encoding) == plain.data
    assert int(packed.headers["Content-Length"]) == len(packed.data)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_pages_of_jobs_are_compressed(client: FlaskClient, service: FakeService, encoding: str) -> None:
    service.batches = [events(0, 1000)]
    job = client.post("/api/v1/jobs", json={**GOOD, "wait": 5}, headers=BEARER).json["job"]
    path = f"/api/v1/jobs/{job}/rows"
    plain = client.get(path, headers=BEARER).data
    packed = client.get(path, headers={**BEARER, "Accept-Encoding": f"br, {encoding}"})
    assert packed.headers["Content-Encoding"] == encoding and len(packed.data) < len(plain) / 4
    assert decompress(packed.data, encoding) == plain


@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0, zstd;q=0", "identity, gzip;q=0.1"])
def test_nothing_is_compressed_that_the_client_does_not_want(client: FlaskClient, accepted: str) -> None:
    answer = client.get("/api/v1/openapi.json", headers={"Accept-Encoding": accepted})
    assert "Content-Encoding" not in answer.headers and answer.json["openapi"]


def test_short_answers_stay_as_they_are(client: FlaskClient) -> None:
    answer = client.get("/api/v1/sources", headers={**BEARER, "Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer.headers and len(answer.data) < negotiation.LEAST_BYTES


@pytest.mark.parametrize("encoding", ["", *ENCODINGS])
@pytest.mark.parametrize("path", ["/api/v1/openapi.json", "/api/v1/docs"])
def test_a_client_that_has_it_in_any_form_gets_it_no_second_time(client: FlaskClient, path: str, encoding: str) -> None:
    etag = client.get(path, headers={"Accept-Encoding": encoding}).headers["ETag"]
    for other in ("", *ENCODINGS):
        again = client.get(path, headers={"If-None-Match": etag, "Accept-Encoding": other})
        assert (again.status_code, again.data) == (304, b"")
