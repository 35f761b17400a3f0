"""Links, partitions, slow links, hosts that stand still and dead hosts of a cluster, each during a load and questions.

In `make soak`: each fault takes a minute or two. `make test-cluster` runs it with the rest of this folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from cluster import CLIENT, DATA, HEAD, WORK
from cluster_bed import BASE, BASE_LINES, CONNECT_SECONDS, REQUEST_SECONDS, SCAN_SECONDS, Bed
from cluster_hdfs import NAMENODE_PORT

pytestmark = [pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(900)]
LINES = 60_000
PAUSE_SECONDS = 60
Fault = Callable[[Bed], AbstractContextManager[None]]
OTHERS = (HEAD, "data2", "data3", "work2", CLIENT)
FAULTS: dict[str, tuple[Fault, float]] = {
    "server_link": (lambda bed: bed.network.without_link("data1"), 25),
    "worker_link": (lambda bed: bed.network.without_link("work1"), 20),
    "halves": (lambda bed: bed.network.partition(("data1", "work1"), OTHERS), 30),
    "slow_server": (lambda bed: bed.network.slow_link("data2", "2mbit"), 20),
    "no_namenode": (lambda bed: bed.network.partition(("data1",), (HEAD,), NAMENODE_PORT), 30),
    "head_link": (lambda bed: bed.network.without_link(HEAD), 30),
    "service_link": (lambda bed: bed.network.without_link("work2"), 20),
    "dead_server": (lambda bed: bed.network.without_power("data3"), 15),
    "dead_worker": (lambda bed: bed.network.without_power("work1"), 15),
    "dead_service": (lambda bed: bed.network.without_power("work2"), 15),
    "lost_disk": (lambda bed: bed.without_disk("data1"), 25),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(bed: Bed, name: str) -> None:
    fault, seconds = FAULTS[name]
    bed.run_fault(name, LINES, lambda: fault(bed), seconds)


@pytest.mark.parametrize("host", [WORK[0], DATA[2]])
def test_a_host_stands_still_and_goes_on(bed: Bed, host: str) -> None:
    """Others have done its work by then. What it still has in hand changes nothing."""
    name, first = f"paused_{host}", len(bed.started)
    bed.run_fault(name, LINES, lambda: bed.network.paused(host), PAUSE_SECONDS)
    if host in DATA:
        bed.revive_until(lambda: (host, "tserver") in bed.started[first:], 60, "a tablet server that finds itself dead")
    time.sleep(5)
    bed.check_exactly_once(f"bed.{name}", LINES)


def test_a_host_dies_with_its_disk_as_files_are_imported(bed: Bed) -> None:
    bed.use_mode("bulk")
    try:
        bed.run_fault("imports", LINES, lambda: bed.without_disk("data2"), 25)
    finally:
        bed.use_mode("live")


def test_a_client_that_does_not_reach_a_server_is_told_so(bed: Bed) -> None:
    """ZooKeeper and the manager reach the server, so nobody takes over from it: the client cannot get its answer."""
    time.sleep(2)
    bed.revive()
    command = bed.cluster.command("query", BASE, "--columns", "id", "--format", "ndjson")
    with bed.network.partition((CLIENT,), (DATA[1],)):
        began = time.monotonic()
        done = bed.cluster.run(CLIENT, command, 200)
        seconds = time.monotonic() - began
    print(f"without {DATA[1]}: exit status {done.returncode} after {seconds:.1f} s, {done.stderr[-300:]}")
    assert done.returncode == 3 and "not answer" in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert seconds < CONNECT_SECONDS + SCAN_SECONDS + 3 * REQUEST_SECONDS
    assert len(bed.cluster.run(CLIENT, command, 200).stdout.splitlines()) == BASE_LINES
