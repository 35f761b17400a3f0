"""The times of many look-ups: extremes, mean, percentiles of an HDR histogram, and the study's buckets of 50 ms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchfloor.store.workloads.client_process import Record

BUCKET_MS = 50
BUCKETS = (*(f"{low} to {low + BUCKET_MS} ms" for low in range(0, 1000, BUCKET_MS)), "1 s and more")


@dataclass(frozen=True)
class Latencies:
    """Times in milliseconds. ``counts`` are look-ups by microseconds, which are exact to three digits.

    ``buckets`` are the look-ups of each of ``BUCKETS``.
    """

    lookups: int
    min: float
    sum: float
    max: float
    buckets: Sequence[int]
    counts: Mapping[int, int]

    @property
    def mean(self) -> float:
        return self.sum / self.lookups

    def find_percentile(self, percent: float) -> float:
        """Returns the least time that ``percent`` percent of the look-ups do not exceed."""
        wanted = max(1, math.ceil(self.lookups * percent / 100))
        passed = 0
        for micros, count in sorted(self.counts.items()):
            passed += count
            if passed >= wanted:
                return min(micros / 1000, self.max)
        return self.max

    def list_buckets(self) -> list[tuple[str, int, float]]:
        """Returns the buckets up to the last one with look-ups: name, look-ups, and their share in percent."""
        used = max(place for place, count in enumerate(self.buckets) if count) + 1
        return [
            (name, count, 100 * count / self.lookups)
            for name, count in zip(BUCKETS[:used], self.buckets[:used], strict=True)
        ]


def merge_latencies(records: Sequence[Record]) -> Latencies:
    """Merges the records of a round of several clients into one."""
    measured = [record for record in records if record["lookups"]] or records
    counts: Counter[int] = Counter()
    for record in measured:
        for micros, count in record["counts"]:
            counts[micros] += count
    return Latencies(
        lookups=sum(record["lookups"] for record in measured),
        min=min(record["min_ms"] for record in measured),
        sum=sum(record["sum_ms"] for record in measured),
        max=max(record["max_ms"] for record in measured),
        buckets=[sum(column) for column in zip(*(record["buckets"] for record in measured), strict=True)],
        counts=counts,
    )
