"""Events are found by the network of an address in a string, in both layouts, by index and by scan.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

FIRST = datetime(2024, 3, 5, tzinfo=UTC)
NETWORKS = (
    "0.0.0.0/0", "10.0.0.0/8", "10.1.16.0/20", "10.1.16.7/32", "192.0.2.128/25", "::/0", "2001:db8::/32",
    "2001:db8:0:8000::/49", "2001:db8::1/128", "fe80::/10", "::1/128",
)  # fmt: skip
NAMES = ("10.example.com", "web-1", "10.1.16.7.example.com", "localhost", "dead.beef", "fe80", "")


def draw_host(chance: random.Random) -> str | None:
    """Returns the name of a host, an address in or near one of the networks, or nothing."""
    network = ip_network(chance.choice(NETWORKS))
    form = IPv4Address if network.version == 4 else IPv6Address
    inside = int(network.network_address) | chance.getrandbits(network.max_prefixlen - network.prefixlen or 1)
    near = int(network.network_address) ^ 1 << chance.randrange(network.max_prefixlen)
    return chance.choice((str(form(inside)), str(form(near)), chance.choice(NAMES), None))


@pytest.fixture(scope="module")
def hosts(store_settings: Settings) -> Iterator[tuple[QueryService, list[str | None]]]:
    chance = random.Random(8)
    found = [draw_host(chance) for _ in range(400)]
    definition = {
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [
            {"name": "ts", "type": "time"},
            {"name": "client", "type": "string", "indexed": True, "ecs": "source.address"},
            {"name": "peer", "type": "string", "ecs": "destination.address"},
        ],
    }
    events = [{"ts": FIRST + timedelta(seconds=n), "client": host, "peer": host} for n, host in enumerate(found)]
    with Store.open(store_settings) as store, store.sink() as sink:
        for layout in LAYOUTS:
            source = parse_definition({**definition, "name": f"hosts{RUN}.{layout}", "layout": layout})
            write(sink, store.catalog.register(source), 0, batch_of(source, events), 64)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield QueryService(opened), found


def is_within(host: str | None, network: str) -> bool:
    try:
        return ip_address(host or "") in ip_network(network)
    except ValueError:
        return False


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("network", NETWORKS)
def test_hosts_are_found_by_their_network(
    hosts: tuple[QueryService, list[str | None]], layout: str, network: str
) -> None:
    service, drawn = hosts
    expected = [(FIRST + timedelta(seconds=n), host) for n, host in enumerate(drawn) if is_within(host, network)]
    assert expected
    for where, scheme in [("client", "auto"), ("client", "scan"), ("client", "index"), ("peer", "auto")]:
        request = QueryRequest(f"hosts{RUN}.{layout}", where=f"{where} in {network}", scheme=scheme)
        rows = [row for batch in service.run(request) for row in batch.to_pylist()]
        assert sorted((row["ts"], row["client"]) for row in rows) == expected, (where, scheme)
