"""Computes the size of a cluster for our own pipeline: nodes, workers and disks for so many events a day.

Each node runs a tablet server, a data node and its share of the workers, as the measured machine does. Processors and
disks each ask for a number of nodes; the larger is simulated at full load, and grows until the peak fits with headroom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .own_pipeline import BATCHES_PER_ITEM, MAKER_THREADS, EventCosts, PipelineProfile, fit_item_seconds
from .simulation.parameters import BUFFERED_OVERHEAD, Cluster, Costs, Entry, IngestLoad, Node
from .simulation.run_result import IngestRunResult
from .simulation.simulate import simulate_ingest

_DAY = 86_400.0
_COMPACTION_SHARE = 0.225
"""The work on an event each time that a compaction writes it / the work of the tablet server to take it: that of the
reference costs, because runs of seconds, as profiles are, compact hardly anything."""
_DISK_RATE, _NETWORK_RATE = 80e6, 1.25e9
_MEMORY_MAP_BYTES = 2e9
_SIMULATED_SECONDS = 60.0
_STEP, _GAIN = 1.1, 1.03
"""The factor by which a plan grows that is too small, and the least gain of more workers that makes them worth it."""


@dataclass(frozen=True)
class SizingRequest:
    """The load, and the nodes to be bought. ``event_bytes`` is the size of an event's line; sizes are in bytes.

    ``disk_share`` is the size of an event in the tables, index and counts included, as a share of its line.
    ``headroom`` is the share of processors and disks that the plan leaves free.
    """

    events_per_day: float
    retention_days: float
    event_bytes: float = 500.0
    disk_share: float = 0.12
    peak: float = 3.0
    headroom: float = 0.3
    cores: int = 16
    disks: int = 12
    disk_bytes: float = 4e12
    replicas: int = 3

    @property
    def mean_rate(self) -> float:
        return self.events_per_day / _DAY

    @property
    def peak_rate(self) -> float:
        return self.mean_rate * self.peak


@dataclass(frozen=True)
class ClusterPlan:
    """The answer. Rates are in events/s."""

    nodes: int
    workers: int
    disks: int
    nodes_for_processors: int
    nodes_for_disks: int
    stored_bytes: float
    """With replicas, at the end of the retention."""
    saturated_rate: float
    """Simulated, of the planned nodes and workers."""
    worker_rate: float
    """Measured, of one worker alone."""
    limit: str
    """What decides the number of nodes."""


def plan_cluster(request: SizingRequest, profile: PipelineProfile) -> ClusterPlan:
    """Returns the smallest plan with the headroom that the request asks for."""
    one = profile.loads[0]
    costs = fit_item_seconds(profile, one)
    free = 1 - request.headroom
    workers = math.ceil(request.peak_rate / free / one.events_per_second)
    busy_cores = request.peak_rate * (costs.sum_us + costs.server_us * _COMPACTION_SHARE) / 1e6
    for_processors = math.ceil(busy_cores / free / request.cores)
    day_bytes = request.events_per_day * request.event_bytes * request.disk_share * request.replicas
    stored = day_bytes * request.retention_days
    disks = math.ceil(stored / free / request.disk_bytes)
    for_disks = math.ceil(disks / request.disks)
    limits = {"disks": for_disks, "processors": for_processors, "replicas": request.replicas}
    limit = max(limits, key=lambda name: limits[name])
    nodes = limits[limit]
    run = simulate_plan(request, profile, costs, nodes, workers)
    while (rate := run.mean_rate) < request.peak_rate / free:
        workers = math.ceil(workers * _STEP)
        run = simulate_plan(request, profile, costs, nodes, workers)
        if run.mean_rate < rate * _GAIN:  # The workers are not what is short.
            nodes, limit = math.ceil(nodes * _STEP), "simulated saturation"
            run = simulate_plan(request, profile, costs, nodes, workers)
    return ClusterPlan(
        nodes,
        workers,
        max(disks, nodes),
        for_processors,
        for_disks,
        stored,
        rate,
        one.events_per_second,
        limit,
    )


def simulate_plan(
    request: SizingRequest, profile: PipelineProfile, costs: EventCosts, nodes: int, workers: int
) -> IngestRunResult:
    """Simulates workers that always have work."""
    size = request.event_bytes * request.disk_share
    node = Node(request.cores, request.disks, _DISK_RATE, _NETWORK_RATE, _MEMORY_MAP_BYTES)
    model_costs = Costs(
        client_us=costs.worker_us + costs.other_us,
        server_us=costs.server_us,
        compaction_us=costs.server_us * _COMPACTION_SHARE,
        rpc_seconds=0.0,
        flush_seconds=costs.item_seconds,
    )
    load = IngestLoad(
        entries=request.peak_rate * _SIMULATED_SECONDS,
        clients=workers,
        buffer_bytes=2 * profile.item_events / BATCHES_PER_ITEM * (size + BUFFERED_OVERHEAD),
        threads=1,
        tablets=max(nodes, math.ceil(workers / 2)),
        flush_entries=profile.item_events,
        entry=Entry(size, 2 * size, size),
        maker_threads=MAKER_THREADS,
    )
    return simulate_ingest(Cluster(nodes, node, model_costs), load)
