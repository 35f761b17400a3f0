"""Reads the text that YCSB's client writes at its end, a line for each number: ``[READ], MaxLatency(us), 5823``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

OVERALL, CLEANUP, INTENDED = "OVERALL", "CLEANUP", "Intended-"
FINE = ("OK", "BATCHED_OK", "NOT_FOUND")
"""The return codes that are no failure. BATCHED_OK is a write that is in a client's buffer; NOT_FOUND no record."""
PERCENTILES = ("50", "95", "99", "99.9")
_PERCENTILE = re.compile(r"([0-9.]+)(?:st|nd|rd|th)?PercentileLatency\(us\)")


@dataclass
class OperationLatency:
    """The latencies of one kind of operation in milliseconds. ``percentiles`` are by their percent, as text."""

    operations: int = 0
    mean: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    percentiles: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class YcsbOutput:
    """A run of YCSB.

    ``latencies`` are by operation: ``READ``, ``READ-NOT_FOUND``, ``UPDATE``, …, ``CLEANUP``, and each with the prefix
    ``INTENDED`` too. ``returns`` are the numbers of return codes by operation.
    """

    seconds: float
    operations_per_second: float
    latencies: Mapping[str, OperationLatency]
    returns: Mapping[str, Mapping[str, int]]

    @property
    def operations(self) -> int:
        """The number of operations that have a return code. One that reads, modifies and writes counts as two."""
        return sum(sum(codes.values()) for codes in self.returns.values())

    @property
    def failures(self) -> int:
        """The number of operations that failed; to find no record is no failure."""
        return sum(n for codes in self.returns.values() for code, n in codes.items() if code not in FINE)

    def count(self, operation: str, code: str | None = None) -> int:
        """Returns how many operations of a kind had a return code, or any."""
        codes = self.returns.get(operation, {})
        return sum(codes.values()) if code is None else codes.get(code, 0)


def parse_output(text: str) -> YcsbOutput:
    """Returns what YCSB has written. Raises ``ValueError`` if its overall figures are not there."""
    overall: dict[str, float] = {}
    latencies: dict[str, OperationLatency] = {}
    returns: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) != 3 or not parts[0].startswith("["):
            continue
        group, name, value = parts[0].strip("[]"), parts[1], parts[2]
        if group == OVERALL:
            overall[name] = float(value)
        elif name.startswith("Return="):
            returns.setdefault(group, {})[name.removeprefix("Return=")] = int(value)
        elif not group.startswith("TOTAL_GC"):
            _add_latency(latencies.setdefault(group, OperationLatency()), name, float(value))
    if "RunTime(ms)" not in overall or "Throughput(ops/sec)" not in overall:
        raise ValueError("YCSB has written no overall figures")
    latencies = {name: latency for name, latency in latencies.items() if latency.operations}
    return YcsbOutput(overall["RunTime(ms)"] / 1000, overall["Throughput(ops/sec)"], latencies, returns)


def _add_latency(latency: OperationLatency, name: str, value: float) -> None:
    if name == "Operations":
        latency.operations = int(value)
    elif found := _PERCENTILE.fullmatch(name):
        latency.percentiles[found[1]] = value / 1000
    elif name in _FIELDS:
        setattr(latency, _FIELDS[name], value / 1000)


_FIELDS = {"AverageLatency(us)": "mean", "MinLatency(us)": "lowest", "MaxLatency(us)": "highest"}
