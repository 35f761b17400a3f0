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

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, NamedValue
from watchfloor.loadgen.generator.synthesis.json_fragments import (
    JsonValue,
    build_line_starts,
    format_member,
    format_member_array,
    format_members,
    join_parts,
)
from watchfloor.loadgen.generator.synthesis.network_model import load_network
from watchfloor.loadgen.generator.synthesis.sampling import (
    POOL_SIZE,
    TABLE_BITS,
    IntArray,
    build_quantile_table,
    draw_indices,
    draw_pool_indices,
    zipf_weights,
)
from watchfloor.loadgen.generator.synthesis.time_sampler import ActivityProfile, MicrosArray

# People log on when they come, and again after lunch.
ACTIVITY = ActivityProfile(
    (3, 4, 3, 3, 3, 4, 9, 22, 28, 17, 12, 11, 9, 18, 13, 11, 10, 8, 6, 4, 4, 3, 3, 3), weekend_factor=0.2
)
POPULAR, MIDDLING, RARE = "svc.backup", "temp.auditor", "old.admin"
SERVERS, GATEWAYS, ATTACKERS = 180, 6, 64
PERSON, ADMIN, SERVICE = range(3)
ACCOUNTS = ("person", "admin", "service")
OUTCOMES = (("success", None), ("failure", "bad_password"), ("failure", "account_locked"), ("failure", "expired"),
            ("failure", "no_second_factor"))  # fmt: skip
USUAL_OUTCOMES, ATTACK_OUTCOMES = (0.957, 0.033, 0.004, 0.003, 0.003), (0.012, 0.87, 0.1, 0.0, 0.018)
BURST_INTERVAL, BURST_MIN, BURST_MAX = 1_500, 10, 80
"""A burst begins in so many events on average, and has so many."""


@dataclass(frozen=True)
class LogonMethod:
    """``local``: at the account's own station; ``shares``: of the logons of a person, an administrator, a service."""

    logon_type: str
    package: str
    process: str
    shares: tuple[float, float, float]
    local: bool = False
    elevated: bool = False
    mfa: bool = False


LOGON_METHODS = (
    LogonMethod("interactive", "kerberos", "winlogon", (0.16, 0.08, 0.0), local=True),
    LogonMethod("unlock", "kerberos", "winlogon", (0.24, 0.10, 0.0), local=True),
    LogonMethod("network", "kerberos", "lsass", (0.41, 0.30, 0.52)),
    LogonMethod("network", "ntlm", "lsass", (0.07, 0.05, 0.08)),
    LogonMethod("remote", "kerberos", "termservice", (0.02, 0.12, 0.0), mfa=True),
    LogonMethod("remote", "publickey", "sshd", (0.01, 0.19, 0.12)),
    LogonMethod("remote", "password", "sshd", (0.02, 0.04, 0.0)),
    LogonMethod("remote", "password", "vpn", (0.06, 0.02, 0.0), mfa=True),
    LogonMethod("elevation", "password", "sudo", (0.01, 0.10, 0.0), local=True, elevated=True),
    LogonMethod("service", "kerberos", "services", (0.0, 0.0, 0.18), elevated=True),
    LogonMethod("batch", "kerberos", "taskhost", (0.0, 0.0, 0.10)),
)
GUESSED_METHOD = next(i for i, way in enumerate(LOGON_METHODS) if way.process == "vpn")


@dataclass(frozen=True)
class AuthVocabulary:
    """Fragments of JSON.

    ``hosts``: servers, gateways, then each account's own station. ``places``: where from, none, then each account's
    station, then the attackers. ``ports`` and ``ends`` have that of nothing last. ``outcomes``: by ``OUTCOMES``.
    ``way_table`` has a table of quantiles for each kind of account; ``kind_of`` is per account.
    """

    accounts: pa.Array
    methods: pa.Array
    hosts: pa.Array
    addresses: pa.Array
    ports: pa.Array
    outcomes: pa.Array
    line_ends: pa.Array
    account_table: IntArray
    method_tables: IntArray
    host_table: IntArray
    usual_table: IntArray
    attack_table: IntArray
    account_kinds: IntArray
    local_methods: np.ndarray


@cache
def build_feed() -> EventFeed:
    words = build_vocabulary()
    return EventFeed(
        source="auth.events",
        main_field="user",
        popular=NamedValue(POPULAR, 0),
        middling=NamedValue(MIDDLING, len(words.accounts) - 2),
        rare=NamedValue(RARE, len(words.accounts) - 1),
        value_table=words.account_table,
        profile=ACTIVITY,
        seed_suffix=(3,),
        render_lines=render_lines,
    )


def render_lines(rng: np.random.Generator, times: MicrosArray, accounts: IntArray) -> pa.StringArray:
    size, words = len(times), build_vocabulary()
    ways = words.method_tables[(words.account_kinds[accounts] << TABLE_BITS) + rng.integers(0, 1 << TABLE_BITS, size)]
    local = words.local_methods[ways]
    hosts = np.where(local, SERVERS + GATEWAYS + accounts, draw_indices(rng, words.host_table, size))
    places = np.where(local, 0, 1 + accounts)
    outcomes = draw_indices(rng, words.usual_table, size)
    where, gateways, attackers = _draw_bursts(rng, size)
    ways[where], hosts[where], places[where] = GUESSED_METHOD, SERVERS + gateways, 1 + len(words.accounts) + attackers
    outcomes[where] = draw_indices(rng, words.attack_table, len(where))
    return join_parts(
        [
            *build_line_starts(times),
            words.accounts.take(pa.array(accounts)),
            words.hosts.take(pa.array(hosts)),
            words.methods.take(pa.array(ways)),
            words.addresses.take(pa.array(places)),
            words.ports.take(pa.array(np.where(places == 0, POOL_SIZE, draw_pool_indices(rng, size)))),
            words.outcomes.take(pa.array(outcomes)),
            words.line_ends.take(pa.array(np.where(outcomes == 0, draw_pool_indices(rng, size), POOL_SIZE))),
        ]
    )


def _draw_bursts(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The events of bursts: which they are, at which gateway, and by whom. Two thirds of the events from the beginning
    of a burst to its end are its own."""
    starts = rng.integers(0, max(1, size), rng.poisson(size / BURST_INTERVAL))
    lengths = rng.integers(BURST_MIN, BURST_MAX + 1, len(starts))
    gaps = rng.integers(1, 3, (len(starts), BURST_MAX))
    places = starts[:, None] + np.cumsum(gaps, axis=1)
    inside = (np.arange(BURST_MAX) < lengths[:, None]) & (places < size)
    rows, _ = np.nonzero(inside)
    where, last = np.unique(places[inside], return_index=True)
    gateways, attackers = rng.integers(0, GATEWAYS, len(starts)), rng.integers(0, ATTACKERS, len(starts))
    return where, gateways[rows[last]], attackers[rows[last]]


@cache
def build_vocabulary() -> AuthVocabulary:
    rng = np.random.Generator(np.random.PCG64(20_260_111))
    there = load_network()
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
    share = zipf_weights(len(accounts), 0.7)
    share[0] = share[-2:] = 0  # they are dealt out
    shares = np.array([way.shares for way in LOGON_METHODS]).T
    return AuthVocabulary(
        accounts=pa.array(
            [format_members(user=name, domain="CORP", account=ACCOUNTS[kind]) for name, kind, _ in accounts]
        ),
        methods=pa.array([_format_method(way) for way in LOGON_METHODS]),
        hosts=format_member_array("host", _host_names(len(accounts))),
        addresses=format_member_array(
            "src_ip", [None, *(address for _, _, address in accounts), *_attacker_addresses(rng)]
        ),
        ports=format_member_array("src_port", [*(1024 + int(u * 64_512) for u in rng.random(POOL_SIZE)), None]),
        outcomes=pa.array([format_members(result=result, reason=reason) for result, reason in OUTCOMES]),
        line_ends=pa.array(
            [_format_line_end(f"{value:#010x}") for value in rng.integers(0, 1 << 32, POOL_SIZE).tolist()]
            + [_format_line_end(None)]
        ),
        account_table=build_quantile_table(share),
        method_tables=np.concatenate([build_quantile_table(kind) for kind in shares]),
        host_table=build_quantile_table(zipf_weights(SERVERS + GATEWAYS, 0.8)),
        usual_table=build_quantile_table(USUAL_OUTCOMES),
        attack_table=build_quantile_table(ATTACK_OUTCOMES),
        account_kinds=np.array([kind for _, kind, _ in accounts], np.int32),
        local_methods=np.array([way.local for way in LOGON_METHODS]),
    )


def _format_method(way: LogonMethod) -> str:
    return format_members(
        logon_type=way.logon_type, package=way.package, process=way.process, elevated=way.elevated, mfa=way.mfa
    )


def _host_names(accounts: int) -> list[JsonValue]:
    names = ("dc", "fs", "app", "db", "web", "mail")
    return [
        *(f"{names[i % len(names)]}-{i // len(names):02}.corp.example" for i in range(SERVERS)),
        *(f"gate-{i:02}.corp.example" for i in range(GATEWAYS)),
        *(f"ws-{i:04}.corp.example" for i in range(accounts)),
    ]


def _attacker_addresses(rng: np.random.Generator) -> list[str]:
    """Addresses in the networks kept for documentation."""
    return [f"{('192.0.2', '198.51.100', '203.0.113')[i % 3]}.{1 + int(rng.random() * 253)}" for i in range(ATTACKERS)]


def _format_line_end(session: str | None) -> str:
    return format_member("session", session) + "}\n"
