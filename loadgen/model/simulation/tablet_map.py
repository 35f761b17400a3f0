"""The tablets of the table: how many there are, on how many servers, and when a split lets no entries through.

Rows are random, so tablets grow alike, and a client has entries for each of them in every buffer. As long as one
tablet is closed, all clients soon wait for it: ingest stands until every tablet is open again.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy
import simpy

from .parameters import MEAN_FILL, Cluster, IngestLoad


class TabletMap:
    """Counts tablets. ``on_move`` is called when the tablets come to lie on more servers."""

    def __init__(
        self,
        env: simpy.Environment,
        cluster: Cluster,
        load: IngestLoad,
        random: numpy.random.Generator,
        on_move: Callable[[], None],
    ) -> None:
        self._env, self._cluster, self._load, self._random, self._on_move = env, cluster, load, random, on_move
        self.tablets = load.tablets
        self._entries = load.initial_entries
        self._split_entries = load.split_bytes / load.entry.in_file
        self._next_split = self._draw_split()
        self._open_at = 0.0
        self._closed_seconds = 0.0

    @property
    def active_servers(self) -> int:
        """The number of servers that have a tablet."""
        return max(1, min(self._cluster.servers, math.floor(self.tablets)))

    def add_entries(self, entries: float) -> None:
        """Counts entries that were written, and splits tablets that have become too large, each a while later."""
        self._entries += entries
        while self._entries >= self._next_split:
            self._env.timeout(self._draw_delay()).callbacks.append(self._split)
            self._next_split += self._random.exponential(self._split_entries * MEAN_FILL)

    def sum_closed_seconds(self) -> float:
        """Returns the seconds until now in which a tablet was closed."""
        return self._closed_seconds - max(0.0, self._open_at - self._env.now)

    def _draw_split(self) -> float:
        """Returns the number of entries of the table at the first split: its tablets are not all equally full."""
        capacity = self.tablets * self._split_entries
        if self.tablets == 1:
            return max(capacity, self._entries)
        return max(capacity * MEAN_FILL, self._entries) + self._random.exponential(self._split_entries * MEAN_FILL)

    def _draw_delay(self) -> float:
        """Returns the seconds until a server splits a tablet that has become too large.

        Its size is that of its files, so the server must have flushed its memory; then it looks at intervals.
        """
        settings, memory = self._cluster.settings, self._cluster.node.memory_map_bytes / self._load.entry.in_memory
        rate = (self._entries - self._load.initial_entries) / max(self._env.now, 1e-9) / self.active_servers
        flush_seconds, look_seconds = self._random.random(2) * (
            settings.flush_share * memory / rate,
            settings.split_check_seconds,
        )
        return float(flush_seconds + look_seconds)

    def _split(self, _: simpy.Event) -> None:
        before = self.active_servers
        self.tablets += 1
        self._close(self._cluster.costs.split_seconds)
        if self.active_servers != before:
            self._on_move()

    def _close(self, seconds: float) -> None:
        """Closes a tablet from now on. Times in which two tablets are closed count once."""
        until = self._env.now + seconds
        self._closed_seconds += max(0.0, until - max(self._open_at, self._env.now))
        self._open_at = max(self._open_at, until)
