"""The simulation loses no entry, reaches what the narrowest resource can do and no more, and is the same for a seed.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy
import pytest
import simpy

from watchfloor.loadgen.model.simulation.parameters import Cluster, Costs, Entry, IngestLoad, Node, StoreSettings
from watchfloor.loadgen.model.simulation.shared_resource import SharedResource
from watchfloor.loadgen.model.simulation.simulate import simulate_ingest
from watchfloor.loadgen.model.simulation.tablet_server import choose_files

NODE = Node(cores=4, disks=4, disk_rate=50e6, network_rate=1e9, memory_map_bytes=2e9)
FREE = Costs(client_us=0, server_us=0, compaction_us=0, rpc_seconds=0)
"""Costs that leave the disks and the network alone."""


def make_load(servers: int, entries: float = 2e7, **more: object) -> IngestLoad:
    given = {"clients": 2 * servers, "buffer_bytes": 50e6, "threads": 8, "tablets": 10 * servers, **more}
    return IngestLoad(entries * servers, **given)  # type: ignore[arg-type]


def run_jobs(units: float, arrivals: list[float], demands: list[float]) -> list[float]:
    """Returns when each job ends on a shared resource."""
    env = simpy.Environment()
    resource = SharedResource(env, units)
    ends = [0.0] * len(arrivals)

    def work(number: int):  # type: ignore[no-untyped-def]
        yield env.timeout(arrivals[number])
        yield resource.use(demands[number])
        ends[number] = env.now

    for number in range(len(arrivals)):
        env.process(work(number))
    env.run()
    return ends


def test_jobs_share_what_there_is() -> None:
    # Three jobs on two units: each gets two thirds until the short one ends at 1.5 s, and a whole unit from then on.
    assert run_jobs(2, [0, 0, 0], [1, 2, 2]) == pytest.approx([1.5, 2.5, 2.5])
    assert run_jobs(2, [0], [3]) == pytest.approx([3])
    assert run_jobs(1, [0, 1], [2, 2]) == pytest.approx([3, 4])


def test_waiting_is_that_of_a_queue_with_processor_sharing() -> None:
    """M/D/1 with processor sharing: the mean time in the system is demand / (1 - load), whatever the demands."""
    random = numpy.random.default_rng(7)
    arrivals = numpy.cumsum(random.exponential(1 / 0.6, 12_000))
    ends = numpy.array(run_jobs(1, list(arrivals), [1.0] * len(arrivals)))
    assert numpy.mean(ends - arrivals) == pytest.approx(1 / (1 - 0.6), rel=0.08)


@pytest.mark.parametrize("servers", [1, 3, 400])
def test_every_entry_that_was_sent_is_stored_once(servers: int) -> None:
    result = simulate_ingest(Cluster(servers, NODE), make_load(servers))
    assert result.entries >= 2e7 * servers and result.stored_entries == pytest.approx(result.entries, rel=1e-9)
    assert result.minor_compactions > 0


def test_entries_of_a_growing_table_are_kept_too() -> None:
    load = make_load(20, tablets=1, split_bytes=2e7)
    result = simulate_ingest(Cluster(20, NODE, Costs(split_seconds=0.1)), load)
    assert result.tablets > 20 and result.stored_entries == pytest.approx(result.entries, rel=0.03)


@pytest.mark.parametrize("servers", [1, 5, 200])
@pytest.mark.parametrize("narrow", ["cores", "log", "network"])
def test_a_saturated_cluster_reaches_its_narrowest_resource(servers: int, narrow: str) -> None:
    entry = Entry()
    node = replace(NODE, log_has_own_disk=True, memory_map_bytes=1e15)
    costs = replace(FREE, server_us=20.0)
    bounds = {
        "cores": node.cores / 20e-6,
        "log": node.disk_rate / (2 * entry.size),
        "network": node.network_rate / (2 * entry.size),
    }
    if narrow == "cores":
        node, bounds["log"] = replace(node, disk_rate=1e12), 5e9
    elif narrow == "network":
        node, costs = replace(node, disk_rate=1e12, network_rate=1e7), FREE
        bounds = {"network": 1e7 / (2 * entry.size)}
    bound = min(bounds.values()) * servers
    rate = simulate_ingest(Cluster(servers, node, costs), make_load(servers, 2e7, clients=12 * servers)).mean_rate
    assert 0.93 * bound <= rate <= 1.001 * bound


def test_compaction_keeps_to_the_bound_of_the_disks() -> None:
    """Data disks write each entry to the log and to files at least once, with all replicas."""
    entry, settings = Entry(in_file=100), StoreSettings()
    result = simulate_ingest(Cluster(6, NODE, FREE), make_load(6, 1.5e8, entry=entry))
    written = settings.log_copies * entry.size + settings.replicas * entry.in_file
    bound = 6 * NODE.disks * NODE.disk_rate / written
    assert 0.3 * bound < result.mean_rate < bound and result.disk_use > 0.7 and result.major_compactions


@pytest.mark.parametrize(
    "better",
    [
        {"cores": 8},
        {"disks": 8},
        {"disk_rate": 200e6},
        {"memory_map_bytes": 8e9},
    ],
    ids=str,
)
def test_more_of_a_resource_is_never_slower(better: dict[str, float]) -> None:
    # Compactions take no processor time here: faster disks would have more of them done by the end of the run.
    costs, load = Costs(client_us=1, server_us=4, compaction_us=0), make_load(8, entry=Entry(in_file=100))
    plain, more = (simulate_ingest(Cluster(8, node, costs), load).mean_rate for node in (NODE, replace(NODE, **better)))
    assert more >= 0.98 * plain


def test_more_servers_are_faster_and_less_than_in_proportion() -> None:
    rates = [simulate_ingest(Cluster(n, NODE), make_load(n)).mean_rate for n in (10, 250)]
    assert all(low < high <= 25.5 * low for low, high in itertools.pairwise(rates))


def test_splits_cost_and_longer_ones_cost_more() -> None:
    load = make_load(20, tablets=1, split_bytes=2e7)
    rates = [simulate_ingest(Cluster(20, NODE, Costs(split_seconds=s)), load).mean_rate for s in (0, 1)]
    presplit = simulate_ingest(Cluster(20, NODE), make_load(20)).mean_rate
    assert presplit > rates[0] > rates[1]


def test_the_same_seed_gives_the_same_run_and_another_a_like_one() -> None:
    cluster, load = Cluster(50, NODE), make_load(50)
    first, again, other = (simulate_ingest(cluster, load, seed) for seed in (1, 1, 2))
    assert first == again != other and other.mean_rate == pytest.approx(first.mean_rate, rel=0.1)


def test_files_are_merged_by_the_ratio_and_when_there_are_too_many() -> None:
    assert choose_files([1, 1, 1], 3, 15) == [1, 1, 1]
    assert choose_files([10, 1, 1, 1], 3, 15) == [1, 1, 1]
    assert choose_files([10, 3, 1], 3, 15) == []
    assert choose_files([2.0**n for n in range(6)], 3, 6) == [1, 2, 4]


def test_full_memory_holds_writes() -> None:
    node = replace(NODE, memory_map_bytes=2e8, disk_rate=5e6, log_has_own_disk=True)
    result = simulate_ingest(Cluster(4, node, replace(FREE, server_us=1)), make_load(4, 2e7, entry=Entry(size=1)))
    assert result.held_seconds > 0.1 * result.seconds
