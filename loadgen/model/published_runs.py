"""The ingest runs of the Accumulo benchmark study (Sen, Farris, Guerra 2014) as clusters and loads of the model.

What the study tells is taken from its tables and text. What it does not tell stands in ``NODES`` as data sheets of the
machines have it, in ``parameters.py`` as Accumulo's defaults, or is fitted to one run of the smallest cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from watchfloor.loadgen.published.read_published import Row, load_published

from .simulation.parameters import MEAN_FILL, Cluster, Costs, Entry, IngestLoad, Node, StoreSettings

ClusterName = Literal["AWB", "EC2"]
FittedCost = Literal["speed", "split_seconds"]
_SPREAD = 0.1
NODES: Mapping[ClusterName, Node] = {
    "AWB": Node(
        cores=12,
        disks=10,
        disk_rate=80e6,
        network_rate=1.25e9,
        memory_map_bytes=6e9,
        log_has_own_disk=True,
        speed_spread=_SPREAD,
    ),
    "EC2": Node(cores=2, disks=2, disk_rate=80e6, network_rate=100e6, memory_map_bytes=1e9, speed_spread=_SPREAD),
}
"""AWB: appendix A of the study; 10 Gbit/s are assumed. EC2: m1.large with two local disks and about 1 Gbit/s; memory by
Accumulo's example settings for 3 GB. Disks of 7,200 turns a minute."""
SETTINGS: Mapping[ClusterName, StoreSettings] = {
    "AWB": StoreSettings(minor_threads=10, major_threads=10),
    "EC2": StoreSettings(),
}
_EC2_CORE_SERVICES = 6
"""Nodes of each EC2 cluster that ran no tablet server."""
_GROWN_AT_1_GB = {500: 102e9, 1000: 314e9}
"""The entries of table 6-4's tables, by nodes, up to which the split threshold was 1 GB; it was raised later."""
_PING_FACTOR = 2.0
"""The longer ping times of the sustained EC2 run, as the study tells."""


_REPEATED_TEXT = (
    "the text repeats the clients of the AWB run: three buffers of 1 GB hardly fit beside the servers in 7.5 GB"
)
_PUBLISHED_TWICE = "the same test has 3.27 and 3.19 million entries/s in tables 6-3 and 6-10"


@dataclass(frozen=True)
class PublishedRun:
    """A published run. ``fits`` is the cost that is fitted to it; None if it is predicted."""

    table: str
    label: str
    cluster_name: ClusterName
    servers: int
    load: IngestLoad
    mean_rate: float
    max_rate: float
    fits: FittedCost | None = None
    rpc_factor: float = 1.0
    note: str = ""

    def make_cluster(self, costs: Costs) -> Cluster:
        costs = replace(costs, rpc_seconds=costs.rpc_seconds * self.rpc_factor)
        return Cluster(self.servers, NODES[self.cluster_name], costs, SETTINGS[self.cluster_name])


def list_runs() -> Iterator[PublishedRun]:
    """Yields the ingest runs of both clusters in the order of the study's tables."""
    tables = load_published()["benchmark"].tables
    for row in tables["6-1"].rows:
        yield _make_presplit("6-1", "AWB", row, _is_smallest(row))
    yield _make_presplit("6-2", "AWB", tables["6-2"].rows[0], label="sustained for 26 h")
    for number in ("6-3", "6-4", "6-10"):
        for row in tables[number].rows:
            if row.get("test", "ingest") == "ingest":
                yield _make_growing(number, "AWB", row, number == "6-3" and row["split_gb"] == 1)
    for row in tables["7-1"].rows:
        yield _make_presplit("7-1", "EC2", row, row["nodes"] == 16)
    sustained = tables["7-2"].rows[0]
    yield _make_presplit("7-2", "EC2", sustained, label="sustained, clients as printed", as_printed=True)
    yield _make_presplit("7-2", "EC2", sustained, label="sustained, clients as in table 7-1")
    for row in tables["7-3"].rows:
        yield _make_growing("7-3", "EC2", row, row["nodes"] == 16)


def _is_smallest(row: Row) -> bool:
    return bool(row["nodes"] == 300)


def _count_servers(row: Row) -> int:
    return int(row.get("tablet_servers") or row["nodes"] - _EC2_CORE_SERVICES)


def _make_presplit(
    table: str, name: ClusterName, row: Row, fitted: bool = False, label: str = "pre-split", as_printed: bool = False
) -> PublishedRun:
    servers = _count_servers(row)
    large = name == "AWB" or as_printed
    load = IngestLoad(
        entries=row["final_entries"],
        clients=servers * (3 if large else 1),
        buffer_bytes=1e9 if large else 60e6,
        threads=16 if large else 4,
        tablets=servers * row["tablets_per_server"],
    )
    return PublishedRun(
        table,
        f"{row['nodes']} nodes, {label}",
        name,
        servers,
        load,
        row["mean_entries_per_second"],
        row["max_entries_per_second"],
        fits="speed" if fitted else None,
        rpc_factor=_PING_FACTOR if table == "7-2" else 1.0,
        note=_REPEATED_TEXT if as_printed else "",
    )


def _make_growing(table: str, name: ClusterName, row: Row, fitted: bool) -> PublishedRun:
    """Makes a run into a table that began as one tablet."""
    servers = _count_servers(row)
    initial, final = float(row["initial_entries"]), float(row["final_entries"])
    if final < 1e8:  # Printed in millions, but its hours and its rate give billions.
        final *= 1000
    split = row.get("split_gb", 1) * 1e9
    grown = min(initial, _GROWN_AT_1_GB.get(row["nodes"], initial)) if split > 1e9 else initial
    load = IngestLoad(
        entries=final - initial,
        clients=servers,
        buffer_bytes=100e6,
        threads=4,
        tablets=max(1.0, grown * Entry().in_file / (1e9 * MEAN_FILL)),
        split_bytes=split,
        initial_entries=initial,
    )
    return PublishedRun(
        table,
        f"{row['nodes']} nodes, splits at {split / 1e9:g} GB, from {_format_entries(initial)}",
        name,
        servers,
        load,
        row.get("mean_entries_per_second") or row["mean_per_second"],
        row.get("max_entries_per_second") or row["max_per_second"],
        fits="split_seconds" if fitted else None,
        note=_PUBLISHED_TWICE if (table, row["nodes"]) == ("6-4", 300) else "",
    )


def _format_entries(entries: float) -> str:
    return f"{entries / 1e9:g} billion" if entries >= 1e9 else f"{entries / 1e6:g} million" if entries else "nothing"
