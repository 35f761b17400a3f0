"""A service asks questions of its sources before it says that it is ready, for a bounded time and without harm.

It goes on beside requests only while none comes.

In `make test`: it is short; two tests ask the stack of the run.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from loaded import LAYOUTS, write_hosts
from rest_fakes import BEARER, GOOD, QUERY, SOURCE, FakeService, FakeServices, FakeTokens, events

from watchfloor.api.rest import serve as serving
from watchfloor.api.rest.app import make_app, make_warm_up_app
from watchfloor.api.rest.base.context import REST_SECONDS, RestContext
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.rest.warming import warm_up as warming
from watchfloor.api.rest.warming.questions import list_questions
from watchfloor.api.rest.warming.warm_up import WarmUp
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

AMPLE = 300.0
LIMITS = RestLimits()


@pytest.fixture
def warm_up(services: FakeServices) -> WarmUp:
    return WarmUp(make_warm_up_app(services, FakeTokens(), LIMITS), services)


def test_each_kind_of_question_is_asked_in_each_round(service: FakeService, warm_up: WarmUp) -> None:
    service.batches = [events(0, 5)]
    asked = warm_up.run(AMPLE)
    assert asked == len(service.results) - 1, "the first one finds the source"
    assert asked == warming._ROUNDS * 10 + 2, "and counts in some rounds"
    wheres = [str(request.where) for request in service.asked]
    for part in ("None", "not ", " and ", 'like "*', " ~ ", 'client = "192.0.2.', "no such text", "status >", "/24"):
        assert sum(part in where for where in wheres) >= warming._ROUNDS, part
    assert all(isinstance(request.where, str | None) for request in service.asked), "as people write them"
    assert all(request.limit == 100 and request.deadline is not None for request in service.asked)
    assert all(result.status != "running" for result in service.results)


def test_rounds_ask_about_other_values() -> None:
    newest = [{"ts": "2026-01-08T12:00:00Z", "status": n, "path": f"/{n}"} for n in range(40)]
    rounds = [{json.dumps(question.body) for question in list_questions(SOURCE, newest, number)} for number in (1, 2)]
    assert all(len(asked) >= 7 for asked in rounds)
    assert len(rounds[0] & rounds[1]) == 1, "the page without a filter"


def test_it_takes_no_time_that_it_has_not(service: FakeService, warm_up: WarmUp) -> None:
    service.batches = [events(0, 5)]
    assert warm_up.run(0.0) == 0
    assert not service.results


def test_an_error_ends_it_without_harm(
    service: FakeService, warm_up: WarmUp, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(request: object) -> None:
        raise StoreError("a server is down")

    monkeypatch.setattr(service, "run", fail)
    with caplog.at_level(logging.INFO):
        assert warm_up.run(AMPLE) == 0
    assert "a server is down" in caplog.text and "ended early" in caplog.text
    assert not [record for record in caplog.records if record.levelno > logging.WARNING]


def test_a_source_without_events_is_left_out(service: FakeService, warm_up: WarmUp) -> None:
    service.batches = []
    assert warm_up.run(AMPLE) == 0 and len(service.asked) == 1


class Quiet:
    """Says whether no request comes, as a service does; ``looks`` has the questions asked before each time."""

    def __init__(self, service: FakeService, answer: bool) -> None:
        self._service, self._answer = service, answer
        self.looks: list[int] = []

    def __call__(self) -> bool:
        self.looks.append(len(self._service.results))
        return self._answer


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warm-up that goes on without pauses."""
    monkeypatch.setattr(warming, "FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(warming, "PAUSE_SECONDS", 0.0)


def run_and_go_on(
    service: FakeService, warm_up: WarmUp, quiet: Quiet, until: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> int:
    """Lets the warm-up of a source with many events go on until something holds. Returns how many more were asked."""
    monkeypatch.setattr(service, "count_events", lambda *arguments: warming.MANY_EVENTS)
    service.batches = [events(0, 5)]
    warm_up.run(0.5)
    asked, stopping = len(service.results), threading.Event()
    with warm_up.go_on(quiet, stopping):
        while not until():
            stopping.wait(0.01)
        stopping.set()
    return len(service.results) - asked


@pytest.mark.usefixtures("at_once")
def test_it_goes_on_one_by_one_while_no_request_comes(
    service: FakeService, warm_up: WarmUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = Quiet(service, answer=True)
    more = run_and_go_on(service, warm_up, quiet, lambda: len(quiet.looks) > 30, monkeypatch)
    assert more >= 29
    assert all(later - before <= 1 for before, later in zip(quiet.looks[1:], quiet.looks[2:], strict=False))


@pytest.mark.usefixtures("at_once")
def test_it_asks_nothing_while_requests_come(
    service: FakeService, warm_up: WarmUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = Quiet(service, answer=False)
    assert not run_and_go_on(service, warm_up, quiet, lambda: len(quiet.looks) > 30, monkeypatch)


@pytest.mark.usefixtures("at_once")
def test_it_does_not_go_on_where_events_are_few(service: FakeService, warm_up: WarmUp) -> None:
    service.batches = [events(0, 5)]
    warm_up.run(AMPLE)
    asked, quiet = len(service.results), Quiet(service, answer=True)
    with warm_up.go_on(quiet, threading.Event()):
        while not quiet.looks:
            threading.Event().wait(0.01)
    assert len(service.results) == asked


def test_a_service_is_at_rest_when_no_request_has_come_for_a_while(
    services: FakeServices,
) -> None:
    context = RestContext(services, FakeTokens(), LIMITS)
    client = make_app(context).test_client()
    assert context.is_at_rest()
    assert client.post(QUERY, json=GOOD, headers=BEARER).data
    assert not context.is_at_rest()
    context.asked_at -= REST_SECONDS
    assert context.is_at_rest()
    with context.queries.hold_slot("somebody", lambda: False):
        assert not context.is_at_rest()


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
    store_settings: Settings,
    sources: dict[str, Source],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with caplog.at_level(logging.INFO), closing(StoreServices(store_settings)) as services:
        monkeypatch.setattr(services, "read_sources", lambda grant: sources)
        warm_up = WarmUp(make_warm_up_app(services, FakeTokens(), LIMITS), services)
        monkeypatch.setattr(warming, "QUESTION_SECONDS", AMPLE)
        asked = warm_up.run(AMPLE)
    # All rows, an address and what is not it, a network, large numbers; and counts in some rounds.
    rounds = warming._ROUNDS
    assert asked == (rounds * 5 + 2) * len(sources)
    assert "ended early" not in caplog.text


@pytest.mark.stack
def test_a_service_warms_up_before_it_listens(store_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(WarmUp, "run", lambda warm_up: order.append("warm"))
    monkeypatch.setattr(serving, "run_server", lambda *arguments: order.append("listen"))
    serving.serve(store_settings, order.append)
    assert order == ["warm", "listen"]
