"""A tablet server of the model: log, memory for entries, minor and major compactions, holds.

All counts are those of one real server. Entries are not kept one by one: memory and each file are a number of entries.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import simpy

from .parameters import Cluster, Entry
from .shared_resource import SharedResource

Steps = Generator[simpy.Event, Any, None]


class ModelNode:
    """The cores, disks and network card of a node."""

    def __init__(self, env: simpy.Environment, cluster: Cluster, speed: float) -> None:
        node = cluster.node
        self.cores = SharedResource(env, node.cores, speed * cluster.costs.speed)
        self.disks = SharedResource(env, node.disks)
        self.log_disk = SharedResource(env, 1) if node.log_has_own_disk else self.disks
        self.network = SharedResource(env, 1)


class ModelServer:
    """A tablet server. ``tablets`` is the number of tablets that it serves."""

    def __init__(self, env: simpy.Environment, cluster: Cluster, entry: Entry, node: ModelNode) -> None:
        self._env, self._cluster, self._entry, self._node = env, cluster, entry, node
        self.tablets = 1.0
        self.in_memory = 0.0
        """Entries that no minor compaction writes yet."""
        self.flushing = 0.0
        self.files: list[float] = []
        """The entries of each file; file i of all tablets together counts as one."""
        self.merging: list[float] = []
        """The entries of the files that a major compaction merges."""
        self.accepted = 0.0
        self.minor_compactions = self.major_compactions = 0
        self.held_seconds = 0.0
        """Seconds in which a request waited for memory."""
        self._held_since: float | None = None
        self._compacting = False
        self._room = env.event()
        self._fewer_files = env.event()

    def write(self, entries: float) -> Steps:
        """Takes ``entries``: network, cores, log, memory."""
        while self._is_full():
            if self._held_since is None:
                self._held_since = self._env.now
            yield self._room
        self._end_hold()
        costs, settings, machine = self._cluster.costs, self._cluster.settings, self._cluster.node
        size = entries * self._entry.size
        yield self._node.network.use(size * settings.log_copies / machine.network_rate)
        yield self._node.cores.use(entries * costs.server_us / 1e6)
        yield self._node.log_disk.use(size * settings.log_copies / machine.disk_rate)
        self.accepted += entries
        self.in_memory += entries
        self._flush_if_due()

    def scale(self, factor: float) -> None:
        """Multiplies all that the server holds, because tablets moved to other servers."""
        self.in_memory *= factor
        self.flushing *= factor
        self.files = [entries * factor for entries in self.files]
        self.merging = [entries * factor for entries in self.merging]

    def count_entries(self) -> float:
        """Returns the number of entries in memory and in files."""
        return self.in_memory + self.flushing + sum(self.files) + sum(self.merging)

    def _memory_entries(self) -> float:
        return self._cluster.node.memory_map_bytes / self._entry.in_memory

    def _is_full(self) -> bool:
        return self.in_memory + self.flushing >= self._memory_entries()

    def _end_hold(self) -> None:
        if self._held_since is not None:
            self.held_seconds += self._env.now - self._held_since
            self._held_since = None

    def _flush_if_due(self) -> None:
        if not self.flushing and self.in_memory >= self._memory_entries() * self._cluster.settings.flush_share:
            self.flushing, self.in_memory = self.in_memory, 0.0
            self._env.process(self._flush_memory())

    def _flush_memory(self) -> Steps:
        """Writes what is in memory to a file (a minor compaction), as soon as there may be one more."""
        settings = self._cluster.settings
        while len(self.files) + len(self.merging) >= settings.most_files:
            yield self._fewer_files
        yield from self._rewrite(self.flushing, settings.minor_threads, reads=False)
        self.files.append(self.flushing)
        self.flushing = 0.0
        self.minor_compactions += 1
        self._room.succeed()
        self._room = self._env.event()
        self._flush_if_due()
        if not self._compacting:
            self._env.process(self._merge_files())

    def _merge_files(self) -> Steps:
        """Merges files for as long as some are due (major compactions)."""
        self._compacting = True
        settings = self._cluster.settings
        while chosen := choose_files(self.files, settings.compaction_ratio, settings.most_files):
            self.files = sorted(self.files)[len(chosen) :]
            self.merging = chosen
            yield from self._rewrite(sum(chosen), settings.major_threads, reads=True)
            self.files.append(sum(self.merging))
            self.merging = []
            self.major_compactions += 1
            self._fewer_files.succeed()
            self._fewer_files = self._env.event()
        self._compacting = False

    def _rewrite(self, entries: float, threads: int, reads: bool) -> Steps:
        """Writes ``entries`` to a file by as many threads as there are tablets to work on, at most ``threads``."""
        jobs = max(1, min(threads, round(self.tablets)))
        work = entries * self._cluster.costs.compaction_us / 1e6
        size = entries * self._entry.in_file
        replicas, machine = self._cluster.settings.replicas, self._cluster.node
        yield simpy.AllOf(self._env, [self._node.cores.use(work / jobs) for _ in range(jobs)])
        yield self._node.network.use(size * (replicas - 1) / machine.network_rate)
        written = size * (replicas + reads) / machine.disk_rate
        spread = max(1, min(jobs, round(machine.disks)))
        yield simpy.AllOf(self._env, [self._node.disks.use(written / spread) for _ in range(spread)])


def choose_files(files: Sequence[float], ratio: float, most: int) -> list[float]:
    """Returns the files that Accumulo merges: the most small ones whose sum is ``ratio`` times the largest of them.

    Too many files are merged in any case, up to the number at which they are enough fewer.
    """
    ordered = sorted(files)
    for count in range(len(ordered), 1, -1):
        if sum(ordered[:count]) >= ratio * ordered[count - 1]:
            return ordered[:count]
    return ordered[: max(2, len(ordered) // 2)] if len(ordered) >= most else []
