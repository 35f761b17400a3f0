"""Runs of ingest clients: in closed loop, as fast as they can, and in open loop, by a schedule that does not wait."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from watchfloor.ingest.queue.item import WorkItem
from watchfloor.loadgen.harness.cpu_usage import CpuMeter
from watchfloor.loadgen.harness.open_loop import Response
from watchfloor.loadgen.harness.session import BenchSession

from .clients import IngestClients
from .rates import DurableItem, TimeWindow, find_busy_window
from .server_watch import ServerSample, ServerWatch

_MOST_ITEMS = 20
"""Items per second and client that a closed loop queues: more than any client can read."""
_MORE_SECONDS = 5


@dataclass(frozen=True)
class IngestRun:
    """A run of ingest clients. ``whole`` is all of it, ``steady`` the part that is measured; ``items`` cover both."""

    items: Sequence[DurableItem]
    whole: TimeWindow
    steady: TimeWindow
    server_samples: Sequence[ServerSample]
    cpu: CpuMeter


@dataclass(frozen=True)
class OpenIngestRun(IngestRun):
    """A run by a schedule. ``responses``, one for each item, count seconds from the beginning of ``whole``.

    All items were due within ``whole``.
    """

    responses: Sequence[Response]


def run_closed_loop(
    session: BenchSession, clients: IngestClients, work: Iterator[WorkItem], seconds: float, warm_up: float = 0.0
) -> IngestRun:
    """Lets all clients work for ``warm_up`` and then for at least ``seconds``.

    Each client takes an item as soon as it has ended one.
    All items are queued at the beginning. The clients should be at work already: see ``warm_up_clients``.
    """
    items = list(islice(work, math.ceil(_MOST_ITEMS * clients.count * (seconds + warm_up + _MORE_SECONDS))))
    clients.announce_items(items)

    def is_long_enough(found: Mapping[bytes, DurableItem]) -> bool:
        all_work = len({item.client for item in found.values()}) == clients.count
        return all_work and find_busy_window(list(found.values())).seconds >= warm_up + seconds

    with CpuMeter(session.settings) as cpu, ServerWatch(session.store) as watch:
        clients.queue_items(items)
        clients.supervise(warm_up + seconds)
        done = list(clients.await_durable(items, is_long_enough).values())
    begun = find_busy_window(done)
    whole = TimeWindow(begun.since + warm_up, begun.until)
    return IngestRun(done, whole, whole.drop_settling(), watch.samples, cpu)


def run_open_loop(
    session: BenchSession, clients: IngestClients, work: Iterator[WorkItem], due: Sequence[float], seconds: float
) -> OpenIngestRun:
    """Queues item i ``due[i]`` seconds after the start, and returns when all items are durable.

    All of ``due`` are below ``seconds``. The clients should be at work already: see ``warm_up_clients``.
    """
    items = list(islice(work, len(due)))
    clients.announce_items(items)
    with CpuMeter(session.settings) as cpu, ServerWatch(session.store) as watch:
        began = time.time()
        for item, after in zip(items, due, strict=True):
            clients.supervise(began + after - time.time())
            clients.queue_items([item])
        done = clients.await_durable(items)
    responses = [
        Response(after, done[item.item_id].begun - began, done[item.item_id].ended - began)
        for item, after in zip(items, due, strict=True)
    ]
    whole = TimeWindow(began, began + seconds)
    return OpenIngestRun(list(done.values()), whole, whole.drop_settling(), watch.samples, cpu, responses)


def warm_up_clients(clients: IngestClients, work: Iterator[WorkItem]) -> list[WorkItem]:
    """Queues items until every client has ended some, and returns these items."""
    items: list[WorkItem] = []
    worked: set[str] = set()
    while len(worked) < clients.count:
        more = list(islice(work, 2 * clients.count))
        clients.announce_items(more)
        clients.queue_items(more)
        items += more
        worked = {done.client for done in clients.await_durable(items).values()}
    return items
