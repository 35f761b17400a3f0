"""REST reads null and numbers in bodies and addresses as JSON clients mean them.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient
from rest_fakes import (
    BEARER,
    GOOD,
    QUERY,
    FakeService,
    check_problem,
)


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
    for width in (1.5, "1", True, 1e300):
        check_problem(client.post(QUERY, json=GOOD | {"batching": {"width": width}}, headers=BEARER), "bad-request")


@pytest.mark.parametrize("text", ["1.0", "1e3", "NaN", "inf", "-1", "1" + "0" * 30, "0", "10001", "1%200", "%D9%A1"])
def test_a_limit_in_the_address_is_a_whole_number(client: FlaskClient, text: str) -> None:
    address = f"/api/v1/top?source=web.access&field=client&limit={text}"
    problem = check_problem(client.get(address, headers=BEARER), "bad-parameter")
    assert problem["detail"] == "the parameter 'limit' must be a whole number from 1 to 10,000"
