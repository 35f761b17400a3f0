"""The link between a client and its service is cut during a silent answer: each of them notices that.

In `make soak`: it waits for a minute. `make test-cluster` runs it with the rest of this folder.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import silent_service
from host_network import Network, NetworkRefusedError

from watchfloor.api.lost_peers import LOST_SECONDS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]
CLIENT, SERVICE = "client", "service"
WATCH = """
import sys
from watchfloor.api.client import Client, ClientError
try:
    for event in Client(sys.argv[1], "token").query("any.source", watch=True):
        print(event["id"], flush=True)
except ClientError as error:
    print(type(error).__name__, flush=True)
"""


@pytest.fixture
def network() -> Iterator[Network]:
    made = Network((CLIENT, SERVICE))
    try:
        made.build()
    except NetworkRefusedError as error:
        pytest.skip(f"no hosts as network namespaces: {error}")
    yield made
    made.remove()


def start(network: Network, host: str, errors: Path, *arguments: str) -> subprocess.Popen[str]:
    command = network.command(host, [sys.executable, *arguments])
    with errors.open("a") as file:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)


def test_a_watch_whose_link_is_cut_ends_on_both_hosts(network: Network, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    address = network.addresses[SERVICE]
    service = start(network, SERVICE, errors, silent_service.__file__, address)
    assert service.stdout is not None
    client = start(network, CLIENT, errors, "-c", WATCH, f"http://{address}:{int(service.stdout.readline())}")
    assert client.stdout is not None
    assert client.stdout.readline() == "1\n"
    with network.without_link(SERVICE):
        began = time.monotonic()
        assert client.stdout.readline() == "AnswerCutOff\n"
        assert service.stdout.readline() == f"{silent_service.GONE}\n"
        assert time.monotonic() - began < LOST_SECONDS + 15
    for process in (client, service):
        process.kill()
        process.wait(10)
    assert "Traceback" not in errors.read_text()
