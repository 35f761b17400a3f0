"""Jobs keep their rows for their owner alone, are bounded, and end when they are told to or nobody asks for them.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from rest_fakes import GOOD, FakeService, FakeServices, check_problem, events, read_lines

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.jobs import JobLimits, JobStore
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.tokens.token import Token, hash_token
from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.times import parse_time

JOBS = "/api/v1/jobs"
REQUESTS = (("GET", "", None), ("GET", "/rows", None), ("POST", "/finalize", {}), ("DELETE", "", None))
"""Requests about one job."""
LIMITS = JobLimits(jobs=6, jobs_per_token=4, bytes=1 << 20, bytes_per_token=1 << 20, keep_seconds=60, waiting=4)


class TwoTokens:
    """Knows the tokens ``ann`` and ``bob`` until they are revoked."""

    damage = None

    def __init__(self) -> None:
        self.revoked: set[str] = set()

    def find_token(self, text: str) -> Token | None:
        known = text in ("ann", "bob") and text not in self.revoked
        return Token(text, hash_token(text), "analyst", (), 0) if known else None

    def is_in_force(self, token: Token) -> bool:
        return token.name not in self.revoked


class Jobs:
    """Asks the service by two tokens."""

    def __init__(self, client: FlaskClient, tokens: TwoTokens) -> None:
        self.client, self.tokens = client, tokens

    def open(self, method: str, path: str = "", token: str = "ann", body: Any = None, **query: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        return self.client.open(JOBS + path, method=method, headers=headers, json=body, query_string=query)

    def create(self, token: str = "ann", **body: Any) -> dict[str, Any]:
        answer = self.open("POST", token=token, body={**GOOD, "wait": 0, **body})
        assert answer.status_code == 200, answer.text
        return dict(answer.json)

    def ask(self, method: str, path: str, body: Any = None, **query: Any) -> dict[str, Any]:
        answer = self.open(method, path, body=body, **query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json)

    def wait_for(self, job: str, status: str) -> dict[str, Any]:
        wait_until(lambda: self.ask("GET", f"/{job}")["status"] == status)
        return self.ask("GET", f"/{job}")


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def limits() -> JobLimits:
    return LIMITS


@pytest.fixture
def jobs(services: FakeServices, limits: JobLimits) -> Iterator[Jobs]:
    tokens = TwoTokens()
    whole = RestLimits(queries=8, queries_per_token=8, wait_seconds=0.5, jobs=limits)
    yield Jobs(create_app(services, tokens, whole).test_client(), tokens)
    tokens.revoked |= {"ann", "bob"}  # which ends all jobs


@pytest.fixture
def gate(service: FakeService) -> Iterator[threading.Event]:
    """Queries find five rows, then wait until this is set, and find three more."""
    opened = threading.Event()
    service.batches = [events(0, 2), events(2, 3), opened, events(5, 3)]
    yield opened
    opened.set()


def read_pages(jobs: Jobs, job: str, limit: int) -> list[dict[str, Any]]:
    rows, page = [], jobs.ask("GET", f"/{job}/rows", limit=limit)
    while "cursor" in page:
        assert len(page["rows"]) <= limit
        rows += page["rows"]
        page = jobs.ask("GET", f"/{job}/rows", limit=limit, cursor=page["cursor"], wait=5)
    return rows + page["rows"]


def test_a_short_query_has_ended_when_the_answer_comes(jobs: Jobs) -> None:
    job = jobs.create(wait=5)
    assert (job["status"], job["rows"], job["request"]) == ("complete", 5, GOOD)
    assert job["summary"]["status"] == "complete" and job["summary"]["rows"] == 5


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 1000])
def test_pages_are_all_rows_once(jobs: Jobs, limit: int) -> None:
    job = jobs.create(wait=5)["job"]
    stream = jobs.client.post("/api/v1/query", json=GOOD, headers={"Authorization": "Bearer ann"})
    rows = read_pages(jobs, job, limit)
    assert rows == read_lines(stream.data)[:-1]
    assert read_pages(jobs, job, limit) == rows, "pages may be asked for again"


def test_rows_come_while_the_query_runs(jobs: Jobs, gate: threading.Event) -> None:
    job = jobs.create()["job"]
    wait_until(lambda: jobs.ask("GET", f"/{job}")["rows"] == 5)
    page = jobs.ask("GET", f"/{job}/rows")
    assert (page["status"], len(page["rows"]), page["cursor"]) == ("running", 5, "5")
    empty = jobs.ask("GET", f"/{job}/rows", cursor="5")
    assert (empty["rows"], empty["cursor"]) == ([], "5")
    threading.Timer(0.2, gate.set).start()
    last = jobs.ask("GET", f"/{job}/rows", cursor="5", wait=10)
    assert len(last["rows"]) == 3
    assert jobs.wait_for(job, "complete")["rows"] == 8
    assert "cursor" not in jobs.ask("GET", f"/{job}/rows", cursor="8")


def test_finalize_keeps_what_is_there(jobs: Jobs, service: FakeService, gate: threading.Event) -> None:
    job = jobs.create()["job"]
    wait_until(lambda: jobs.ask("GET", f"/{job}")["rows"] == 5)
    done = jobs.ask("POST", f"/{job}/finalize", body={})
    assert (done["status"], done["rows"], done["summary"]["status"]) == ("finalized", 5, "finalized")
    assert service.results[-1].closed.is_set()
    page = jobs.ask("GET", f"/{job}/rows")
    assert len(page["rows"]) == 5 and "cursor" not in page
    assert jobs.ask("POST", f"/{job}/finalize", body={})["status"] == "finalized"


def test_cancel_ends_the_query_and_forgets_it(jobs: Jobs, service: FakeService, gate: threading.Event) -> None:
    job = jobs.create()["job"]
    assert jobs.ask("DELETE", f"/{job}") == {"removed": job}
    assert service.results[-1].closed.wait(5)
    for method, path, body in REQUESTS:
        check_problem(jobs.open(method, f"/{job}{path}", body=body), "unknown-job")


def test_nobody_sees_the_jobs_of_others(jobs: Jobs, gate: threading.Event) -> None:
    job = jobs.create()["job"]
    assert jobs.open("GET", token="bob").json == {"jobs": []}
    for method, path, body in REQUESTS:
        hidden = check_problem(jobs.open(method, f"/{job}{path}", "bob", body), "unknown-job")
        absent = check_problem(jobs.open(method, f"/{'0' * 32}{path}", "bob", body), "unknown-job")
        assert hidden == absent
    assert [found["job"] for found in jobs.ask("GET", "")["jobs"]] == [job]


def test_the_newest_job_is_listed_first(jobs: Jobs) -> None:
    made = [jobs.create(wait=5)["job"] for _ in range(3)]
    assert [found["job"] for found in jobs.ask("GET", "")["jobs"]] == made[::-1]


def test_a_jobs_slot_is_given_back(jobs: Jobs) -> None:
    for _ in range(20):
        assert jobs.create(wait=5)["status"] == "complete"


def test_a_token_has_so_many_jobs(jobs: Jobs, gate: threading.Event) -> None:
    running = [jobs.create()["job"] for _ in range(4)]
    began = time.monotonic()
    refused = jobs.open("POST", body=GOOD)
    check_problem(refused, "too-many-requests")
    assert refused.headers["Retry-After"] == "5" and 0.5 <= time.monotonic() - began < 5
    jobs.create("bob")
    jobs.create("bob")
    full = jobs.open("POST", token="bob", body=GOOD)
    check_problem(full, "busy")
    assert (full.status_code, full.headers["Retry-After"]) == (429, "5")
    jobs.ask("POST", f"/{running[2]}/finalize", body={})
    new = jobs.create()["job"]
    assert {found["job"] for found in jobs.ask("GET", "")["jobs"]} == {*running, new} - {running[2]}


def test_a_job_waits_for_room(jobs: Jobs, gate: threading.Event) -> None:
    running = [jobs.create()["job"] for _ in range(4)]
    ending = threading.Timer(0.2, lambda: jobs.ask("DELETE", f"/{running[0]}"))
    ending.start()
    assert jobs.create()["status"] == "running"
    ending.join()


def test_a_bad_query_costs_no_job_its_rows(jobs: Jobs) -> None:
    """Ended jobs make room for another one, but not for a request that makes none."""
    made = [jobs.create(wait=5)["job"] for _ in range(4)]
    check_problem(jobs.open("POST", body={**GOOD, "where": "("}), "bad-filter")
    assert [job["job"] for job in jobs.ask("GET", "")["jobs"]] == made[::-1]
    jobs.create(wait=5)
    assert made[0] not in [job["job"] for job in jobs.ask("GET", "")["jobs"]]


@pytest.mark.parametrize("limits", [replace(LIMITS, waiting=0)])
def test_a_job_that_finds_no_room_to_wait_is_refused_at_once(jobs: Jobs, gate: threading.Event) -> None:
    for _ in range(4):
        jobs.create()
    began = time.monotonic()
    check_problem(jobs.open("POST", body=GOOD), "too-many-requests")
    assert time.monotonic() - began < 0.4


def test_a_refused_job_leaves_no_query_behind(
    jobs: Jobs, service: FakeService, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another request may take the room for which this one has waited."""
    monkeypatch.setattr(JobStore, "wait_for_room", lambda self, owner, is_client_gone: None)
    for _ in range(4):
        jobs.create()
    check_problem(jobs.open("POST", body=GOOD), "too-many-requests")
    assert [result.closed.is_set() for result in service.results] == [False] * 4 + [True]


@pytest.mark.parametrize("limits", [replace(LIMITS, bytes_per_token=1000)])
def test_rows_that_do_not_fit_end_the_job(jobs: Jobs, service: FakeService, gate: threading.Event) -> None:
    service.batches = [events(n, 10) for n in range(100)]
    job = jobs.create(wait=5)
    assert job["status"] == job["summary"]["status"] == "full"
    assert 10 <= job["rows"] < 50 and service.results[-1].closed.is_set()
    assert len(read_pages(jobs, job["job"], 7)) == job["rows"]
    other = jobs.create(wait=5)
    assert other["status"] == "full" and other["rows"] == job["rows"], "the ended job made room"
    assert [found["job"] for found in jobs.ask("GET", "")["jobs"]] == [other["job"]]


@pytest.mark.parametrize("limits", [replace(LIMITS, keep_seconds=0.5)])
def test_a_job_that_nobody_asks_for_is_removed(jobs: Jobs, service: FakeService, gate: threading.Event) -> None:
    job = jobs.create()["job"]
    for _ in range(10):
        time.sleep(0.1)
        jobs.ask("GET", f"/{job}")
    wait_until(lambda: jobs.ask("GET", "")["jobs"] == [])
    assert service.results[-1].closed.is_set()


def test_a_job_is_kept_as_long_as_its_owner_wants(jobs: Jobs) -> None:
    for body, seconds in (({}, LIMITS.keep_seconds), ({"keep": 1}, 1), ({"keep": 86_400}, 86_400)):
        job = jobs.create(wait=5, **body)
        left = parse_time(job["expires"], 0) / 1e6 - time.time()
        assert seconds - 5 < left <= seconds and job["request"] == GOOD
    (_, short, _) = jobs.ask("GET", "")["jobs"]
    jobs.ask("GET", f"/{short['job']}")
    wait_until(lambda: short["job"] not in [job["job"] for job in jobs.ask("GET", "")["jobs"]])
    for keep in (0, 86_401, 1.5, "1h"):
        check_problem(jobs.open("POST", body={**GOOD, "keep": keep}), "bad-body")


def test_a_revoked_token_ends_its_jobs(jobs: Jobs, service: FakeService, gate: threading.Event) -> None:
    job = jobs.create()["job"]
    jobs.tokens.revoked.add("ann")
    assert service.results[-1].closed.wait(2)
    jobs.tokens.revoked.clear()
    check_problem(jobs.open("GET", f"/{job}"), "unknown-job")


def test_a_job_that_fails_says_why(jobs: Jobs, service: FakeService) -> None:
    service.batches = [events(0, 2), StoreError("a tablet server is gone")]
    job = jobs.create(wait=5)
    assert (job["status"], job["rows"], job["problem"]["status"]) == ("failed", 2, 503)
    assert "tablet server" not in str(job)
    assert len(jobs.ask("GET", f"/{job['job']}/rows")["rows"]) == 2


def test_a_query_that_does_not_fit_makes_no_job(jobs: Jobs, service: FakeService) -> None:
    check_problem(jobs.open("POST", body={"source": "nothing"}), "unknown-source")
    check_problem(jobs.open("POST", body={**GOOD, "where": "("}), "bad-filter")
    check_problem(jobs.open("POST", body={**GOOD, "watch": True}), "bad-body")
    check_problem(jobs.open("POST", body={**GOOD, "wait": 11}), "bad-body")
    service.error = UserError("no")
    check_problem(jobs.open("POST", body=GOOD), "bad-request")
    assert jobs.ask("GET", "") == {"jobs": []}


@pytest.mark.parametrize("cursor", ["-1", "x", "1e3", "99999999999", " 1"])
def test_a_bad_cursor_is_refused(jobs: Jobs, cursor: str) -> None:
    job = jobs.create(wait=5)["job"]
    check_problem(jobs.open("GET", f"/{job}/rows", cursor=cursor), "bad-parameter")


def test_a_cursor_behind_the_rows_has_none(jobs: Jobs) -> None:
    job = jobs.create(wait=5)["job"]
    assert jobs.ask("GET", f"/{job}/rows", cursor="9999999999") == {"status": "complete", "rows": []}
