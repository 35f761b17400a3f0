"""Flows, both ways of each in one record, as an exporter at the edge of a network of clients reports them.

What a server is decides its ports and protocol, and with them how much is sent and for how long: a flow's packets,
bytes, flags and milliseconds are drawn together, as a *shape* of its service.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, Named
from watchfloor.loadgen.generator.synthesis.json_fragments import beginnings, joined, members, object_members
from watchfloor.loadgen.generator.synthesis.network_model import (
    CLIENTS,
    DOMAINS,
    MIDDLING_PLACE,
    POPULAR_PLACE,
    RARE_PLACE,
    organisation,
)
from watchfloor.loadgen.generator.synthesis.sampling import NUMBERS, Ints, draw, number, quantiles, zipf
from watchfloor.loadgen.generator.synthesis.time_sampler import Micros, Rhythm

# As the proxy's, and backups at night.
RHYTHM = Rhythm((7, 9, 9, 6, 4, 4, 6, 9, 13, 15, 15, 14, 12, 14, 15, 14, 13, 11, 8, 7, 6, 5, 5, 5), weekend=0.45)
SHAPES = 1 << 13
"""Of each service."""
INSIDE = 400
EXPORTERS = 6


@dataclass(frozen=True)
class Service:
    """``sent`` and ``got``: mean of the logarithm of the payload bytes each way; ``ms``: of the milliseconds.

    ``outside``, ``inside``: its share of the servers there.
    """

    name: str
    proto: str
    port: int
    sent: float
    got: float
    ms: float
    outside: float
    inside: float


SERVICES = (
    Service("https", "tcp", 443, 7.4, 9.6, 6.5, 0.78, 0.10),
    Service("quic", "udp", 443, 7.2, 10.2, 7.0, 0.12, 0.0),
    Service("http", "tcp", 80, 6.3, 8.6, 5.0, 0.06, 0.08),
    Service("dns", "udp", 53, 3.8, 4.8, 2.5, 0.01, 0.12),
    Service("ntp", "udp", 123, 3.9, 3.9, 2.8, 0.015, 0.05),
    Service("smtp", "tcp", 25, 9.0, 5.8, 6.8, 0.01, 0.04),
    Service("ssh", "tcp", 22, 8.2, 8.8, 9.5, 0.003, 0.12),
    Service("icmp", "icmp", 2048, 5.5, 5.5, 7.5, 0.002, 0.04),
    Service("smb", "tcp", 445, 8.6, 9.9, 8.2, 0.0, 0.20),
    Service("ldap", "tcp", 389, 6.0, 7.4, 4.0, 0.0, 0.08),
    Service("kerberos", "tcp", 88, 7.3, 7.4, 2.5, 0.0, 0.08),
    Service("sql", "tcp", 5432, 7.0, 8.5, 6.0, 0.0, 0.09),
)
ICMP = next(i for i, service in enumerate(SERVICES) if service.proto == "icmp")


@dataclass(frozen=True)
class Vocabulary:
    """Fragments of JSON. The last of ``ports`` is that of protocols without one; ``shapes`` has ``SHAPES`` of each
    service; ``service_of`` is per server."""

    clients: pa.Array
    ports: pa.Array
    servers: pa.Array
    shapes: pa.Array
    client_table: Ints
    server_table: Ints
    service_of: Ints


@cache
def build_feed() -> EventFeed:
    servers = organisation().servers
    return EventFeed(
        source="netflow.events",
        main="dst_ip",
        popular=Named(servers[POPULAR_PLACE], POPULAR_PLACE),
        middling=Named(servers[MIDDLING_PLACE], MIDDLING_PLACE),
        rare=Named(servers[RARE_PLACE], RARE_PLACE),
        table=vocabulary().server_table,
        rhythm=RHYTHM,
        stream=(2,),
        lines=lines,
    )


def lines(rng: np.random.Generator, times: Micros, servers: Ints) -> pa.StringArray:
    size, words = len(times), vocabulary()
    services = words.service_of[servers]
    shapes = services * SHAPES + rng.integers(0, SHAPES, size, dtype=np.int32)
    return joined(
        [
            *beginnings(times),
            words.clients.take(pa.array(draw(rng, words.client_table, size))),
            words.ports.take(pa.array(np.where(services == ICMP, NUMBERS, number(rng, size)))),
            words.servers.take(pa.array(servers)),
            words.shapes.take(pa.array(shapes)),
        ]
    )


@cache
def vocabulary() -> Vocabulary:
    rng = np.random.Generator(np.random.PCG64(20_260_110))
    there = organisation()
    inside = [f"10.240.{i // 100}.{10 + i % 100}" for i in range(INSIDE)]
    outside_services = rng.choice(len(SERVICES), DOMAINS, p=_shares([s.outside for s in SERVICES]))
    outside_services[[POPULAR_PLACE, MIDDLING_PLACE, RARE_PLACE]] = 0
    inside_services = rng.choice(len(SERVICES), INSIDE, p=_shares([s.inside for s in SERVICES]))
    service_of = np.concatenate((outside_services, inside_services)).astype(np.int32)
    # A third of all flows stay inside.
    share = np.concatenate((_shares(zipf(DOMAINS, 1.0)) * 2, _shares(zipf(INSIDE, 0.7))))
    share[[POPULAR_PLACE, MIDDLING_PLACE, RARE_PLACE]] = 0  # they are dealt out
    systems = [*(64_500 + (rng.random(DOMAINS) ** 2 * 36).astype(int)), *([64_499] * INSIDE)]
    servers = [
        object_members(
            dst_ip=address,
            dst_port=SERVICES[service].port,
            dst_as=int(system),
            proto=SERVICES[service].proto,
            application=SERVICES[service].name,
        )
        for address, service, system in zip([*there.servers, *inside], service_of.tolist(), systems, strict=True)
    ]
    clients = [
        object_members(
            exporter=f"10.255.0.{1 + i % EXPORTERS}", input_if=1 + i % 24, output_if=48, src_ip=client, src_as=64_499
        )
        for i, client in enumerate(there.clients)
    ]
    return Vocabulary(
        clients=pa.array(clients),
        ports=members("src_port", [*(1024 + int(u * 64_512) for u in rng.random(NUMBERS)), 0]),
        servers=pa.array(servers),
        shapes=pa.array([shape for service in SERVICES for shape in _shapes(rng, service)]),
        client_table=quantiles(zipf(CLIENTS, 0.6)),
        server_table=quantiles(share),
        service_of=service_of,
    )


def _shares(weights: np.ndarray | list[float]) -> np.ndarray:
    array = np.asarray(weights, np.float64)
    return array / array.sum()


def _shapes(rng: np.random.Generator, service: Service) -> list[str]:
    """Payload is cut into packets of up to 1,400 bytes, each with its headers; TCP opens, acknowledges and closes.

    One flow in thirty gets no answer: a few opening packets, repeated after one, three and seven seconds.
    """
    tcp = service.proto == "tcp"
    header = 40 if tcp else 28
    spread = 0.4 if service.proto == "icmp" or service.port in (53, 123) else 1.4
    sent = np.exp(rng.standard_normal(SHAPES) * spread + service.sent).astype(int) + 1
    got = np.exp(rng.standard_normal(SHAPES) * spread + service.got).astype(int) + 1
    if service.proto == "icmp":  # an echo
        got = sent
    took = np.exp(rng.standard_normal(SHAPES) * 1.1 + service.ms).astype(int) + 1
    silent, tries = rng.random(SHAPES) < 1 / 30, 1 + (rng.random(SHAPES) * 4).astype(int)
    cut_off = rng.random(SHAPES) < 0.08
    marked = (0, 0, 0, 0, 0, 0, 0, 184, 40, 8)
    tos = [marked[int(u * len(marked))] for u in rng.random(SHAPES)]
    shapes = []
    for i in range(SHAPES):
        if silent[i]:
            out, back = int(tries[i]), 0
            bytes_out, bytes_in, ms = out * (header if tcp else header + 32), 0, (0, 1000, 3000, 7000)[out - 1]
            flags = "S" if tcp else None
        else:
            data_out, data_back = -(-int(sent[i]) // 1400), -(-int(got[i]) // 1400)
            # Two of TCP's packets each way open and close; every second packet is acknowledged.
            out = data_out + (2 + data_back // 2 if tcp else 0)
            back = data_back + (2 + data_out // 2 if tcp else 0)
            bytes_out, bytes_in, ms = int(sent[i]) + out * header, int(got[i]) + back * header, int(took[i])
            flags = ("SPAR" if cut_off[i] else "SPAF") if tcp else None
        shapes.append(
            object_members(
                packets_out=out,
                bytes_out=bytes_out,
                packets_in=back,
                bytes_in=bytes_in,
                duration_ms=ms,
                tcp_flags=flags,
                tos=tos[i],
            )
            + "}\n"
        )
    return shapes
