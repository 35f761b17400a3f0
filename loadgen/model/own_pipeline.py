"""Our own pipeline in the model: calibrated by the run of one worker, it predicts the rates of more.

A profile is what ``watchfloor bench ingest --json FILE`` has measured on a machine: events/s and busy cores by number
of clients. ``profile.json`` has one of ours. Entries of the model are events here; a client is a worker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from watchfloor.loadgen.harness.ingest.work_supply import ITEM_EVENTS
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.files.paths import show_path

from .prediction import fit_value
from .simulation.parameters import BUFFERED_OVERHEAD, Cluster, Costs, Entry, IngestLoad, Node
from .simulation.simulate import simulate_ingest

PROFILE = Path(__file__).with_name("profile.json")
_RATE, _BUSY = "steady_events_per_second", "busy_cores"
_EVENT = Entry(size=60, in_memory=120, in_file=60)
"""Bytes of an event in blocks, all three tables; they are small beside the work on it."""
_KINDS = ("clients", "tablet servers", "other servers")
"""The kinds of processes of the pipeline. ``machine`` has these and all others."""
_MOST_FOREIGN = 0.1
"""The share of the cores that may be busy with other work while one worker is measured."""
MAKER_THREADS = 3
"""The threads of a worker that work on an item beside those that send it: two parse, and one encodes."""
BATCHES_PER_ITEM = 8
"""A worker sends a part of an item while it reads the next one."""
_SIMULATED_SECONDS = 60.0


@dataclass(frozen=True)
class MeasuredLoad:
    """A measured run of some workers in closed loop. ``busy_cores`` has the cores by the kind of their processes."""

    workers: int
    tablet_servers: int
    events_per_second: float
    busy_cores: Mapping[str, float]

    @property
    def foreign_cores(self) -> float:
        """The cores that were busy with anything else on the machine."""
        return max(0.0, self.busy_cores["machine"] - sum(self.busy_cores[kind] for kind in _KINDS))


@dataclass(frozen=True)
class PipelineProfile:
    """The runs that were measured on one machine, which has workers and servers.

    ``item_events`` is the number of events of a work item.
    """

    cores: int
    item_events: int
    loads: Sequence[MeasuredLoad]

    def select_servers(self, tablet_servers: int) -> list[MeasuredLoad]:
        """Returns the loads on so many tablet servers, by ascending number of workers."""
        return [load for load in self.loads if load.tablet_servers == tablet_servers]


@dataclass(frozen=True)
class EventCosts:
    """µs of one core an event, and the seconds of an item in which its worker waits."""

    worker_us: float
    server_us: float
    other_us: float
    """Of the queue, ZooKeeper and the manager."""
    item_seconds: float = 0.0

    @property
    def sum_us(self) -> float:
        return self.worker_us + self.server_us + self.other_us


@dataclass(frozen=True)
class CurvePoint:
    """A measured load, and the rate that the model gives for it."""

    measured: MeasuredLoad
    events_per_second: float
    calibrates: bool

    @property
    def ratio(self) -> float:
        return self.events_per_second / self.measured.events_per_second


def read_profile(path: Path) -> PipelineProfile:
    """Reads a profile. Raises ``InputFileError`` if the file is not one of ``bench ingest``, or lacks one worker."""
    try:
        written = json.loads(path.read_text("utf-8"))
        if written["experiment"] != "ingest":
            raise InputFileError(f"{show_path(path)} is of bench {written['experiment']}; bench ingest is needed")
        cores = int(written["machine"]["usable_cores"] or written["machine"]["cores"])
        item_events = ITEM_EVENTS[written["options"]["layout"]]
        loads = _parse_loads(written["figures"])
    except OSError as error:
        raise InputFileError(f"{show_path(path)}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputFileError(f"{show_path(path)} was not written by watchfloor bench ingest --json") from error
    profile = PipelineProfile(cores, item_events, loads)
    for tablet_servers in {load.tablet_servers for load in loads}:
        if profile.select_servers(tablet_servers)[0].workers != 1:
            raise InputFileError(f"{show_path(path)}: no run of one client with {tablet_servers} tablet servers")
    if not loads:
        raise InputFileError(f"{show_path(path)} has no run in closed loop")
    if (foreign := max(load.foreign_cores for load in loads if load.workers == 1)) > _MOST_FOREIGN * cores:
        raise InputFileError(
            f"{show_path(path)}: {foreign:.1f} of {cores} cores were busy with other work; measure on a machine at rest"
        )
    return profile


def _parse_loads(figures: Sequence[Mapping[str, Any]]) -> list[MeasuredLoad]:
    busy: dict[tuple[str, str], dict[str, float]] = {}
    for figure in figures:
        if figure["metric"] == _BUSY and "clients" in figure["of"]:
            case = (figure["of"]["clients"], figure["of"]["tservers"])
            busy.setdefault(case, {})[figure["of"]["process"]] = figure["value"]
    loads = [
        MeasuredLoad(
            int(figure["of"]["clients"].split()[0]),
            int(figure["of"]["tservers"].split()[0]),
            figure["value"],
            busy[figure["of"]["clients"], figure["of"]["tservers"]],
        )
        for figure in figures
        if figure["metric"] == _RATE and "clients" in figure["of"]
    ]
    return sorted(loads, key=lambda load: (load.tablet_servers, load.workers))


def measure_costs(load: MeasuredLoad) -> EventCosts:
    """Returns the costs of an event in a run, without the waiting of its workers."""

    def compute_us(cores: float) -> float:
        return cores / load.events_per_second * 1e6

    return EventCosts(*(compute_us(load.busy_cores[kind]) for kind in _KINDS))


def predict_curve(profile: PipelineProfile, tablet_servers: int) -> list[CurvePoint]:
    """Calibrates with the run of one worker, and predicts the others on as many tablet servers."""
    loads = profile.select_servers(tablet_servers)
    costs = fit_item_seconds(profile, loads[0])
    return [CurvePoint(load, simulate_workers(profile, costs, load), load.workers == 1) for load in loads]


def fit_item_seconds(profile: PipelineProfile, load: MeasuredLoad) -> EventCosts:
    """Returns the costs with which one worker is as fast as it was measured."""
    costs = measure_costs(load)
    if simulate_workers(profile, costs, load) <= load.events_per_second:
        return costs

    def simulate(seconds: float) -> float:
        return simulate_workers(profile, replace(costs, item_seconds=seconds), load)

    return replace(costs, item_seconds=fit_value(simulate, load.events_per_second, 0.05))


def simulate_workers(profile: PipelineProfile, costs: EventCosts, measured: MeasuredLoad) -> float:
    """Returns the events/s of as many workers as were measured, on the cores that other work left to them then."""
    node = Node(
        cores=profile.cores - measured.foreign_cores, disks=1, disk_rate=1e9, network_rate=1e10, memory_map_bytes=1e12
    )
    model_costs = Costs(
        client_us=costs.worker_us + costs.other_us,
        server_us=costs.server_us,
        compaction_us=0.0,
        rpc_seconds=0.0,
        flush_seconds=costs.item_seconds,
    )
    rate = profile.cores / costs.sum_us * 1e6
    batch = profile.item_events / BATCHES_PER_ITEM
    load = IngestLoad(
        entries=rate * _SIMULATED_SECONDS,
        clients=measured.workers,
        buffer_bytes=2 * batch * (_EVENT.size + BUFFERED_OVERHEAD),
        threads=1,
        tablets=1,
        flush_entries=profile.item_events,
        entry=_EVENT,
        maker_threads=MAKER_THREADS,
    )
    return simulate_ingest(Cluster(1, node, model_costs), load).mean_rate
