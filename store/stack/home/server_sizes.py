"""The memory of each server of a local stack: as little as it can be, or by the machine's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import psutil

from watchfloor.schema.settings.parse_setting import AUTO, parse_size
from watchfloor.schema.settings.settings import MIB, Settings

from .checks import read_container_limit

SMALL: Mapping[str, str] = {
    "tserver_heap": "768m",
    "tserver_maps": "256m",
    "manager_heap": "256m",
    "gc_heap": "128m",
    "zookeeper_heap": "128m",
    "kafka_heap": "384m",
}
"""Sizes by the names of their settings, with which a stack holds some millions of events."""
_HEAP_SHARE, _MAPS_SHARE = 6, 48
"""The tablet servers' heaps take together this part of the machine's memory, and their maps that part."""
_MOST_HEAP, _MOST_HEAP_PER_CORE, _MOST_MAPS = 16384 * MIB, 2048 * MIB, 512 * MIB
_MEMORY_PER_WORKER = 4096 * MIB
"""A machine with less of it for each standing worker keeps fewer: one with much to do fills a fifth of that."""
_STEP = 64 * MIB
_LARGE_HEAP = 1536 * MIB
_USED_SHARE = 1.5
"""A machine counts as at most so many times what of its memory is available: others may use the rest."""


def choose_sizes(memory: int, cores: int, tservers: int) -> dict[str, str]:
    """Returns the sizes of the servers, by the names of their settings.

    ``memory`` is the machine's in bytes, which the ``tservers`` tablet servers share with the files that the system
    keeps in memory, with workers, and with clients. A heap beyond some size per core is more than so few threads fill,
    and only makes its collection longer. Maps are bounded because ``disk_reserve`` must have room for their logs. The
    other servers hold no events. No size is below that in ``SMALL``.
    """
    heap = min(memory // _HEAP_SHARE // tservers, _MOST_HEAP_PER_CORE * cores, _MOST_HEAP)
    maps = min(memory // _MAPS_SHARE // tservers, _MOST_MAPS)
    chosen = {"tserver_heap": heap, "tserver_maps": maps}
    least = {name: parse_size(size) for name, size in SMALL.items()}
    return {name: f"{max(chosen.get(name, 0) // _STEP * _STEP, least[name]) // MIB}m" for name in SMALL}


def choose_standing_workers(settings: Settings, small: bool, memory: int, cores: int) -> int:
    """Returns how many ingest workers a stack keeps ready: those of the settings, or by the machine's size.

    ``memory`` and ``cores`` are the machine's, as for ``choose_sizes``.
    """
    if settings.standing_workers != AUTO:
        return min(int(settings.standing_workers), settings.partitions)
    return 0 if small else min(share_cores(cores), memory // _MEMORY_PER_WORKER, settings.partitions)


def share_cores(cores: int) -> int:
    """Returns how many workers are at work best on so many cores: one for two.

    A worker parses and encodes in threads, and the store's servers need the rest.
    """
    return max(1, cores // 2)


def choose_caches(heap: int) -> tuple[int, int]:
    """Returns the bytes of a tablet server's caches of data blocks and of index blocks, given those of its heap."""
    return (heap * 2 // 5, heap // 12) if heap >= _LARGE_HEAP else (heap * 2 // 9, heap // 9)


def measure_machine() -> tuple[int, int]:
    """Returns the bytes of memory and the number of cores that this machine, or container, has for the servers."""
    found = psutil.virtual_memory()
    memory = min(found.total, read_container_limit(), int(found.available * _USED_SHARE))
    return memory, count_cores()


def count_cores() -> int:
    """Returns the number of cores that processes of this one may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def apply_sizes(settings: Settings, sizes: Mapping[str, str]) -> Settings:
    """Returns the settings with a size for each server: that of the settings, of ``sizes``, or of ``SMALL``."""
    chosen: Any = list_sizes(settings, sizes)
    return replace(settings, **chosen)


def list_sizes(settings: Settings, sizes: Mapping[str, str]) -> dict[str, str]:
    """Returns the sizes that ``apply_sizes`` applies, by the names of their settings."""
    return {name: getattr(settings, name) or sizes.get(name) or least for name, least in SMALL.items()}
