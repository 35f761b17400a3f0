"""The service's metrics count what it has answered, and say nothing that a reader of metrics must not learn.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import threading
import time

import pytest
from flask import Flask
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families
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
)
from slow_readers import ask_rest, connect_slow_reader

from watchfloor.api.client import Client
from watchfloor.schema.errors import StoreError

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read_metrics(client: FlaskClient) -> Samples:
    response = client.get("/metrics", headers=OPERATOR)
    assert response.status_code == 200 and response.content_type.startswith("text/plain; version=")
    families = text_string_to_metric_families(response.text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value_of(samples: Samples, metric: str, **labels: str) -> float | None:
    return samples.get((metric, frozenset(labels.items())))


def test_requests_are_counted_by_route_and_status(client: FlaskClient) -> None:
    for _ in range(3):
        client.get("/api/v1/sources/web.access", headers=BEARER)
    client.get("/api/v1/sources/none", headers=BEARER)
    client.get("/api/v1/sources", headers={"Authorization": "Bearer wrong"})
    client.open("/nothing/<here>", method="BREW")
    samples = read_metrics(client)
    name, one = "watchfloor_requests_total", "/api/v1/sources/<name>"
    assert value_of(samples, name, method="GET", route=one, status="200") == 3
    assert value_of(samples, name, method="GET", route=one, status="404") == 1
    assert value_of(samples, name, method="GET", route="/api/v1/sources", status="401") == 1
    assert value_of(samples, name, method="", route="unknown", status="404") == 1
    assert value_of(samples, "watchfloor_request_seconds_count", method="GET", route=one) == 4


def test_queries_are_counted_when_they_end(client: FlaskClient, service: FakeService) -> None:
    size = sum(len(client.post(QUERY, json=GOOD, headers=BEARER).data) for _ in range(2))
    client.post(QUERY, json={"source": "web.access", "watch": True}, headers=BEARER, buffered=True)
    client.post("/api/v1/stats", json=GOOD | {"stats": "count()"}, headers=BEARER, buffered=True)
    client.post(QUERY, json={"source": "none"}, headers=BEARER, buffered=True)
    samples = read_metrics(client)
    assert value_of(samples, "watchfloor_queries_total", kind="query", status="complete") == 2
    assert value_of(samples, "watchfloor_query_rows_total", kind="query", source="web.access") == 10
    assert value_of(samples, "watchfloor_query_sent_bytes_total", kind="query") == size
    assert value_of(samples, "watchfloor_query_scans_total", source="web.access") == 4
    run = {"source": "web.access", "scheme": "batched-scan"}
    assert value_of(samples, "watchfloor_query_seconds_count", kind="query", **run) == 2
    assert value_of(samples, "watchfloor_query_first_row_seconds_sum", kind="query", **run) == pytest.approx(0.008)
    assert value_of(samples, "watchfloor_queries_total", kind="watch", status="complete") == 1
    assert value_of(samples, "watchfloor_query_seconds_count", kind="watch", **run) is None
    assert value_of(samples, "watchfloor_query_seconds_count", kind="stats", **run) == 1


def test_failed_and_cut_off_queries_are_counted_too(port: int, app: Flask, service: FakeService) -> None:
    client, analyst = app.test_client(), Client(f"http://127.0.0.1:{port}", TOKEN)
    service.batches = [events(0, 2), StoreError("gone")]
    client.post(QUERY, json=GOOD, headers=BEARER, buffered=True)
    service.batches = [events(0, 1), threading.Event()]
    with analyst.query("web.access") as answer:
        next(iter(answer))
        samples = read_metrics(client)
        assert value_of(samples, "watchfloor_slots", queue="queries", state="running") == 1
        assert value_of(samples, "watchfloor_queries_total", kind="query", status="failed") == 1
    assert service.results[-1].closed.wait(5)
    for _ in range(100):
        samples = read_metrics(client)
        if not value_of(samples, "watchfloor_slots", queue="queries", state="running"):
            break
    assert value_of(samples, "watchfloor_slots", queue="queries", state="running") == 0


def test_requests_that_wait_and_streams_that_are_paused_are_counted(
    port: int, app: Flask, service: FakeService
) -> None:
    client = app.test_client()

    def wait_for_slots(**wanted: int) -> None:
        deadline, slots = time.monotonic() + 10, dict[str, float | None]()
        while slots != wanted:
            assert time.monotonic() < deadline, slots
            samples = read_metrics(client)
            slots = {s: value_of(samples, "watchfloor_slots", queue="queries", state=s) for s in wanted}

    gate = threading.Event()
    service.batches = [events(0, 1), gate]
    running = [ask_rest(port, TOKEN, GOOD) for _ in range(2)]  # as many as run at once
    wait_for_slots(running=2, waiting=0, paused=0)
    waiting = threading.Thread(target=lambda: ask_rest(port, TOKEN, GOOD).read())
    waiting.start()
    wait_for_slots(running=2, waiting=1, paused=0)
    gate.set()
    for response in running:
        response.read()
    waiting.join(10)
    wait_for_slots(running=0, waiting=0, paused=0)
    service.batches = [events(n * 1000, 1000) for n in range(200)]
    with connect_slow_reader(port, TOKEN, GOOD):
        wait_for_slots(running=0, waiting=0, paused=1)
    wait_for_slots(running=0, waiting=0, paused=0)


def test_the_state_is_that_of_now(client: FlaskClient, service: FakeService) -> None:
    assert value_of(read_metrics(client), "watchfloor_store_up") == 1
    assert value_of(read_metrics(client), "watchfloor_tokens_damaged") == 0
    service.error = StoreError("the store does not answer")
    threading.Event().wait(1.1)  # the store is asked once a second
    assert value_of(read_metrics(client), "watchfloor_store_up") == 0


def test_only_operators_who_see_everything_read_them(client: FlaskClient) -> None:
    """Metrics name sources and count their rows, so that a token with some labels would learn of hidden ones."""
    check_problem(client.get("/metrics"), "unauthorized")
    check_problem(client.get("/metrics", headers=BEARER), "forbidden")
    bounded = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}-bounded"})
    assert "with all labels" in check_problem(bounded, "forbidden")["detail"]
    assert client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}-admin"}).status_code == 200


def test_they_hold_no_text_of_clients(client: FlaskClient, services: FakeServices) -> None:
    made_up = ["s3cret", "Zq9"]
    client.post(QUERY, json={"source": "s3cret"}, headers=BEARER)
    client.post(QUERY, json={"source": "s3cret*,web.*"}, headers=BEARER)
    client.post(QUERY, json=GOOD | {"where": "path = s3cret"}, headers=BEARER)
    client.get("/api/v1/find?value=s3cret", headers=BEARER)
    client.get("/Zq9/s3cret", headers=BEARER | {"User-Agent": "Zq9"})
    client.open("/api/v1/sources/s3cret", method="ZQ9ZQ", headers=BEARER)
    text = client.get("/metrics", headers=OPERATOR).text
    assert not any(word.lower() in text.lower() for word in [*made_up, TOKEN, FakeTokens().find_token(TOKEN).name])  # type: ignore[union-attr]
