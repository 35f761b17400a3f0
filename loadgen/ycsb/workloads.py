"""The workloads: YCSB's A to F by its published parameters, and the pure insert of the Accumulo study of 2014.

The study calls its own "Workload F"; here it is ``insert``, because F of YCSB reads, modifies and writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watchfloor.schema.errors import UserError, suggest_names

TABLE = "bench_ycsb"
"""The name of the table of records, unless another is given."""


@dataclass(frozen=True, eq=False)
class YcsbWorkload:
    """The shares of operations of a workload, and the distribution by which its records are chosen.

    ``properties`` are those of YCSB's core workload; ``about`` is a phrase for people. There is one object a workload.
    """

    name: str
    about: str
    properties: Mapping[str, str]

    @property
    def writes(self) -> bool:
        """True if some of its operations write."""
        return self.properties["readproportion"] != "1"


def _workload(name: str, about: str, distribution: str, **shares: str) -> YcsbWorkload:
    """Makes a workload. ``shares`` are by operation; YCSB's own defaults of shares are not 0, so that all are given."""
    operations = ("read", "update", "insert", "scan", "readmodifywrite")
    properties = {f"{name}proportion": shares.get(name, "0") for name in operations}
    # A scan is of 1 to 100 records, each number as likely as the others.
    scans = {"maxscanlength": "100", "scanlengthdistribution": "uniform"} if "scan" in shares else {}
    return YcsbWorkload(name, about, {**properties, **scans, "requestdistribution": distribution})


WORKLOADS: Mapping[str, YcsbWorkload] = {
    each.name: each
    for each in (
        _workload("A", "half reads, half updates", "zipfian", read="0.5", update="0.5"),
        _workload("B", "reads, and 5 % updates", "zipfian", read="0.95", update="0.05"),
        _workload("C", "reads", "zipfian", read="1"),
        _workload("D", "reads of the newest records, and 5 % inserts", "latest", read="0.95", insert="0.05"),
        _workload("E", "scans of up to 100 records, and 5 % inserts", "zipfian", scan="0.95", insert="0.05"),
        _workload(
            "F", "half reads, half reads that are followed by an update", "zipfian", read="0.5", readmodifywrite="0.5"
        ),
        _workload("insert", "inserts", "zipfian", insert="1"),
    )
}


def find_workload(name: str) -> YcsbWorkload:
    """Returns the workload of that name, in whichever case. Raises ``UserError`` that names those there are."""
    for known, workload in WORKLOADS.items():
        if known.lower() == name.lower():
            return workload
    raise UserError(f"unknown workload {name!r}{suggest_names(name, WORKLOADS)}")
