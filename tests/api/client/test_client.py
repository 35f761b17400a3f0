"""The Python client asks the real service, over fakes of its queries, and reads each of its answers.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rest_fakes import SOURCE, TOKEN, FakeService, FakeServices, events

from watchfloor.api.client import Client, ClientError, ServiceProblem
from watchfloor.schema.errors import UnknownFieldError

SLOW = threading.Event  # a batch that never comes


@pytest.fixture
def analyst(port: int) -> Client:
    return Client(f"http://127.0.0.1:{port}", TOKEN, retry_seconds=0)


def test_the_client_loads_no_jvm_no_flask_and_no_kafka() -> None:
    code = "import sys, watchfloor.api.client; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "watchfloor" in loaded
    assert not {"jpype", "flask", "kafka", "waitress", "lark", "pyarrow", "pandas", "polars"} & set(loaded)


def test_events_come_as_they_are_found_and_the_summary_at_the_end(analyst: Client, service: FakeService) -> None:
    more = threading.Event()
    service.batches = [events(0, 1), more, events(1, 1)]
    answer = analyst.query("web.access")
    rows = iter(answer)
    assert next(rows) == {"ts": "2026-01-08T12:00:00.000000Z", "client": "192.0.2.0", "path": "/0"}
    assert answer.summary is None and not more.is_set()
    more.set()
    assert [row["path"] for row in rows] == ["/1"]
    assert answer.summary is not None
    assert (answer.summary.status, answer.summary.rows, answer.summary.cursor) == ("complete", 2, None)
    assert answer.summary.members["plan"]["scheme"] == "batched-scan"


def test_a_query_says_all_it_can(analyst: Client, service: FakeService, services: FakeServices) -> None:
    answer = analyst.query(
        "web.access", since=datetime(2026, 1, 1, tzinfo=UTC), until=1_767_873_600.5, where="status = 404",
        columns=("path", "ts"), limit=3, scheme="index", w=4, batching={"growth": 2.0}, deadline=1.5, cursor="abc",
    )  # fmt: skip
    assert len(list(answer)) == 5
    request = service.asked[0]
    assert (request.since, request.until) == (1_767_225_600_000_000, 1_767_873_600_500_000)
    assert (request.columns, request.limit, request.scheme, request.w) == (("path", "ts"), 3, "index", 4)
    assert (request.deadline, request.cursor, service.watched) == (1.5, "abc", [])
    assert services.authorizations[-1] == ("tlp_amber",)
    list(analyst.query("web.access", watch=True))
    assert len(service.watched) == 1


def test_an_event_that_looks_like_a_summary_is_an_event(analyst: Client, service: FakeService) -> None:
    import pyarrow as pa

    service.batches = [pa.RecordBatch.from_pylist([{"summary": {"status": "shown"}}, {"summary": {"status": "x"}}])]
    assert list(analyst.query("web.access")) == [{"summary": {"status": "shown"}}, {"summary": {"status": "x"}}]


def test_stats_are_rows(analyst: Client) -> None:
    answer = analyst.stats("web.access", "count() by status", where="status = 404")
    assert list(answer) == [{"status": 0, "count": 0}]
    assert answer.summary is not None and answer.summary.status == "complete"


def test_short_answers(analyst: Client) -> None:
    assert analyst.explain("web.access")["text"].startswith("scheme ")
    assert analyst.explain_stats("web.access", "count()")["from"] == "counts"
    assert analyst.count("web.access") == 5
    assert analyst.count("web.access", field="status", value="404", since="2026-01-01") == 2
    assert analyst.top("web.access", "client", limit=1) == [{"value": "192.0.2.1", "count": 3}]
    assert analyst.timeline("web.access")[0] == {"start": "2026-01-08T11:00:00.000000Z", "count": 1}
    assert analyst.find("192.0.2.1", kind="ip")["sightings"][0]["field"] == "client"
    assert [source["name"] for source in analyst.sources()] == ["web.access"]
    assert analyst.source("web.access")["definition"] == SOURCE.definition


def test_a_token_may_stand_in_a_file(port: int, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert Client(f"http://127.0.0.1:{port}/", token_file=file).count("web.access") == 5


def test_a_wrong_filter_is_an_error_with_its_place(analyst: Client) -> None:
    with pytest.raises(ServiceProblem) as caught:
        list(analyst.query("web.access", where="status ="))
    problem = caught.value
    assert (problem.kind, problem.status, problem.position) == ("bad-filter", 400, 8)
    assert problem.caret is not None and problem.caret.splitlines()[1].strip() == "^"
    assert problem.caret in str(problem)


def test_other_problems_say_what_is_wrong_and_what_would_do(analyst: Client, port: int) -> None:
    with pytest.raises(ServiceProblem, match=r"did you mean web\.access") as caught:
        analyst.count("web.acess")
    assert caught.value.kind == "unknown-source"
    with pytest.raises(ServiceProblem, match="/limit: ") as caught:
        list(analyst.query("web.access", limit=-1))
    assert caught.value.errors[0]["pointer"] == "/limit"
    with pytest.raises(ServiceProblem, match="not known") as caught:
        Client(f"http://127.0.0.1:{port}", "wrong").sources()
    assert (caught.value.kind, caught.value.status) == ("unauthorized", 401)
    with pytest.raises(ServiceProblem) as caught:
        analyst.source("a/b c")
    assert caught.value.kind in ("unknown-source", "not-found")


def test_a_query_that_fails_after_some_rows_raises_its_problem(analyst: Client, service: FakeService) -> None:
    service.batches = [events(0, 2), UnknownFieldError("statuss", "web.access", ["status"])]
    answer, rows = analyst.query("web.access"), []
    with pytest.raises(ServiceProblem, match="did you mean status") as caught:
        for row in answer:
            rows.append(row)
    assert (len(rows), caught.value.kind) == (2, "unknown-field")
    assert answer.summary is not None and answer.summary.status == "failed"


def test_batches_that_fail_raise_the_problem_too(analyst: Client, service: FakeService) -> None:
    service.batches = [events(0, 2), UnknownFieldError("statuss", "web.access", ["status"])]
    answer, rows = analyst.query("web.access"), 0
    with pytest.raises(ServiceProblem, match="did you mean status"):
        for batch in answer.read_batches():
            rows += batch.num_rows
    assert rows == 2


def test_an_empty_answer_has_its_columns(analyst: Client, service: FakeService) -> None:
    service.batches = [events(0, 0)]
    assert analyst.query("web.access").to_arrow().column_names == ["ts", "client", "path", "status", "tags"]
    assert list(analyst.query("web.access").read_batches()) == []


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_library_that_is_missing(analyst: Client, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ClientError, match=f"{name} is not installed: pip install {name}"):
        getattr(analyst.query("web.access"), f"to_{name}")()


def test_the_end_of_the_block_ends_the_query(analyst: Client, service: FakeService) -> None:
    service.batches = [events(0, 1), SLOW()]
    with analyst.query("web.access") as answer:
        assert next(iter(answer))["path"] == "/0"
        assert not service.results[0].closed.is_set()
    assert service.results[0].closed.wait(5)


def test_an_iteration_that_is_left_ends_the_query(analyst: Client, service: FakeService) -> None:
    service.batches = [events(0, 1), SLOW()]
    for _ in analyst.query("web.access"):
        break
    gc.collect()
    assert service.results[0].closed.wait(5)


def test_cancel_in_another_thread_ends_rows_and_query(analyst: Client, service: FakeService) -> None:
    service.batches = [events(0, 3), SLOW()]
    answer = analyst.query("web.access")
    rows = iter(answer)
    assert next(rows)["path"] == "/0"
    threading.Timer(0.3, answer.cancel).start()
    began = time.monotonic()
    assert [row["path"] for row in rows] == ["/1", "/2"]
    assert time.monotonic() - began < 3
    assert answer.summary is None
    assert service.results[0].closed.wait(5)


def test_cancel_before_the_first_byte(analyst: Client, service: FakeService) -> None:
    service.batches = [SLOW()]
    answer = analyst.query("web.access")
    threading.Timer(0.3, answer.cancel).start()
    assert list(answer) == []
    assert service.results[0].closed.wait(5)
    early = analyst.query("web.access")
    early.cancel()
    assert list(early) == []


def test_an_answer_is_read_once(analyst: Client) -> None:
    answer = analyst.query("web.access")
    list(answer)
    with pytest.raises(ClientError, match="read already"):
        list(answer)


def test_a_time_without_its_zone_is_refused(analyst: Client) -> None:
    with pytest.raises(ClientError, match="no time zone"):
        analyst.query("web.access", since=datetime(2026, 1, 1))
    with pytest.raises(ClientError, match="no time zone"):
        analyst.count("web.access", until=datetime(2026, 1, 1))
