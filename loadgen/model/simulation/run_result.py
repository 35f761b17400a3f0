"""The outcome of a simulated run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IngestRunResult:
    """The outcome of a simulated run. Rates are entries/s of the whole cluster."""

    entries: float
    stored_entries: float
    seconds: float
    peak_rate: float
    tablets: float
    minor_compactions: int
    major_compactions: int
    held_seconds: float
    """Seconds in which a server let no entries through, because its memory was full; mean of the simulated servers."""
    closed_seconds: float
    core_use: float
    disk_use: float
    log_disk_use: float
    network_use: float

    @property
    def mean_rate(self) -> float:
        return self.entries / self.seconds
