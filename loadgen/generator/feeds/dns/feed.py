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

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, Named
from watchfloor.loadgen.generator.synthesis.json_fragments import beginnings, joined, members, object_members
from watchfloor.loadgen.generator.synthesis.network_model import CLIENTS, MIDDLING, POPULAR, RARE, Words, organisation
from watchfloor.loadgen.generator.synthesis.sampling import NUMBERS, Ints, distinct, draw, number, quantiles, zipf
from watchfloor.loadgen.generator.synthesis.time_sampler import Micros, Rhythm

# Machines ask all night, and people by day.
RHYTHM = Rhythm((6, 5, 5, 5, 5, 6, 8, 11, 15, 17, 17, 16, 14, 15, 17, 16, 15, 13, 11, 9, 8, 8, 7, 6), weekend=0.5)
REVERSE, MISSING, SERVICES = 1_500, 1_200, 60
RESOLVERS = ("10.0.0.53", "10.4.0.53", "10.8.0.53", "fd00:8::53")

ADDRESS, ADDRESS6, BINDING, FAILED, TEXT = range(5)
WAYS = ((ADDRESS, 0.6), (ADDRESS6, 0.27), (BINDING, 0.12), (FAILED, 0.007), (TEXT, 0.003))
"""How a name is asked for, and how often."""


@dataclass(frozen=True)
class Vocabulary:
    """``asked[name * len(WAYS) + way]`` and ``ended[failed * NUMBERS + number]`` are fragments of JSON."""

    clients: pa.Array
    ports: pa.Array
    identifiers: pa.Array
    asked: pa.Array
    ended: pa.Array
    client_table: Ints
    name_table: Ints
    way_table: Ints
    names: int


@cache
def build_feed() -> EventFeed:
    words = vocabulary()
    return EventFeed(
        source="dns.events",
        main="query",
        popular=Named(POPULAR, 0),
        middling=Named(MIDDLING, words.names - 2),
        rare=Named(RARE, words.names - 1),
        table=words.name_table,
        rhythm=RHYTHM,
        stream=(1,),
        lines=lines,
    )


def lines(rng: np.random.Generator, times: Micros, names: Ints) -> pa.StringArray:
    size, words = len(times), vocabulary()
    ways = draw(rng, words.way_table, size)
    return joined(
        [
            *beginnings(times),
            words.clients.take(pa.array(draw(rng, words.client_table, size))),
            words.ports.take(pa.array(number(rng, size))),
            words.identifiers.take(pa.array(number(rng, size))),
            words.asked.take(pa.array(names * len(WAYS) + ways)),
            words.ended.take(pa.array(number(rng, size) + np.where(ways == FAILED, NUMBERS, 0))),
        ]
    )


@cache
def vocabulary() -> Vocabulary:
    rng = np.random.Generator(np.random.PCG64(20_260_109))
    there = organisation()
    outside = [_host(rng, name, server) for name, server in zip(there.domains, there.servers, strict=True)]
    found = [*outside[1:-2], *_reverse(rng), *_services(), *_missing(rng)]
    order = rng.permutation(len(found))
    ranked = [outside[0], *(found[i] for i in order), *outside[-2:]]
    share = zipf(len(ranked), 1.0)
    share[0] = share[-2:] = 0  # they are dealt out
    clients = [
        object_members(client_ip=client, server_ip=RESOLVERS[i % len(RESOLVERS)])
        for i, client in enumerate(there.clients)
    ]
    return Vocabulary(
        clients=pa.array(clients),
        ports=members("client_port", [1024 + int(u * 64_512) for u in rng.random(NUMBERS)]),
        identifiers=members("query_id", rng.permutation(NUMBERS).tolist()),
        asked=pa.array([fragment for fragments in ranked for fragment in fragments]),
        ended=pa.array([*_ended(rng), *_failed(rng)]),
        client_table=quantiles(zipf(CLIENTS, 0.6)),
        name_table=quantiles(share),
        way_table=quantiles([share for _, share in WAYS]),
        names=len(ranked),
    )


def _asked(
    query: str, qtype: str, rcode: str = "NOERROR", answers: Sequence[str] = (), ttl: int = 0, proto: str = "udp"
) -> str:
    asked = 12 + len(query) + 2 + 4  # header, name, type and class
    # Each answer points back to the name, and has its type, class, time to live and length.
    answered = asked + sum(12 + _length(answer) for answer in answers)
    return object_members(
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


def _length(answer: str) -> int:
    try:
        return len(ip_address(answer).packed)
    except ValueError:
        return len(answer) + 2


def _host(rng: np.random.Generator, name: str, server: str) -> list[str]:
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
        _asked(name, "A", answers=old, ttl=ttl),
        _asked(name, "AAAA", answers=new, ttl=ttl),
        _asked(name, "HTTPS"),
        _asked(name, "A", "SERVFAIL"),
        _asked(name, "TXT", answers=[f"v=spf1 ip4:{old[0]}/28 -all", f"site={number:032x}"], ttl=ttl, proto="tcp"),
    ]


def _same(fragment: str, failed: str) -> list[str]:
    """A name that is asked for in one way only, whatever is drawn."""
    return [failed if way == FAILED else fragment for way, _ in WAYS]


def _reverse(rng: np.random.Generator) -> list[list[str]]:
    """Clients' addresses, looked up backwards."""
    there = organisation()
    places = rng.permutation(CLIENTS)[:REVERSE].tolist()
    names = {place: ip_address(there.clients[place]).reverse_pointer for place in places}
    return [
        _same(
            _asked(name, "PTR", answers=[f"ws-{place:04}.corp.example"], ttl=1200),
            _asked(name, "PTR", "SERVFAIL"),
        )
        for place, name in names.items()
    ]


def _services() -> list[list[str]]:
    """Where the organisation's own servers are."""
    found = []
    for i in range(SERVICES):
        service, port = (("_ldap", 389), ("_kerberos", 88), ("_gc", 3268), ("_kpasswd", 464))[i % 4]
        name = f"{service}._tcp.site-{i // 4:02}.corp.example"
        hosts = [f"0 100 {port} dc-{i // 4:02}{letter}.corp.example" for letter in "ab"]
        found.append(_same(_asked(name, "SRV", answers=hosts, ttl=600), _asked(name, "SRV", "SERVFAIL")))
    return found


def _missing(rng: np.random.Generator) -> list[list[str]]:
    """Names that do not exist: mistyped ones, and those of devices that look for what is not there."""
    words, there = Words(rng), set(organisation().domains)
    drawn = distinct(
        lambda: f"{words.pick(('wpad', 'www', 'printer', 'isatap', words.word()))}.{words.word(2, 4)}.example",
        2 * MISSING,
    )
    names = [name for name in drawn if name not in there][:MISSING]
    failed = [(_asked(name, "A", "NXDOMAIN"), _asked(name, "AAAA", "NXDOMAIN")) for name in names]
    return [[old, new, old, _asked(name, "A", "SERVFAIL"), old] for name, (old, new) in zip(names, failed, strict=True)]


def _ended(rng: np.random.Generator) -> list[str]:
    """Remembered by the resolver, or not."""
    remembered = rng.random(NUMBERS) < 0.7
    sigma, mean = np.where(remembered, 0.5, 0.8), np.where(remembered, -0.9, 3.2)
    took = np.exp(rng.standard_normal(NUMBERS) * sigma + mean)
    return [_end(cached, ms) for cached, ms in zip(remembered.tolist(), took.tolist(), strict=True)]


def _failed(rng: np.random.Generator) -> list[str]:
    """Given up after the resolver's time for an answer."""
    return [_end(False, ms) for ms in (2000 + rng.random(NUMBERS) * 3000).tolist()]


def _end(cached: bool, ms: float) -> str:
    return object_members(cached=cached, duration_ms=round(ms, 3)) + "}\n"
