"""The time for which a thread has waited in Java, for example for room in the memory of a BatchWriter."""

from __future__ import annotations

from functools import cache
from typing import Any

from . import jvm


def read_waited_seconds() -> float:
    """Returns the seconds for which this thread has waited in Java so far, from the first call of the process on."""
    threads = _watch_threads()
    info = threads.getThreadInfo(jvm.java_class("java.lang.Thread").currentThread().getId())
    return float(info.getWaitedTime() + info.getBlockedTime()) / 1000


@cache
def _watch_threads() -> Any:
    """Returns Java's bean of threads, which from now on measures how long each of them waits."""
    threads = jvm.java_class("java.lang.management.ManagementFactory").getThreadMXBean()
    threads.setThreadContentionMonitoringEnabled(True)
    return threads
