"""Figures of `bench erasure` stand beside the study's, policy by policy, and findings tell the ratios of both.

In `make test`: the figures are made up.
"""

from __future__ import annotations

import pytest
from runs import experiment

from watchfloor.loadgen.experiments.erasure.figures import (
    BULK_WRITE,
    DISK,
    FILE_READ,
    FILE_WRITE,
    LOOKUP,
    METRICS,
    POLICIES,
    STATES,
)
from watchfloor.loadgen.experiments.lookups.figures import HIGHEST, LOWEST, MEAN
from watchfloor.loadgen.experiments.registry import draw_pictures
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.report.studies.erasure_coding import CONTENT
from watchfloor.loadgen.report.studies.own_figures import OwnFigures

TIMES = {"all up": 10.0, "two killed": 15.0, "repaired": 11.0}


def make_figures() -> list[Figure]:
    """Returns figures whose look-ups take the longer the later a policy stands, ``TIMES`` on replicas."""
    figures = [
        Figure(LOOKUP, (place * TIMES[state] * share,), {"files": policy, "state": state, "of": of})
        for place, policy in enumerate(POLICIES, 1)
        for state in STATES
        for of, share in ((LOWEST, 0.5), (MEAN, 1.0), (HIGHEST, 9.0))
    ]
    for policy in POLICIES:
        figures.append(Figure(FILE_WRITE, (250.0,), {"files": policy, "at once": "8"}))
        figures.append(Figure(FILE_READ, (500.0,), {"files": policy, "at once": "1", "state": "all up"}))
        figures.append(Figure(BULK_WRITE, (60_000.0,), {"files": policy, "codec": "gz"}))
        figures.append(Figure(DISK, (80.0 if POLICIES[policy] else 160.0,), {"files": policy, "codec": "gz"}))
    return figures


def test_each_policy_and_state_stands_beside_the_study() -> None:
    ours = OwnFigures([experiment("erasure", make_figures())])
    tables = {table.numbers[0]: table for table in CONTENT.make_tables(ours)}
    assert set(tables) == {"lookups", "write", "read", "bulk-write"}
    rows = {number: {row.label: [cell.value for cell in row.cells if cell] for row in table.rows if row.is_ours}
            for number, table in tables.items()}  # fmt: skip
    assert len(rows["lookups"]) == len(POLICIES) * len(STATES)
    assert rows["lookups"]["here, HDFS: RS-6-3-64k, two killed"] == [15, 30, 270]
    assert rows["write"]["here: replication, 8 at once"] == [0.25]
    assert rows["read"]["here: RS-10-4-1024k, 1 at once, all up"] == [0.5]
    assert rows["bulk-write"]["here, on all disks: gz, RS-6-3-1024k"] == [80, 60_000]


def test_findings_tell_what_a_code_costs_here_and_in_the_study() -> None:
    told = list(CONTENT.state_findings(OwnFigures([experiment("erasure", make_figures())])))
    assert (
        "A look-up under RS-6-3-1024k takes 3.0 times as long as on replicas (3.0 times in the study), and with two "
        "DataNodes lost 1.5 times as long as with all up."
    ) in told
    assert told.count("Its files take 50% of the disk of three replicas.") == len(POLICIES) - 1


def test_a_run_without_them_names_the_command() -> None:
    (*_, last) = CONTENT.state_findings(OwnFigures([]))
    assert "were not measured in this run: `watchfloor bench erasure` does it" in last


def test_pictures_have_the_published_means() -> None:
    pytest.importorskip("matplotlib")
    (first, *others) = draw_pictures("erasure", make_figures())
    assert "published, 2019 study, 14 and 16 nodes" in first.svg
    assert len(others) == len(METRICS) - 2
