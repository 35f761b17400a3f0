"""Browsers' sessions: from signing in to signing out, their bounds, and what pages of other sites try.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import replace

import pytest
from flask.testing import FlaskClient
from rest_fakes import (
    BEARER,
    GOOD,
    QUERY,
    TOKEN,
    FakeService,
    FakeServices,
    FakeTokens,
    check_problem,
    events,
    read_lines,
)
from werkzeug.test import TestResponse

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.access import COOKIE
from watchfloor.api.tokens.sessions import SessionLimits, Sessions
from watchfloor.api.tokens.token import Token, hash_token

SESSION = "/api/v1/session"
HERE = {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}
FOREIGN: list[dict[str, str]] = [
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://other.localhost"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://localhost.evil.example"},
    {"Origin": "http://localhost:1"},
    {"Origin": "null"},
]


def sign_in(client: FlaskClient, token: str = TOKEN, headers: Mapping[str, str] = HERE) -> TestResponse:
    return client.post(SESSION, json={"token": token}, headers=headers)


def read_cookie(answer: TestResponse) -> str:
    return re.match(f"{COOKIE}=([^;]*)", answer.headers["Set-Cookie"])[1]  # type: ignore[index]


def test_from_signing_in_to_signing_out(client: FlaskClient) -> None:
    check_problem(client.get("/api/v1/sources", headers=HERE), "unauthorized")
    answer = sign_in(client)
    who = {"name": "tests", "role": "analyst", "labels": ["tlp_amber"], "sources": None, "expires": None}
    assert (answer.status_code, answer.json) == (200, who)
    assert client.get(SESSION, headers=HERE).json == who
    assert client.get("/api/v1/sources", headers=HERE).status_code == 200
    assert client.post(QUERY, json=GOOD, headers=HERE).status_code == 200
    text = read_cookie(answer)
    assert client.delete(SESSION, headers=HERE).json == {"ended": True}
    check_problem(client.get(SESSION, headers=HERE), "unauthorized")
    client.set_cookie(COOKIE, text)
    check_problem(client.get(SESSION, headers=HERE), "unauthorized")


def test_the_cookie_is_kept_from_scripts_and_other_sites(client: FlaskClient) -> None:
    kept = {"HttpOnly", "SameSite=Strict", "Path=/"}
    parts = set(sign_in(client).headers["Set-Cookie"].split("; "))
    assert kept <= parts and "Secure" not in parts and not any(part.startswith("Domain") for part in parts)
    behind_proxy = sign_in(client, headers={"Origin": "https://localhost", "Sec-Fetch-Site": "same-origin"})
    assert kept | {"Secure"} <= set(behind_proxy.headers["Set-Cookie"].split("; "))
    assert len(read_cookie(behind_proxy)) == 43  # 256 bits


def test_a_wrong_token_opens_nothing(client: FlaskClient) -> None:
    for token in (f"{TOKEN}x", "\x00", "é"):
        answer = sign_in(client, token)
        check_problem(answer, "unauthorized")
        assert "Set-Cookie" not in answer.headers
    for body in ({}, {"token": ""}, {"token": 1}, {"token": "a" * 201}, {"token": TOKEN, "more": 1}):
        check_problem(client.post(SESSION, json=body, headers=HERE), "bad-body")
    check_problem(client.post(SESSION, data=f"token={TOKEN}", headers=HERE), "unsupported-media-type")


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_other_sites_can_do_nothing_with_the_cookie(
    client: FlaskClient, service: FakeService, headers: dict[str, str]
) -> None:
    check_problem(sign_in(client, headers=headers), "forbidden")
    sign_in(client)
    for method, path, body in (("POST", QUERY, GOOD), ("GET", "/api/v1/sources", None), ("DELETE", SESSION, None)):
        check_problem(client.open(path, method=method, json=body, headers=headers), "forbidden")
    assert not service.asked
    assert client.get(SESSION, headers=HERE).status_code == 200


def test_over_plain_http_browsers_send_origin_alone(client: FlaskClient) -> None:
    sign_in(client)
    check_problem(client.post(QUERY, json=GOOD), "forbidden")
    check_problem(client.delete(SESSION), "forbidden")
    assert client.post(QUERY, json=GOOD, headers={"Origin": "http://localhost"}).status_code == 200
    assert client.get("/api/v1/sources").status_code == 200


def test_a_bearer_token_goes_before_a_cookie(client: FlaskClient) -> None:
    sign_in(client)
    check_problem(client.get("/api/v1/sources", headers=HERE | {"Authorization": "Bearer wrong"}), "unauthorized")
    evil = {"Origin": "https://evil.example"}  # who knows the token needs no cookie
    assert client.get("/api/v1/sources", headers=BEARER | evil).status_code == 200
    assert client.delete(SESSION, headers=BEARER | evil).json == {"ended": False}
    assert client.get("/api/v1/status", headers=HERE).status_code == 403


@pytest.mark.parametrize("cookie", ["", "x", TOKEN, hash_token(TOKEN), "\\000", "a" * 3000])
def test_a_cookie_that_is_no_sessions(client: FlaskClient, cookie: str) -> None:
    sign_in(client)
    client.set_cookie(COOKIE, cookie)
    check_problem(client.get("/api/v1/sources", headers=HERE), "unauthorized")


def test_a_session_ends_with_its_token(services: FakeServices) -> None:
    tokens = FakeTokens()
    client = create_app(services, tokens).test_client()
    sign_in(client)
    assert client.get(SESSION, headers=HERE).status_code == 200
    tokens.revoked = True
    check_problem(client.get(SESSION, headers=HERE), "unauthorized")
    tokens.revoked = False
    check_problem(client.get(SESSION, headers=HERE), "unauthorized")


def test_a_stream_ends_with_its_session(client: FlaskClient, service: FakeService) -> None:
    service.batches = [events(0, 2), threading.Event()]
    sign_in(client)
    stream = client.post(QUERY, json=GOOD, headers=HERE, buffered=False)
    body = iter(stream.response)
    first = next(body)
    client.delete(SESSION, headers=HERE)
    lines = read_lines(first + b"".join(body))
    assert lines[-1]["summary"]["status"] == "failed"
    assert lines[-1]["summary"]["problem"]["status"] == 401


# The sessions themselves

ALICE = Token("alice", hash_token("alice"), "analyst", (), 0)
LIMITS = SessionLimits(sessions=7, sessions_per_token=5, lifetime_seconds=60)


def test_sessions_keep_digests_alone() -> None:
    sessions = Sessions(lambda token: True, LIMITS)
    text = sessions.open_session(ALICE)
    assert text not in repr(vars(sessions))
    found = sessions.find_session(text)
    assert found is not None and found.token == ALICE and found.digest == hash_token(text)
    assert sessions.find_session(found.digest) is None


def test_sessions_end_after_their_time() -> None:
    sessions = Sessions(lambda token: True, replace(LIMITS, lifetime_seconds=0))
    text = sessions.open_session(ALICE)
    assert sessions.find_session(text) is None


def test_too_many_sessions_end_the_oldest() -> None:
    sessions = Sessions(lambda token: True, LIMITS)
    texts = [sessions.open_session(ALICE) for _ in range(8)]
    assert [sessions.find_session(text) is not None for text in texts] == [False] * 3 + [True] * 5
    others = [sessions.open_session(replace(ALICE, name=f"user{number}")) for number in range(4)]
    assert all(sessions.find_session(text) for text in others)
    assert sum(sessions.find_session(text) is not None for text in texts) == 3
