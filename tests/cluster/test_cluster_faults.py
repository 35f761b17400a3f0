"""Links, partitions, slow links and dead hosts of a cluster, each during a load and questions.

In `make soak`: each fault takes a minute or two. `make test-cluster` runs it with the rest of this folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
from cluster import CLIENT, DATA, HEAD, WORK
from cluster_bed import BASE, BASE_LINES, CONNECT_SECONDS, REQUEST_SECONDS, SCAN_SECONDS, Bed
from cluster_hdfs import NAMENODE_PORT

pytestmark = [pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(900)]
LINES = 60_000
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
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_network(bed: Bed, name: str) -> None:
    fault, seconds = FAULTS[name]
    bed.run_fault(name, LINES, lambda: fault(bed), seconds)


@pytest.mark.parametrize("host", [DATA[2], WORK[0]])
def test_a_host_dies(bed: Bed, host: str) -> None:
    bed.run_fault(f"dead_{host}", LINES, nullcontext, 15, lambda: bed.network.kill_host(host))


def test_a_host_dies_with_its_disk(bed: Bed) -> None:
    bed.run_fault("lost_disk", LINES, nullcontext, 25, lambda: bed.lose_disk("data1"))


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
