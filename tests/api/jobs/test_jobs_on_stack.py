"""Jobs over real servers: pages are the events in their order, progress is true, and an ended job leaves no scan.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write
from scan_sessions import assert_scans_end
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.times import format_micros, parse_time, to_micros
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

EVENTS, START = 4000, datetime(2026, 1, 8, tzinfo=UTC)
TIMES = [START + timedelta(seconds=n) for n in range(EVENTS)]
SLOWLY = {"policy": "fixed", "width": 2_000_000}
"""Settings of a query that runs for long: a query batch for every two events."""


class Jobs:
    def __init__(self, client: FlaskClient) -> None:
        self._client = client

    def ask(self, method: str, path: str = "", body: Any = None, **query: Any) -> dict[str, Any]:
        answer = self._client.open(
            f"/api/v1/jobs{path}",
            method=method,
            json=body,
            query_string=query,
            headers={"Authorization": "Bearer analyst"},
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json)

    def begin(self, layout: str) -> str:
        """Starts a job that runs for long, and returns its ID once it has rows and says what it covers."""
        body = {"source": name_source(layout), "scheme": "batched-scan", "batching": SLOWLY, "wait": 0}
        body["until"] = format_micros(to_micros(TIMES[-1]) + 1)  # no batch is empty
        job = str(self.ask("POST", body=body)["job"])
        deadline = time.monotonic() + 30
        while not (told := self.ask("GET", f"/{job}"))["rows"] or "covered_since" not in told:
            assert time.monotonic() < deadline
        return job

    def read_numbers(self, job: str, limit: int) -> list[int]:
        """Returns the numbers of a job's events, read page by page until the job has no more."""
        found, page = [], self.ask("GET", f"/{job}/rows", limit=limit, wait=10)
        while True:
            assert len(page["rows"]) <= limit
            found += [row["n"] for row in page["rows"]]
            if "cursor" not in page:
                return found
            page = self.ask("GET", f"/{job}/rows", limit=limit, cursor=page["cursor"], wait=10)


def name_source(layout: str) -> str:
    return f"jobs{RUN}.{layout}"


@pytest.fixture(scope="module")
def jobs(store_settings: Settings) -> Iterator[Jobs]:
    with Store.open(store_settings) as store, store.sink() as sink:
        for layout in LAYOUTS:
            source = store.catalog.register(
                parse_definition(
                    {
                        "name": name_source(layout), "parser": {"format": "json"}, "timestamp": {"field": "ts"},
                        "layout": layout, "fields": [{"name": "ts", "type": "time"}, {"name": "n", "type": "int"}],
                    }
                )
            )  # fmt: skip
            rows = [{"ts": ts, "n": n} for n, ts in enumerate(TIMES)]
            write(sink, source, 0, batch_of(source, rows), block_rows=200)
        sink.flush()
    services = StoreServices(store_settings)
    yield Jobs(create_app(services, AnyToken()).test_client())
    services.close()


@pytest.mark.parametrize("limit", [700, 10_000])
def test_pages_have_every_event_in_order(jobs: Jobs, layout: str, limit: int) -> None:
    job = jobs.ask("POST", body={"source": name_source(layout), "wait": 10})
    assert jobs.read_numbers(job["job"], limit) == list(range(EVENTS))[::-1]
    told = jobs.ask("GET", f"/{job['job']}")
    assert (told["status"], told["rows"]) == ("complete", EVENTS)
    assert told["covered_since"] <= format_micros(to_micros(START))
    assert jobs.ask("DELETE", f"/{job['job']}") == {"removed": job["job"]}


def test_progress_is_true_and_finalize_keeps_what_was_found(jobs: Jobs, layout: str) -> None:
    job = jobs.begin(layout)
    told = [jobs.ask("GET", f"/{job}") for _ in range(20)]
    done = jobs.ask("POST", f"/{job}/finalize", body={})
    found = jobs.read_numbers(job, 10_000)
    assert done["status"] == "finalized" and 0 < done["rows"] == len(found) < EVENTS
    assert found == list(range(EVENTS))[::-1][: len(found)]
    for one in told:
        assert one["status"] == "running"
        # All events from then on were looked at, and those that were found are kept.
        looked_at = sum(to_micros(ts) >= parse_time(one["covered_since"], 0) for ts in TIMES)
        assert 0 < looked_at <= len(found)
    assert [one["covered_since"] for one in told] == sorted((one["covered_since"] for one in told), reverse=True)
    jobs.ask("DELETE", f"/{job}")


def test_cancel_ends_the_scans(jobs: Jobs, layout: str, store_settings: Settings) -> None:
    job = jobs.begin(layout)
    jobs.ask("DELETE", f"/{job}")
    with Store.open(store_settings) as store:
        source = store.catalog.read_sources()[name_source(layout)]
        assert_scans_end(store.connection, event_table(source))
