"""The link of a tablet server's host is down for a while, during a load and questions: no event is lost or doubled.

In `make soak`: a cluster on seven hosts is started. Continuous integration runs it too; `make test-cluster` runs all of
this folder.
"""

from __future__ import annotations

import pytest
from cluster_bed import Bed

pytestmark = [pytest.mark.crash, pytest.mark.soak]


def test_the_state_of_the_cluster_is_shown(bed: Bed) -> None:
    shown = bed.ask("status")
    assert "bed_base.event" in shown and "0 work items waiting" in shown


def test_a_tablet_server_is_cut_off(bed: Bed) -> None:
    report = bed.run_fault("cut", 40_000, lambda: bed.network.without_link("data1"), 15)
    assert report.without_answer < 60
