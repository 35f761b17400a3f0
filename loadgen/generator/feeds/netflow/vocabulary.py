"""The vocabulary of netflow events: clients, servers and flow shapes, and how often each is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.json_fragments import format_member_array, format_members
from watchfloor.loadgen.generator.synthesis.network_model import (
    CLIENT_COUNT,
    DOMAIN_COUNT,
    MIDDLING_INDEX,
    POPULAR_INDEX,
    RARE_INDEX,
    load_network,
)
from watchfloor.loadgen.generator.synthesis.sampling import POOL_SIZE, IntArray, build_quantile_table, zipf_weights

SHAPES_PER_SERVICE = 1 << 13
INSIDE_SERVERS = 400
EXPORTERS = 6


@dataclass(frozen=True)
class FlowService:
    """A network service and its flows.

    ``sent`` and ``got`` are the means of the logarithm of the payload bytes each way, ``ms`` that of the milliseconds.
    ``outside`` and ``inside`` are the service's weights among the servers outside and inside the network.
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
    FlowService("https", "tcp", 443, 7.4, 9.6, 6.5, 0.78, 0.10),
    FlowService("quic", "udp", 443, 7.2, 10.2, 7.0, 0.12, 0.0),
    FlowService("http", "tcp", 80, 6.3, 8.6, 5.0, 0.06, 0.08),
    FlowService("dns", "udp", 53, 3.8, 4.8, 2.5, 0.01, 0.12),
    FlowService("ntp", "udp", 123, 3.9, 3.9, 2.8, 0.015, 0.05),
    FlowService("smtp", "tcp", 25, 9.0, 5.8, 6.8, 0.01, 0.04),
    FlowService("ssh", "tcp", 22, 8.2, 8.8, 9.5, 0.003, 0.12),
    FlowService("icmp", "icmp", 2048, 5.5, 5.5, 7.5, 0.002, 0.04),
    FlowService("smb", "tcp", 445, 8.6, 9.9, 8.2, 0.0, 0.20),
    FlowService("ldap", "tcp", 389, 6.0, 7.4, 4.0, 0.0, 0.08),
    FlowService("kerberos", "tcp", 88, 7.3, 7.4, 2.5, 0.0, 0.08),
    FlowService("sql", "tcp", 5432, 7.0, 8.5, 6.0, 0.0, 0.09),
)
ICMP = next(i for i, service in enumerate(SERVICES) if service.proto == "icmp")


@dataclass(frozen=True)
class NetflowVocabulary:
    """Arrow arrays of JSON fragments, and quantile tables (``*_table``) that turn a uniform draw into an index of them.

    The last item of ``ports`` is for protocols without ports. ``shapes`` has ``SHAPES_PER_SERVICE`` of each service.
    ``server_services`` has the service of each server.
    """

    clients: pa.Array
    ports: pa.Array
    servers: pa.Array
    shapes: pa.Array
    client_table: IntArray
    server_table: IntArray
    server_services: IntArray


@cache
def build_vocabulary() -> NetflowVocabulary:
    """Returns the one vocabulary, the same for every seed."""
    rng = np.random.Generator(np.random.PCG64(20_260_110))
    network = load_network()
    inside = [f"10.240.{i // 100}.{10 + i % 100}" for i in range(INSIDE_SERVERS)]
    outside_services = rng.choice(len(SERVICES), DOMAIN_COUNT, p=_normalize_weights([s.outside for s in SERVICES]))
    outside_services[[POPULAR_INDEX, MIDDLING_INDEX, RARE_INDEX]] = 0
    inside_services = rng.choice(len(SERVICES), INSIDE_SERVERS, p=_normalize_weights([s.inside for s in SERVICES]))
    service_of = np.concatenate((outside_services, inside_services)).astype(np.int32)
    # A third of all flows stay inside.
    share = np.concatenate(
        (_normalize_weights(zipf_weights(DOMAIN_COUNT, 1.0)) * 2, _normalize_weights(zipf_weights(INSIDE_SERVERS, 0.7)))
    )
    share[[POPULAR_INDEX, MIDDLING_INDEX, RARE_INDEX]] = 0  # the named values have their own frequencies
    systems = [*(64_500 + (rng.random(DOMAIN_COUNT) ** 2 * 36).astype(int)), *([64_499] * INSIDE_SERVERS)]
    servers = [
        format_members(
            dst_ip=address,
            dst_port=SERVICES[service].port,
            dst_as=int(system),
            proto=SERVICES[service].proto,
            application=SERVICES[service].name,
        )
        for address, service, system in zip([*network.servers, *inside], service_of.tolist(), systems, strict=True)
    ]
    clients = [
        format_members(
            exporter=f"10.255.0.{1 + i % EXPORTERS}", input_if=1 + i % 24, output_if=48, src_ip=client, src_as=64_499
        )
        for i, client in enumerate(network.clients)
    ]
    return NetflowVocabulary(
        clients=pa.array(clients),
        ports=format_member_array("src_port", [*(1024 + int(u * 64_512) for u in rng.random(POOL_SIZE)), 0]),
        servers=pa.array(servers),
        shapes=pa.array([shape for service in SERVICES for shape in _draw_shapes(rng, service)]),
        client_table=build_quantile_table(zipf_weights(CLIENT_COUNT, 0.6)),
        server_table=build_quantile_table(share),
        server_services=service_of,
    )


def _normalize_weights(weights: np.ndarray | list[float]) -> np.ndarray:
    array = np.asarray(weights, np.float64)
    return array / array.sum()


def _draw_shapes(rng: np.random.Generator, service: FlowService) -> list[str]:
    """Returns the shapes of a service's flows.

    Payload is cut into packets of up to 1,400 bytes, each with its headers; TCP opens, acknowledges and closes. One
    flow in thirty gets no answer: it has a few opening packets, repeated after one, three and seven seconds.
    """
    tcp = service.proto == "tcp"
    header = 40 if tcp else 28
    spread = 0.4 if service.proto == "icmp" or service.port in (53, 123) else 1.4
    sent = np.exp(rng.standard_normal(SHAPES_PER_SERVICE) * spread + service.sent).astype(int) + 1
    got = np.exp(rng.standard_normal(SHAPES_PER_SERVICE) * spread + service.got).astype(int) + 1
    if service.proto == "icmp":  # an echo
        got = sent
    took = np.exp(rng.standard_normal(SHAPES_PER_SERVICE) * 1.1 + service.ms).astype(int) + 1
    silent, tries = rng.random(SHAPES_PER_SERVICE) < 1 / 30, 1 + (rng.random(SHAPES_PER_SERVICE) * 4).astype(int)
    cut_off = rng.random(SHAPES_PER_SERVICE) < 0.08
    marked = (0, 0, 0, 0, 0, 0, 0, 184, 40, 8)
    tos = [marked[int(u * len(marked))] for u in rng.random(SHAPES_PER_SERVICE)]
    shapes = []
    for i in range(SHAPES_PER_SERVICE):
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
            format_members(
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
