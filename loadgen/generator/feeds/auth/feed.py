"""Authentication: who logged on where, how, and whether it was let in.

People work at their own stations and reach servers from there, administrators more than others; service accounts log on
to servers only. Now and then somebody outside tries one account after the other at one gateway, many times a minute:
a burst of failures, in which a guess may be right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, Named
from watchfloor.loadgen.generator.synthesis.json_fragments import (
    Value,
    beginnings,
    joined,
    member,
    members,
    object_members,
)
from watchfloor.loadgen.generator.synthesis.network_model import organisation
from watchfloor.loadgen.generator.synthesis.sampling import NUMBERS, TABLE_BITS, Ints, draw, number, quantiles, zipf
from watchfloor.loadgen.generator.synthesis.time_sampler import Micros, Rhythm

# People log on when they come, and again after lunch.
RHYTHM = Rhythm((3, 4, 3, 3, 3, 4, 9, 22, 28, 17, 12, 11, 9, 18, 13, 11, 10, 8, 6, 4, 4, 3, 3, 3), weekend=0.2)
POPULAR, MIDDLING, RARE = "svc.backup", "temp.auditor", "old.admin"
SERVERS, GATEWAYS, ATTACKERS = 180, 6, 64
PERSON, ADMIN, SERVICE = range(3)
ACCOUNTS = ("person", "admin", "service")
OUTCOMES = (("success", None), ("failure", "bad_password"), ("failure", "account_locked"), ("failure", "expired"),
            ("failure", "no_second_factor"))  # fmt: skip
USUAL, UNDER_ATTACK = (0.957, 0.033, 0.004, 0.003, 0.003), (0.012, 0.87, 0.1, 0.0, 0.018)
BURST_EVERY, BURST_LEAST, BURST_MOST = 1_500, 10, 80
"""A burst begins in so many events on average, and has so many."""


@dataclass(frozen=True)
class Way:
    """``local``: at the account's own station; ``shares``: of the logons of a person, an administrator, a service."""

    logon_type: str
    package: str
    process: str
    shares: tuple[float, float, float]
    local: bool = False
    elevated: bool = False
    mfa: bool = False


WAYS = (
    Way("interactive", "kerberos", "winlogon", (0.16, 0.08, 0.0), local=True),
    Way("unlock", "kerberos", "winlogon", (0.24, 0.10, 0.0), local=True),
    Way("network", "kerberos", "lsass", (0.41, 0.30, 0.52)),
    Way("network", "ntlm", "lsass", (0.07, 0.05, 0.08)),
    Way("remote", "kerberos", "termservice", (0.02, 0.12, 0.0), mfa=True),
    Way("remote", "publickey", "sshd", (0.01, 0.19, 0.12)),
    Way("remote", "password", "sshd", (0.02, 0.04, 0.0)),
    Way("remote", "password", "vpn", (0.06, 0.02, 0.0), mfa=True),
    Way("elevation", "password", "sudo", (0.01, 0.10, 0.0), local=True, elevated=True),
    Way("service", "kerberos", "services", (0.0, 0.0, 0.18), elevated=True),
    Way("batch", "kerberos", "taskhost", (0.0, 0.0, 0.10)),
)
GUESSED = next(i for i, way in enumerate(WAYS) if way.process == "vpn")


@dataclass(frozen=True)
class Vocabulary:
    """Fragments of JSON.

    ``hosts``: servers, gateways, then each account's own station. ``places``: where from, none, then each account's
    station, then the attackers. ``ports`` and ``ends`` have that of nothing last. ``outcomes``: by ``OUTCOMES``.
    ``way_table`` has a table of quantiles for each kind of account; ``kind_of`` is per account.
    """

    accounts: pa.Array
    ways: pa.Array
    hosts: pa.Array
    places: pa.Array
    ports: pa.Array
    outcomes: pa.Array
    ends: pa.Array
    account_table: Ints
    way_table: Ints
    host_table: Ints
    usual_table: Ints
    attack_table: Ints
    kind_of: Ints
    local: np.ndarray


@cache
def build_feed() -> EventFeed:
    words = vocabulary()
    return EventFeed(
        source="auth.events",
        main="user",
        popular=Named(POPULAR, 0),
        middling=Named(MIDDLING, len(words.accounts) - 2),
        rare=Named(RARE, len(words.accounts) - 1),
        table=words.account_table,
        rhythm=RHYTHM,
        stream=(3,),
        lines=lines,
    )


def lines(rng: np.random.Generator, times: Micros, accounts: Ints) -> pa.StringArray:
    size, words = len(times), vocabulary()
    ways = words.way_table[(words.kind_of[accounts] << TABLE_BITS) + rng.integers(0, 1 << TABLE_BITS, size)]
    local = words.local[ways]
    hosts = np.where(local, SERVERS + GATEWAYS + accounts, draw(rng, words.host_table, size))
    places = np.where(local, 0, 1 + accounts)
    outcomes = draw(rng, words.usual_table, size)
    where, gateways, attackers = _bursts(rng, size)
    ways[where], hosts[where], places[where] = GUESSED, SERVERS + gateways, 1 + len(words.accounts) + attackers
    outcomes[where] = draw(rng, words.attack_table, len(where))
    return joined(
        [
            *beginnings(times),
            words.accounts.take(pa.array(accounts)),
            words.hosts.take(pa.array(hosts)),
            words.ways.take(pa.array(ways)),
            words.places.take(pa.array(places)),
            words.ports.take(pa.array(np.where(places == 0, NUMBERS, number(rng, size)))),
            words.outcomes.take(pa.array(outcomes)),
            words.ends.take(pa.array(np.where(outcomes == 0, number(rng, size), NUMBERS))),
        ]
    )


def _bursts(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The events of bursts: which they are, at which gateway, and by whom. Two thirds of the events from the beginning
    of a burst to its end are its own."""
    starts = rng.integers(0, max(1, size), rng.poisson(size / BURST_EVERY))
    lengths = rng.integers(BURST_LEAST, BURST_MOST + 1, len(starts))
    gaps = rng.integers(1, 3, (len(starts), BURST_MOST))
    places = starts[:, None] + np.cumsum(gaps, axis=1)
    inside = (np.arange(BURST_MOST) < lengths[:, None]) & (places < size)
    rows, _ = np.nonzero(inside)
    where, last = np.unique(places[inside], return_index=True)
    gateways, attackers = rng.integers(0, GATEWAYS, len(starts)), rng.integers(0, ATTACKERS, len(starts))
    return where, gateways[rows[last]], attackers[rows[last]]


@cache
def vocabulary() -> Vocabulary:
    rng = np.random.Generator(np.random.PCG64(20_260_111))
    there = organisation()
    people = list({user: client for user, client in zip(there.users, there.clients, strict=True) if user}.items())
    services = [f"svc.{what}{i:02}" for what in ("web", "sql", "scan", "mail", "build", "sync") for i in range(1, 11)]
    machines = [f"10.240.{i // 100}.{10 + i % 100}" for i in range(len(services) + 1)]
    kinds = np.where(rng.random(len(people)) < 0.03, ADMIN, PERSON)
    accounts: list[tuple[str, int, str]] = [
        *((name, SERVICE, address) for name, address in zip(services, machines[1:], strict=True)),
        *((name, int(kind), address) for (name, address), kind in zip(people, kinds, strict=True)),
    ]
    accounts = [accounts[i] for i in rng.permutation(len(accounts))]
    accounts = [
        (POPULAR, SERVICE, machines[0]),
        *accounts,
        (MIDDLING, PERSON, "10.15.255.20"),
        (RARE, ADMIN, "10.15.255.21"),
    ]
    share = zipf(len(accounts), 0.7)
    share[0] = share[-2:] = 0  # they are dealt out
    shares = np.array([way.shares for way in WAYS]).T
    return Vocabulary(
        accounts=pa.array(
            [object_members(user=name, domain="CORP", account=ACCOUNTS[kind]) for name, kind, _ in accounts]
        ),
        ways=pa.array([_way(way) for way in WAYS]),
        hosts=members("host", _hosts(len(accounts))),
        places=members("src_ip", [None, *(address for _, _, address in accounts), *_outside(rng)]),
        ports=members("src_port", [*(1024 + int(u * 64_512) for u in rng.random(NUMBERS)), None]),
        outcomes=pa.array([object_members(result=result, reason=reason) for result, reason in OUTCOMES]),
        ends=pa.array([_end(f"{value:#010x}") for value in rng.integers(0, 1 << 32, NUMBERS).tolist()] + [_end(None)]),
        account_table=quantiles(share),
        way_table=np.concatenate([quantiles(kind) for kind in shares]),
        host_table=quantiles(zipf(SERVERS + GATEWAYS, 0.8)),
        usual_table=quantiles(USUAL),
        attack_table=quantiles(UNDER_ATTACK),
        kind_of=np.array([kind for _, kind, _ in accounts], np.int32),
        local=np.array([way.local for way in WAYS]),
    )


def _way(way: Way) -> str:
    return object_members(
        logon_type=way.logon_type, package=way.package, process=way.process, elevated=way.elevated, mfa=way.mfa
    )


def _hosts(accounts: int) -> list[Value]:
    names = ("dc", "fs", "app", "db", "web", "mail")
    return [
        *(f"{names[i % len(names)]}-{i // len(names):02}.corp.example" for i in range(SERVERS)),
        *(f"gate-{i:02}.corp.example" for i in range(GATEWAYS)),
        *(f"ws-{i:04}.corp.example" for i in range(accounts)),
    ]


def _outside(rng: np.random.Generator) -> list[str]:
    """Addresses in the networks kept for documentation."""
    return [f"{('192.0.2', '198.51.100', '203.0.113')[i % 3]}.{1 + int(rng.random() * 253)}" for i in range(ATTACKERS)]


def _end(session: str | None) -> str:
    return member("session", session) + "}\n"
