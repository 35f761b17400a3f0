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

from .clients import Clients
from .rates import Done, Window, while_all_work
from .server_watch import Look, ServerWatch

_MOST_ITEMS = 20
"""Items a second and client that a closed loop has ready: more than any client gets through."""
_MORE_SECONDS = 5


@dataclass(frozen=True)
class Run:
    """``whole`` is all that was looked at, ``steady`` the part that is measured; both within what ``items`` tell of."""

    items: Sequence[Done]
    whole: Window
    steady: Window
    looks: Sequence[Look]
    cpu: CpuMeter


@dataclass(frozen=True)
class OpenRun(Run):
    """``responses``, an item each, count their seconds from the beginning of ``whole``, in which all were due."""

    responses: Sequence[Response]


def closed_run(
    session: BenchSession, clients: Clients, work: Iterator[WorkItem], seconds: float, warm_up: float = 0.0
) -> Run:
    """All clients work for ``seconds`` at least, each taking an item as soon as it has ended one; before that for
    ``warm_up``. All items are on the queue from the beginning. The clients should be at work already: see ``warm``.
    """
    items = list(islice(work, math.ceil(_MOST_ITEMS * clients.count * (seconds + warm_up + _MORE_SECONDS))))
    clients.announce(items)

    def long_enough(found: Mapping[bytes, Done]) -> bool:
        all_work = len({item.client for item in found.values()}) == clients.count
        return all_work and while_all_work(list(found.values())).seconds >= warm_up + seconds

    with CpuMeter(session.settings) as cpu, ServerWatch(session.store) as watch:
        clients.queue(items)
        clients.work(warm_up + seconds)
        done = list(clients.wait(items, long_enough).values())
    begun = while_all_work(done)
    whole = Window(begun.since + warm_up, begun.until)
    return Run(done, whole, whole.settled(), watch.looks, cpu)


def open_run(
    session: BenchSession, clients: Clients, work: Iterator[WorkItem], due: Sequence[float], seconds: float
) -> OpenRun:
    """Item i is queued when ``due[i]`` seconds are over, all of them below ``seconds``; ends when all are durable.

    The clients should be at work already: see ``warm``.
    """
    items = list(islice(work, len(due)))
    clients.announce(items)
    with CpuMeter(session.settings) as cpu, ServerWatch(session.store) as watch:
        began = time.time()
        for item, after in zip(items, due, strict=True):
            clients.work(began + after - time.time())
            clients.queue([item])
        done = clients.wait(items)
    responses = [
        Response(after, done[item.item_id].begun - began, done[item.item_id].ended - began)
        for item, after in zip(items, due, strict=True)
    ]
    whole = Window(began, began + seconds)
    return OpenRun(list(done.values()), whole, whole.settled(), watch.looks, cpu, responses)


def warm(clients: Clients, work: Iterator[WorkItem]) -> list[WorkItem]:
    """Queues items until every client has ended some; these items."""
    items: list[WorkItem] = []
    worked: set[str] = set()
    while len(worked) < clients.count:
        more = list(islice(work, 2 * clients.count))
        clients.announce(more)
        clients.queue(more)
        items += more
        worked = {done.client for done in clients.wait(items).values()}
    return items
