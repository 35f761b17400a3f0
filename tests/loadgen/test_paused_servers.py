"""Servers that pause show in latency, and ``bench ingest`` adds a tablet server, on a stack of this module's own.

A server that stands still shows in the latency of all that was due meanwhile. A client that waits for its answer before
it goes on would have noticed once: coordinated omission.

In `make soak`: servers stand still for seconds, several times.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from ingest_support import wait_for
from own_stack import stack_folder

from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.loadgen.experiments.ingest import run as ingest
from watchfloor.loadgen.harness.ingest.clients import run_clients
from watchfloor.loadgen.harness.ingest.rates import STEP
from watchfloor.loadgen.harness.ingest.runs import run_open_loop, warm_up_clients
from watchfloor.loadgen.harness.ingest.server_watch import ServerWatch
from watchfloor.loadgen.harness.ingest.work_supply import ITEM_EVENTS, WorkSupply
from watchfloor.loadgen.harness.measurement.figure import STATISTICS
from watchfloor.loadgen.harness.open_loop import Response, run_open, schedule_evenly
from watchfloor.loadgen.harness.session import BenchSession
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tablet_servers import list_tablet_servers
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]

STALL = 2.0


ROUNDS = 20


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BenchSession]:
    with stack_folder() as settings:
        small = replace(settings, tserver_heap="256m", tserver_maps="8m", topic="watchfloor.t", group="watchfloor.t")
        start_stack(small)
        with Store.open(small) as store:
            yield BenchSession(small, store, tmp_path_factory.mktemp("session"))


@contextmanager
def paused(settings: Settings, after: float) -> Iterator[None]:
    """``after`` seconds from now the tablet servers stand still for ``STALL`` seconds."""
    servers = [process for path in (settings.home / "run").glob("tserver*.json") if (process := find_process(path))]
    assert servers

    def stall() -> None:
        time.sleep(after)
        try:
            for server in servers:
                os.kill(server.pid, signal.SIGSTOP)
            time.sleep(STALL)
        finally:
            for server in servers:
                os.kill(server.pid, signal.SIGCONT)

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def assert_the_stall_shows(responses: Sequence[Response]) -> None:
    """Of responses that were due evenly in three times ``STALL``, to a client that makes one request at a time."""
    latency, service = [r.latency for r in responses], [r.service for r in responses]
    assert all(a >= b for a, b in zip(latency, service, strict=True))
    # A sixth of all was due in the first half of the stall, and waited for the other half at least.
    p90 = STATISTICS["90th percentile"]
    assert p90(latency) > STALL / 2
    assert p90(latency) > 2 * p90(service)
    # The request that was under way is all that a closed loop would have seen.
    assert sum(seconds > STALL / 2 for seconds in latency) >= 3 * max(
        1, sum(seconds > STALL / 2 for seconds in service)
    )


def test_a_paused_tablet_server_is_in_the_latency_of_items_and_hardly_in_their_service_time(
    session: BenchSession,
) -> None:
    source = session.create_source("proxy.events")
    items = WorkSupply(session.folder, 500, seed=1).make_items(source.name)
    with run_clients(session, 1) as pool:
        warm_up_clients(pool, items)
        with paused(session.settings, after=STALL / 2):
            run = run_open_loop(session, pool, items, schedule_evenly(4, 3 * STALL), 3 * STALL)
    assert len(run.responses) == 4 * 3 * STALL
    assert_the_stall_shows(run.responses)
    silent = [look.silent for look in run.server_samples]
    assert (min(silent), max(silent)) == (0, 1)


def test_writes_that_a_full_server_holds_up_are_seen(session: BenchSession) -> None:
    """More is written at once than the server may keep in memory: it lets nothing through until some is in a file."""
    table = event_table(session.create_source("proxy.events"))
    value = os.urandom(1 << 18)
    with ServerWatch(session.store) as watch:
        for written in range(ROUNDS):
            session.store.put(table, [(b"%04d%d %d" % (n % 2, n, written), b"", b"q", value) for n in range(256)])
            if any(look.hold_ms for look in watch.samples):
                break
    assert any(look.hold_ms > 0 and not look.silent for look in watch.samples)
    wait_for(lambda: list_tablet_servers(session.store.connection)[0].hold_ms == 0)


def test_a_paused_tablet_server_is_in_the_latency_of_queries_and_hardly_in_their_service_time(
    session: BenchSession,
) -> None:
    source = session.create_source("proxy.events")
    item = next(WorkSupply(session.folder, 500, seed=1).make_items(source.name))
    with session.store.sink() as sink:
        events = read_item(ReadTask(session.store, sink, item)).events
    service = QueryService(session.store)

    def ask(number: int) -> None:
        with closing(service.run(QueryRequest(source.name, where="status >= 0"))) as result:
            assert sum(map(len, result)) == events

    ask(0)
    with paused(session.settings, after=STALL / 2):
        assert_the_stall_shows(run_open(schedule_evenly(6, 3 * STALL), ask, clients=1))


def test_a_small_run_has_every_figure_and_spreads_tablets_over_the_servers(
    session: BenchSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ITEM_EVENTS, "block", 2000)
    parser = ArgumentParser()
    ingest.add_options(parser)
    options = parser.parse_args(["--clients", "2", "--tservers", "2", "--seconds", "2", "--shares", "120"])
    options.seed = 1
    figures = ingest.run(session, options)
    assert {figure.metric.name for figure in figures} == {metric.name for metric in ingest.EXPERIMENT.metrics}
    assert all(figure.samples and len(figure.at) in (0, len(figure.samples)) for figure in figures)
    found = {(figure.metric.name, *figure.labels.values()): figure for figure in figures}
    assert len(found) == len(figures)
    assert len(list_tablet_servers(session.store.connection)) == 2

    of = ("2 clients", "2 tablet servers", "closed loop")
    rate, whole = found["steady_events_per_second", *of], found["instantaneous_events_per_second", *of]
    assert whole.at[0] < found["steady_state_seconds", *of].at[0] < rate.at[0] < rate.at[-1] < whole.at[-1] + STEP
    assert found["rate_variation", *of].value == pytest.approx(found["rate_variance", *of].value ** 0.5 / rate.value)
    assert found["saturation_clients", "2 tablet servers"].value == 2
    assert found["saturation_events_per_second", "2 tablet servers"].value == rate.value > 0

    per_client = found["megabytes_per_second_per_client", *of]
    assert per_client.value == pytest.approx(found["steady_megabytes_per_second", *of].value / 2)

    of = ("2 tablet servers", "open loop", "120 %")
    latency, service = found["item_latency_ms", *of], found["item_service_ms", *of]
    assert latency.note == "by 2 clients"
    assert all(a >= b for a, b in zip(latency.samples, service.samples, strict=True))
    offered = found["offered_events_per_second", *of].value
    assert offered * options.seconds == pytest.approx(len(latency.samples) * 2000, rel=0.01)
    assert offered == pytest.approx(1.2 * rate.value, abs=2000 / options.seconds)
