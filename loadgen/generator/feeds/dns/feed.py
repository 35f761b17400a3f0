"""DNS events: what clients ask their resolvers, and the answers.

A name has its type of record, its answers and their times to live, whoever asks; a name that does not exist does so for
all. An answer that the resolver had to look up takes longer than one that it remembers, and one that fails longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv6Address, ip_address

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, NamedValue
from watchfloor.loadgen.generator.synthesis.json_fragments import (
    build_line_starts,
    format_member_array,
    format_members,
    join_parts,
)
from watchfloor.loadgen.generator.synthesis.network_model import (
    CLIENT_COUNT,
    MIDDLING_DOMAIN,
    POPULAR_DOMAIN,
    RARE_DOMAIN,
    WordSampler,
    load_network,
)
from watchfloor.loadgen.generator.synthesis.sampling import (
    POOL_SIZE,
    IntArray,
    build_quantile_table,
    collect_distinct,
    draw_indices,
    draw_pool_indices,
    zipf_weights,
)
from watchfloor.loadgen.generator.synthesis.time_sampler import ActivityProfile, MicrosArray

# Machines ask all night, and people by day.
ACTIVITY = ActivityProfile(
    (6, 5, 5, 5, 5, 6, 8, 11, 15, 17, 17, 16, 14, 15, 17, 16, 15, 13, 11, 9, 8, 8, 7, 6), weekend_factor=0.5
)
REVERSE_NAMES, MISSING_NAMES, SERVICE_NAMES = 1_500, 1_200, 60
RESOLVERS = ("10.0.0.53", "10.4.0.53", "10.8.0.53", "fd00:8::53")

ADDRESS, ADDRESS6, BINDING, FAILED, TEXT = range(5)
LOOKUP_KINDS = ((ADDRESS, 0.6), (ADDRESS6, 0.27), (BINDING, 0.12), (FAILED, 0.007), (TEXT, 0.003))
"""How a name is asked for, and how often."""


@dataclass(frozen=True)
class DnsVocabulary:
    """``asked[name * len(WAYS) + way]`` and ``ended[failed * NUMBERS + number]`` are fragments of JSON."""

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
def build_feed() -> EventFeed:
    words = build_vocabulary()
    return EventFeed(
        source="dns.events",
        main_field="query",
        popular=NamedValue(POPULAR_DOMAIN, 0),
        middling=NamedValue(MIDDLING_DOMAIN, words.name_count - 2),
        rare=NamedValue(RARE_DOMAIN, words.name_count - 1),
        value_table=words.name_table,
        profile=ACTIVITY,
        seed_suffix=(1,),
        render_lines=render_lines,
    )


def render_lines(rng: np.random.Generator, times: MicrosArray, names: IntArray) -> pa.StringArray:
    size, words = len(times), build_vocabulary()
    ways = draw_indices(rng, words.kind_table, size)
    return join_parts(
        [
            *build_line_starts(times),
            words.clients.take(pa.array(draw_indices(rng, words.client_table, size))),
            words.ports.take(pa.array(draw_pool_indices(rng, size))),
            words.identifiers.take(pa.array(draw_pool_indices(rng, size))),
            words.lookups.take(pa.array(names * len(LOOKUP_KINDS) + ways)),
            words.line_ends.take(pa.array(draw_pool_indices(rng, size) + np.where(ways == FAILED, POOL_SIZE, 0))),
        ]
    )


@cache
def build_vocabulary() -> DnsVocabulary:
    rng = np.random.Generator(np.random.PCG64(20_260_109))
    there = load_network()
    outside = [_site_lookups(rng, name, server) for name, server in zip(there.domains, there.servers, strict=True)]
    found = [*outside[1:-2], *_reverse_lookups(rng), *_service_lookups(), *_missing_lookups(rng)]
    order = rng.permutation(len(found))
    ranked = [outside[0], *(found[i] for i in order), *outside[-2:]]
    share = zipf_weights(len(ranked), 1.0)
    share[0] = share[-2:] = 0  # they are dealt out
    clients = [
        format_members(client_ip=client, server_ip=RESOLVERS[i % len(RESOLVERS)])
        for i, client in enumerate(there.clients)
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
    asked = 12 + len(query) + 2 + 4  # header, name, type and class
    # Each answer points back to the name, and has its type, class, time to live and length.
    answered = asked + sum(12 + _answer_length(answer) for answer in answers)
    return format_members(
        proto=proto,
        query=query,
        qtype=qtype,
        rcode=rcode,
        answers=list(answers) or None,
        ttls=[ttl] * len(answers) or None,
        answer_count=len(answers),
        request_bytes=asked,
        response_bytes=answered,
    )


def _answer_length(answer: str) -> int:
    try:
        return len(ip_address(answer).packed)
    except ValueError:
        return len(answer) + 2


def _site_lookups(rng: np.random.Generator, name: str, server: str) -> list[str]:
    """A site: one to three addresses, half of all have IPv6 ones."""
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
    """A name that is asked for in one way only, whatever is drawn."""
    return [failed if way == FAILED else fragment for way, _ in LOOKUP_KINDS]


def _reverse_lookups(rng: np.random.Generator) -> list[list[str]]:
    """Clients' addresses, looked up backwards."""
    there = load_network()
    places = rng.permutation(CLIENT_COUNT)[:REVERSE_NAMES].tolist()
    names = {place: ip_address(there.clients[place]).reverse_pointer for place in places}
    return [
        _repeat_lookup(
            _format_lookup(name, "PTR", answers=[f"ws-{place:04}.corp.example"], ttl=1200),
            _format_lookup(name, "PTR", "SERVFAIL"),
        )
        for place, name in names.items()
    ]


def _service_lookups() -> list[list[str]]:
    """Where the organisation's own servers are."""
    found = []
    for i in range(SERVICE_NAMES):
        service, port = (("_ldap", 389), ("_kerberos", 88), ("_gc", 3268), ("_kpasswd", 464))[i % 4]
        name = f"{service}._tcp.site-{i // 4:02}.corp.example"
        hosts = [f"0 100 {port} dc-{i // 4:02}{letter}.corp.example" for letter in "ab"]
        found.append(
            _repeat_lookup(_format_lookup(name, "SRV", answers=hosts, ttl=600), _format_lookup(name, "SRV", "SERVFAIL"))
        )
    return found


def _missing_lookups(rng: np.random.Generator) -> list[list[str]]:
    """Names that do not exist: mistyped ones, and those of devices that look for what is not there."""
    words, there = WordSampler(rng), set(load_network().domains)
    drawn = collect_distinct(
        lambda: (
            f"{words.pick_item(('wpad', 'www', 'printer', 'isatap', words.make_word()))}.{words.make_word(2, 4)}.example"
        ),
        2 * MISSING_NAMES,
    )
    names = [name for name in drawn if name not in there][:MISSING_NAMES]
    failed = [(_format_lookup(name, "A", "NXDOMAIN"), _format_lookup(name, "AAAA", "NXDOMAIN")) for name in names]
    return [
        [old, new, old, _format_lookup(name, "A", "SERVFAIL"), old]
        for name, (old, new) in zip(names, failed, strict=True)
    ]


def _answered_ends(rng: np.random.Generator) -> list[str]:
    """Remembered by the resolver, or not."""
    remembered = rng.random(POOL_SIZE) < 0.7
    sigma, mean = np.where(remembered, 0.5, 0.8), np.where(remembered, -0.9, 3.2)
    took = np.exp(rng.standard_normal(POOL_SIZE) * sigma + mean)
    return [_format_line_end(cached, ms) for cached, ms in zip(remembered.tolist(), took.tolist(), strict=True)]


def _failed_ends(rng: np.random.Generator) -> list[str]:
    """Given up after the resolver's time for an answer."""
    return [_format_line_end(False, ms) for ms in (2000 + rng.random(POOL_SIZE) * 3000).tolist()]


def _format_line_end(cached: bool, ms: float) -> str:
    return format_members(cached=cached, duration_ms=round(ms, 3)) + "}\n"
