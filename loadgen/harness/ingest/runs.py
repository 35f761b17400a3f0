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
"""Items a second and client that a closed loop has ready: more than any client gets through."""
_MORE_SECONDS = 5


@dataclass(frozen=True)
class IngestRun:
    """``whole`` is all that was looked at, ``steady`` the part that is measured; both within what ``items`` tell of."""

    items: Sequence[DurableItem]
    whole: TimeWindow
    steady: TimeWindow
    looks: Sequence[ServerSample]
    cpu: CpuMeter


@dataclass(frozen=True)
class OpenIngestRun(IngestRun):
    """``responses``, an item each, count their seconds from the beginning of ``whole``, in which all were due."""

    responses: Sequence[Response]


def run_closed_loop(
    session: BenchSession, clients: IngestClients, work: Iterator[WorkItem], seconds: float, warm_up: float = 0.0
) -> IngestRun:
    """All clients work for ``seconds`` at least, each taking an item as soon as it has ended one; before that for
    ``warm_up``. All items are on the queue from the beginning. The clients should be at work already: see ``warm``.
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
    """Item i is queued when ``due[i]`` seconds are over, all of them below ``seconds``; ends when all are durable.

    The clients should be at work already: see ``warm``.
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
    """Queues items until every client has ended some; these items."""
    items: list[WorkItem] = []
    worked: set[str] = set()
    while len(worked) < clients.count:
        more = list(islice(work, 2 * clients.count))
        clients.announce_items(more)
        clients.queue_items(more)
        items += more
        worked = {done.client for done in clients.await_durable(items).values()}
    return items
