"""The parameters of the model: nodes, Accumulo's settings, costs of an entry, and the load. All are physical."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

BUFFERED_OVERHEAD = 238
"""Bytes that a BatchWriter counts for a mutation beside its data (``Mutation.estimatedMemoryUsed``)."""

MEAN_FILL = math.log(2)
"""The mean size of tablets that are split in halves, as a share of the size at which they are split."""


@dataclass(frozen=True)
class Node:
    """A computer that runs a tablet server, a data node and clients. Rates are in bytes/s."""

    cores: float
    disks: float
    disk_rate: float
    network_rate: float
    memory_map_bytes: float
    """The memory of a tablet server for entries that are not yet in a file (``tserver.memory.maps.max``)."""
    log_has_own_disk: bool = False
    """True if the write-ahead log lies on a disk where no data node writes."""
    speed_spread: float = 0.0
    """The standard deviation of the nodes' speeds, as a share of their mean."""


@dataclass(frozen=True)
class StoreSettings:
    """Settings of Accumulo and HDFS. The defaults are Accumulo's."""

    replicas: int = 3
    log_copies: int = 2
    flush_share: float = 0.5
    """The share of the memory for entries at which it begins to be written to files."""
    compaction_ratio: float = 3.0
    most_files: int = 15
    split_check_seconds: float = 30.0
    """Seconds between two looks for tablets that are too large (``tserver.compaction.major.delay``)."""
    minor_threads: int = 4
    major_threads: int = 3


@dataclass(frozen=True)
class Costs:
    """Costs of the work. Those in µs are of one core at speed 1; ``speed`` divides them."""

    client_us: float = 5.0
    """µs an entry of a client: to make, sort and serialize it."""
    server_us: float = 20.0
    """µs an entry of a tablet server: to take, log and insert it."""
    compaction_us: float = 4.5
    """µs an entry of a tablet server each time that a compaction writes it to a file."""
    speed: float = 1.0
    rpc_seconds: float = 0.019
    """Seconds for which a client's thread waits for an update beside the work on its entries."""
    flush_seconds: float = 0.0
    """Seconds that a client waits at each flush, beside the sending of what it holds."""
    split_seconds: float = 0.0
    """Seconds for which the tablets of a split take no entries: closed, split, moved and opened again."""


@dataclass(frozen=True)
class Entry:
    """The mean size of an entry in bytes: as data, in a server's memory, and in a file."""

    size: float = 100.0
    in_memory: float = 150.0
    in_file: float = 40.0


@dataclass(frozen=True)
class Cluster:
    """``servers`` nodes that take entries; the nodes of managers and name nodes do not count."""

    servers: int
    node: Node
    costs: Costs = field(default_factory=Costs)
    settings: StoreSettings = field(default_factory=StoreSettings)


@dataclass(frozen=True)
class IngestLoad:
    """Continuous ingest of entries with random rows, by clients on the servers' nodes.

    ``entries`` are written to a table that has ``initial_entries``. ``tablets`` is the number at the beginning, in all.
    """

    entries: float
    clients: float
    buffer_bytes: float
    threads: int
    tablets: float
    split_bytes: float = 128e9
    initial_entries: float = 0.0
    flush_entries: float = 1e6
    entry: Entry = field(default_factory=Entry)
    maker_threads: int = 1
    """The threads in which a client makes entries."""

    @property
    def batch_entries(self) -> float:
        """The entries that a client sends at once: half a buffer, or all up to a flush."""
        return min(self.flush_entries, self.buffer_bytes / 2 / (self.entry.size + BUFFERED_OVERHEAD))
