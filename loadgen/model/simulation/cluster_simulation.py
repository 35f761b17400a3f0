"""The course of a simulated run: clients, servers and tablets, from the first entry to the last.

A cluster is alike in all its parts: each client sends to each server, and rows are random. So a few servers and their
clients stand for all. A simulated server stands for ``active / simulated`` servers. A bundle is what all clients
that a simulated client stands for send to one real server in a turn; the thread that sends it waits as often as one
client's thread does for the servers that the simulated one stands for. Loads of servers, concurrency and waiting are
those of the whole cluster; what differs is that requests come in bundles.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy
import simpy

from .parameters import Cluster, IngestLoad
from .run_result import IngestRunResult
from .tablet_map import TabletMap
from .tablet_server import ModelNode, ModelServer, Steps

MOST_SERVERS = 4
"""The number of servers that are simulated one by one, at most."""
MOST_BUNDLES = 6000
"""About the number of bundles of a run; in a longer run each stands for several turns."""
_PEAK_SECONDS = 30.0
_PEAK_SHARE = 0.01
"""The peak is the highest mean over 30 s, as in the study's records, or over a hundredth of a longer run."""
_STEP_SHARE = 0.04
"""A simulated turn of all clients adds no more than this share to the entries that were written before."""
_SLOWEST_SPEED = 0.2


class ClusterSimulation:
    """The state of a run."""

    def __init__(self, cluster: Cluster, load: IngestLoad, seed: int) -> None:
        self._env = simpy.Environment()
        self._random = numpy.random.default_rng(seed)
        self._cluster, self._load = cluster, load
        count = min(MOST_SERVERS, cluster.servers)
        self._nodes = [ModelNode(self._env, cluster, _draw_speed(cluster, count, i)) for i in range(count)]
        self._servers = [ModelServer(self._env, cluster, load.entry, node) for node in self._nodes]
        self._tablets = TabletMap(self._env, cluster, load, self._random, self._spread_tablets)
        self._active = self._tablets.active_servers
        self._clients = (
            max(1, round(load.clients / cluster.servers * count)) if load.clients >= count else round(load.clients)
        )
        self._most_turns = self._find_most_turns()
        self._written = 0.0
        self._bundles: list[tuple[float, float, float]] = []
        """Beginning, end and entries of each bundle."""
        self._done = self._env.event()
        for server in self._servers:
            server.tablets = self._tablets.tablets / self._active
            initial = load.initial_entries / self._active
            server.files = [initial] if initial else []

    def run(self) -> IngestRunResult:
        for number in range(self._clients):
            self._env.process(self._run_client(self._nodes[number % len(self._nodes)]))
        self._env.run(self._done)
        return self._make_result()

    @property
    def _simulated(self) -> int:
        """The number of simulated servers that have a tablet."""
        return min(self._active, len(self._servers))

    @property
    def _pieces(self) -> int:
        """The number of bundles of a turn for a simulated server: enough for all threads, if there are so many."""
        threads = math.ceil(self._load.threads / self._simulated)
        return max(1, min(threads, self._active // self._simulated))

    def _find_most_turns(self) -> float:
        """Returns the number of real turns that a simulated one stands for later in the run."""
        turns = self._load.entries / (self._load.clients * self._load.batch_entries)
        bundles = turns * self._clients * max(len(self._servers), self._load.threads)
        return max(1.0, bundles / MOST_BUNDLES)

    def _choose_turns(self) -> float:
        """Returns the number of real turns that the next simulated one stands for: few while the table is small."""
        turns = self._written / (self._load.clients * self._load.batch_entries)
        return max(1.0, min(self._most_turns, turns * _STEP_SHARE))

    def _run_client(self, node: ModelNode) -> Steps:
        """Makes entries while the last batch is being sent; waits for all of them at each flush."""
        load, costs = self._load, self._cluster.costs
        # Clients of a real cluster are not in step.
        yield self._env.process(self._send_batch(self._random.random()))
        sending: simpy.Event | None = None
        unflushed = 0.0
        while True:
            turns = self._choose_turns()
            work = turns * load.batch_entries * costs.client_us / 1e6 / load.maker_threads
            yield simpy.AllOf(self._env, [node.cores.use(work) for _ in range(load.maker_threads)])
            if sending is not None:
                yield sending
            sending = self._env.process(self._send_batch(turns))
            unflushed += turns * load.batch_entries
            if unflushed > load.flush_entries * (1 - 1e-9):
                yield sending
                yield self._env.timeout(costs.flush_seconds * unflushed / load.flush_entries)
                sending, unflushed = None, 0.0

    def _send_batch(self, turns: float) -> Steps:
        """Sends the entries of ``turns`` turns; each thread takes the next bundle as soon as it has sent one."""
        pieces, active = self._pieces, self._active
        stands_for = self._load.clients / self._clients
        entries = turns * self._load.batch_entries * stands_for / active / pieces
        waits = turns * active / self._simulated / pieces
        bundles = [server for _ in range(pieces) for server in self._servers[: self._simulated]]
        represented = active / self._simulated

        def run_thread() -> Steps:
            while bundles:
                server = bundles.pop()
                began = self._env.now
                yield from self._send_bundle(server, entries, waits)
                self._bundles.append((began, self._env.now, entries * represented))
                self._count_written(entries * represented)

        threads = min(self._load.threads, len(bundles))
        yield simpy.AllOf(self._env, [self._env.process(run_thread()) for _ in range(threads)])

    def _send_bundle(self, server: ModelServer, entries: float, waits: float) -> Steps:
        began, closed = self._env.now, self._tablets.sum_closed_seconds()
        rpc_seconds = self._cluster.costs.rpc_seconds
        if rpc_seconds:
            yield self._env.timeout(self._random.gamma(waits) * rpc_seconds)
        yield from server.write(entries)
        # The seconds in which a tablet was closed did no work: they are waited for beside the work.
        while (owed := self._tablets.sum_closed_seconds() - closed) > 0.02 * (self._env.now - began):
            closed += owed
            yield self._env.timeout(owed)

    def _count_written(self, entries: float) -> None:
        self._written += entries
        self._tablets.add_entries(entries)
        for server in self._servers:
            server.tablets = self._tablets.tablets / self._active
        if self._written >= self._load.entries and not self._done.triggered:
            self._done.succeed()

    def _spread_tablets(self) -> None:
        """Spreads the tablets over more servers: each holds less, and new ones begin with as much as the others."""
        before, simulated = self._active, self._simulated
        self._active = self._tablets.active_servers
        for server in self._servers[:simulated]:
            server.scale(before / self._active)
        for server in self._servers[simulated : self._simulated]:
            server.files = [self._servers[0].count_entries()]

    def _make_result(self) -> IngestRunResult:
        seconds = self._env.now
        used = self._servers[: self._simulated]
        represented = self._active / self._simulated
        cores, disks = self._cluster.node.cores, self._cluster.node.disks
        own_log = self._cluster.node.log_has_own_disk
        count = len(self._nodes)

        def mean_use(busy: list[float], units: float) -> float:
            return sum(busy) / count / units / seconds

        return IngestRunResult(
            entries=self._written,
            stored_entries=sum(server.count_entries() for server in used) * represented - self._load.initial_entries,
            seconds=seconds,
            peak_rate=self._find_peak(),
            tablets=self._tablets.tablets,
            minor_compactions=sum(server.minor_compactions for server in used),
            major_compactions=sum(server.major_compactions for server in used),
            held_seconds=sum(server.held_seconds for server in used) / len(used),
            closed_seconds=self._tablets.sum_closed_seconds(),
            core_use=mean_use([node.cores.busy_seconds for node in self._nodes], cores),
            disk_use=mean_use([node.disks.busy_seconds for node in self._nodes], disks),
            log_disk_use=mean_use([node.log_disk.busy_seconds for node in self._nodes], 1 if own_log else disks),
            network_use=mean_use([node.network.busy_seconds for node in self._nodes], 1),
        )

    def _find_peak(self) -> float:
        """Returns the highest mean rate over the steps of the record; a bundle counts evenly over its time."""
        began, ended, entries = numpy.array(self._bundles).T
        rates = entries / numpy.maximum(ended - began, 1e-9)
        times = numpy.concatenate([began, ended])
        order = numpy.argsort(times, kind="stable")
        rate_after = numpy.cumsum(numpy.concatenate([rates, -rates])[order])
        written = numpy.concatenate([[0.0], numpy.cumsum(rate_after[:-1] * numpy.diff(times[order]))])
        step = min(self._env.now, max(_PEAK_SECONDS, self._env.now * _PEAK_SHARE))
        marks = numpy.arange(0, self._env.now + step / 1e6, step)
        return float(numpy.diff(numpy.interp(marks, times[order], written)).max() / step)


def _draw_speed(cluster: Cluster, count: int, number: int) -> float:
    """Returns the speed of a simulated node: the first is the slowest of the cluster, the others are spread evenly.

    Clients wait for the slowest server, because each batch has entries for all.
    """
    share = 1 / (cluster.servers + 1) if number == 0 else (number + 0.5) / count
    return max(_SLOWEST_SPEED, 1 + cluster.node.speed_spread * NormalDist().inv_cdf(share))
