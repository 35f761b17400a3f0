"""A service asks questions of its sources before it says that it is ready, for a bounded time and without harm.

In `make test`: it is short; two tests ask the stack of the run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from loaded import LAYOUTS, write_hosts
from rest_fakes import SOURCE, FakeService, events

from watchfloor.api.rest import serve as serving
from watchfloor.api.rest import warm_up as warming
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.rest.warm_up import warm_up
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.visibility.grant import EVERYTHING
from watchfloor.store.store import Store

SOURCES = {SOURCE.name: SOURCE}
AMPLE = 300.0


def test_each_kind_of_question_is_asked_in_each_round(service: FakeService) -> None:
    service.batches = [events(0, 5)]
    asked = warm_up(service, SOURCES, AMPLE)  # type: ignore[arg-type]
    assert asked == len(service.results) - 1, "the first one finds the source"
    assert asked % warming._ROUNDS == 0 and asked // warming._ROUNDS >= 8
    wheres = [str(request.where) for request in service.asked]
    for part in ("None", "not ", 'like "*e*"', " ~ ", "192.0.2.0", "no such text"):
        assert sum(part in where for where in wheres) >= warming._ROUNDS, part
    assert all(isinstance(request.where, str | None) for request in service.asked), "as people write them"
    assert all(request.limit == 100 and request.deadline is not None for request in service.asked)
    assert all(result.status != "running" for result in service.results)


def test_it_takes_no_time_that_it_has_not(service: FakeService) -> None:
    service.batches = [events(0, 5)]
    assert warm_up(service, SOURCES, 0.0) == 0  # type: ignore[arg-type]
    assert not service.results


@pytest.mark.parametrize("error", [StoreError("a server is down")])
def test_an_error_ends_it_without_harm(
    service: FakeService, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    service.error = error
    with caplog.at_level(logging.INFO):
        assert warm_up(service, SOURCES, AMPLE) == 0  # type: ignore[arg-type]
    assert "a server is down" in caplog.text and not [r for r in caplog.records if r.levelno > logging.INFO]


def test_a_source_without_events_is_left_out(service: FakeService) -> None:
    service.batches = []
    assert warm_up(service, SOURCES, AMPLE) == 0 and len(service.asked) == 1  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def sources(store_settings: Settings) -> Iterator[dict[str, Source]]:
    """A source in each layout."""
    newest = datetime(2026, 3, 1, 12, tzinfo=UTC)
    rows = [
        {"ts": newest - timedelta(minutes=n), "n": n, "host": f"192.0.2.{n % 9}" if n % 4 else None} for n in range(200)
    ]
    with Store.open(store_settings) as store:
        yield {name: write_hosts(store, name, layout, rows) for layout in LAYOUTS if (name := f"warm{layout}.host")}


@pytest.mark.stack
def test_a_store_answers_all_questions(
    store_settings: Settings, sources: dict[str, Source], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), closing(StoreServices(store_settings)) as services:
        asked = warm_up(services.open_service(EVERYTHING), sources, AMPLE)
    # All rows, an address and what is not it, and counts.
    assert asked == warming._ROUNDS * len(sources) * 4
    assert "ended early" not in caplog.text


@pytest.mark.stack
def test_a_service_warms_up_before_it_listens(
    store_settings: Settings, sources: dict[str, Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    monkeypatch.setattr(serving, "warm_up", lambda service, known: order.append(f"warm {set(sources) <= set(known)}"))
    monkeypatch.setattr(serving, "run_server", lambda *arguments: order.append("listen"))
    serving.serve(store_settings, order.append)
    assert order == ["warm True", "listen"]
