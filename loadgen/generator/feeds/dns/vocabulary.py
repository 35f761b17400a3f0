"""The vocabulary of DNS events: names with their answers, clients, and durations, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv6Address, ip_address

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.json_fragments import format_member_array, format_members
from watchfloor.loadgen.generator.synthesis.network_model import CLIENT_COUNT, WordSampler, load_network
from watchfloor.loadgen.generator.synthesis.sampling import (
    POOL_SIZE,
    IntArray,
    build_quantile_table,
    collect_distinct,
    zipf_weights,
)

REVERSE_NAMES, MISSING_NAMES, SERVICE_NAMES = 1_500, 1_200, 60
RESOLVERS = ("10.0.0.53", "10.4.0.53", "10.8.0.53", "fd00:8::53")
ADDRESS, ADDRESS6, BINDING, FAILED, TEXT = range(5)
LOOKUP_KINDS = ((ADDRESS, 0.6), (ADDRESS6, 0.27), (BINDING, 0.12), (FAILED, 0.007), (TEXT, 0.003))
"""The kinds of lookups of a name, and the share of each."""


@dataclass(frozen=True)
class DnsVocabulary:
    """Arrow arrays of JSON fragments, and quantile tables (``*_table``) that turn a uniform draw into an index of them.

    ``lookups`` has a fragment for each name and kind, at ``name * len(LOOKUP_KINDS) + kind``. ``line_ends`` has
    ``POOL_SIZE`` ends of answered lookups, then as many of failed ones.
    """

    clients: pa.Array
    ports: pa.Array
    identifiers: pa.Array
    lookups: pa.Array
    line_ends: pa.Array
    client_table: IntArray
    name_table: IntArray
    kind_table: IntArray
    name_count: int


@cache
def build_vocabulary() -> DnsVocabulary:
    """Returns the one vocabulary, the same for every seed."""
    rng = np.random.Generator(np.random.PCG64(20_260_109))
    network = load_network()
    outside = [_site_lookups(rng, name, server) for name, server in zip(network.domains, network.servers, strict=True)]
    names = [*outside[1:-2], *_reverse_lookups(rng), *_service_lookups(), *_missing_lookups(rng)]
    order = rng.permutation(len(names))
    ranked = [outside[0], *(names[i] for i in order), *outside[-2:]]
    share = zipf_weights(len(ranked), 1.0)
    share[0] = share[-2:] = 0  # the named values have their own frequencies
    clients = [
        format_members(client_ip=client, server_ip=RESOLVERS[i % len(RESOLVERS)])
        for i, client in enumerate(network.clients)
    ]
    return DnsVocabulary(
        clients=pa.array(clients),
        ports=format_member_array("client_port", [1024 + int(u * 64_512) for u in rng.random(POOL_SIZE)]),
        identifiers=format_member_array("query_id", rng.permutation(POOL_SIZE).tolist()),
        lookups=pa.array([fragment for fragments in ranked for fragment in fragments]),
        line_ends=pa.array([*_answered_ends(rng), *_failed_ends(rng)]),
        client_table=build_quantile_table(zipf_weights(CLIENT_COUNT, 0.6)),
        name_table=build_quantile_table(share),
        kind_table=build_quantile_table([share for _, share in LOOKUP_KINDS]),
        name_count=len(ranked),
    )


def _format_lookup(
    query: str, qtype: str, rcode: str = "NOERROR", answers: Sequence[str] = (), ttl: int = 0, proto: str = "udp"
) -> str:
    """Returns the fragment of a lookup, with the sizes that its messages would have."""
    request_bytes = 12 + len(query) + 2 + 4  # header, name, type and class
    # Each answer points back to the name, and has its type, class, time to live and length.
    response_bytes = request_bytes + sum(12 + _answer_length(answer) for answer in answers)
    return format_members(
        proto=proto,
        query=query,
        qtype=qtype,
        rcode=rcode,
        answers=list(answers) or None,
        ttls=[ttl] * len(answers) or None,
        answer_count=len(answers),
        request_bytes=request_bytes,
        response_bytes=response_bytes,
    )


def _answer_length(answer: str) -> int:
    try:
        return len(ip_address(answer).packed)
    except ValueError:
        return len(answer) + 2


def _site_lookups(rng: np.random.Generator, name: str, server: str) -> list[str]:
    """Returns the lookups of a site, by kind: it has one to three addresses, and every second site has IPv6 too."""
    ttl = (20, 60, 300, 300, 3600, 86_400)[int(rng.random() * 6)]
    first = ip_address(server)
    count = 1 + int(rng.random() ** 2 * 3)
    number = int(rng.random() * (1 << 24))
    old = [server] if first.version == 4 else [f"198.19.{number >> 8 & 255}.{number & 255}"]
    old += [str(ip_address(old[0]) + k) for k in range(1, count)]
    new = [str(IPv6Address((0x20010DB8 << 96) + (1 << 64) + number + k)) for k in range(count)]
    if first.version == 6:
        new[0] = server
    elif rng.random() < 0.5:
        new = []
    return [
        _format_lookup(name, "A", answers=old, ttl=ttl),
        _format_lookup(name, "AAAA", answers=new, ttl=ttl),
        _format_lookup(name, "HTTPS"),
        _format_lookup(name, "A", "SERVFAIL"),
        _format_lookup(
            name, "TXT", answers=[f"v=spf1 ip4:{old[0]}/28 -all", f"site={number:032x}"], ttl=ttl, proto="tcp"
        ),
    ]


def _repeat_lookup(fragment: str, failed: str) -> list[str]:
    """Returns the lookups of a name that has one kind of lookup, whichever kind is drawn."""
    return [failed if kind == FAILED else fragment for kind, _ in LOOKUP_KINDS]


def _reverse_lookups(rng: np.random.Generator) -> list[list[str]]:
    """Returns reverse lookups of clients' addresses."""
    network = load_network()
    clients = rng.permutation(CLIENT_COUNT)[:REVERSE_NAMES].tolist()
    names = {client: ip_address(network.clients[client]).reverse_pointer for client in clients}
    return [
        _repeat_lookup(
            _format_lookup(name, "PTR", answers=[f"ws-{client:04}.corp.example"], ttl=1200),
            _format_lookup(name, "PTR", "SERVFAIL"),
        )
        for client, name in names.items()
    ]


def _service_lookups() -> list[list[str]]:
    """Returns lookups of the network's own services."""
    lookups = []
    for i in range(SERVICE_NAMES):
        service, port = (("_ldap", 389), ("_kerberos", 88), ("_gc", 3268), ("_kpasswd", 464))[i % 4]
        name = f"{service}._tcp.site-{i // 4:02}.corp.example"
        hosts = [f"0 100 {port} dc-{i // 4:02}{letter}.corp.example" for letter in "ab"]
        lookups.append(
            _repeat_lookup(_format_lookup(name, "SRV", answers=hosts, ttl=600), _format_lookup(name, "SRV", "SERVFAIL"))
        )
    return lookups


def _missing_lookups(rng: np.random.Generator) -> list[list[str]]:
    """Returns lookups of names that do not exist: mistyped names, and names that devices probe for."""
    words, existing = WordSampler(rng), set(load_network().domains)

    def make_name() -> str:
        host = words.pick_item(("wpad", "www", "printer", "isatap", words.make_word()))
        return f"{host}.{words.make_word(2, 4)}.example"

    drawn = collect_distinct(make_name, 2 * MISSING_NAMES)
    names = [name for name in drawn if name not in existing][:MISSING_NAMES]
    failed = [(_format_lookup(name, "A", "NXDOMAIN"), _format_lookup(name, "AAAA", "NXDOMAIN")) for name in names]
    return [
        [old, new, old, _format_lookup(name, "A", "SERVFAIL"), old]
        for name, (old, new) in zip(names, failed, strict=True)
    ]


def _answered_ends(rng: np.random.Generator) -> list[str]:
    """Returns the ends of answered lookups: seven in ten come from the resolver's cache."""
    cached = rng.random(POOL_SIZE) < 0.7
    sigma, mean = np.where(cached, 0.5, 0.8), np.where(cached, -0.9, 3.2)
    took = np.exp(rng.standard_normal(POOL_SIZE) * sigma + mean)
    return [_format_line_end(hit, ms) for hit, ms in zip(cached.tolist(), took.tolist(), strict=True)]


def _failed_ends(rng: np.random.Generator) -> list[str]:
    """Returns the ends of failed lookups: the resolver gave up after two to five seconds."""
    return [_format_line_end(False, ms) for ms in (2000 + rng.random(POOL_SIZE) * 3000).tolist()]


def _format_line_end(cached: bool, ms: float) -> str:
    return format_members(cached=cached, duration_ms=round(ms, 3)) + "}\n"
