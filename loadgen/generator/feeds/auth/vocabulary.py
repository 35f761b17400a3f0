"""The vocabulary of authentication events: accounts, hosts, logon methods and outcomes, and how often each is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.json_fragments import (
    JsonValue,
    format_member,
    format_member_array,
    format_members,
)
from watchfloor.loadgen.generator.synthesis.network_model import load_network
from watchfloor.loadgen.generator.synthesis.sampling import POOL_SIZE, IntArray, build_quantile_table, zipf_weights

POPULAR, MIDDLING, RARE = "svc.backup", "temp.auditor", "old.admin"
SERVERS, GATEWAYS, ATTACKERS = 180, 6, 64
PERSON, ADMIN, SERVICE = range(3)
ACCOUNTS = ("person", "admin", "service")
OUTCOMES = (("success", None), ("failure", "bad_password"), ("failure", "account_locked"), ("failure", "expired"),
            ("failure", "no_second_factor"))  # fmt: skip
USUAL_OUTCOMES, ATTACK_OUTCOMES = (0.957, 0.033, 0.004, 0.003, 0.003), (0.012, 0.87, 0.1, 0.0, 0.018)
BURST_INTERVAL, BURST_MIN, BURST_MAX = 1_500, 10, 80
"""Average number of events between two beginnings of bursts, and the least and greatest length of a burst."""


@dataclass(frozen=True)
class LogonMethod:
    """One way to log on.

    ``local`` is true for logons at the account's own station. ``shares`` are the method's shares of the logons of a
    person, an administrator and a service.
    """

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
GUESSED_METHOD = next(i for i, method in enumerate(LOGON_METHODS) if method.process == "vpn")


@dataclass(frozen=True)
class AuthVocabulary:
    """Arrow arrays of JSON fragments, and quantile tables (``*_table``) that turn a uniform draw into an index of them.

    ``hosts`` are servers, gateways, then each account's own station. ``addresses`` are the null, then each account's
    station, then the attackers. The last item of ``ports`` and of ``line_ends`` is the null. ``outcomes`` are in the
    order of ``OUTCOMES``. ``method_tables`` are one table after another, one for each kind of account;
    ``account_kinds`` are per account and ``local_methods`` per method.
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
def build_vocabulary() -> AuthVocabulary:
    """Returns the one vocabulary, the same for every seed."""
    rng = np.random.Generator(np.random.PCG64(20_260_111))
    network = load_network()
    people = list({user: client for user, client in zip(network.users, network.clients, strict=True) if user}.items())
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
    share[0] = share[-2:] = 0  # the named values have their own frequencies
    shares = np.array([method.shares for method in LOGON_METHODS]).T
    return AuthVocabulary(
        accounts=pa.array(
            [format_members(user=name, domain="CORP", account=ACCOUNTS[kind]) for name, kind, _ in accounts]
        ),
        methods=pa.array([_format_method(method) for method in LOGON_METHODS]),
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
        local_methods=np.array([method.local for method in LOGON_METHODS]),
    )


def _format_method(method: LogonMethod) -> str:
    return format_members(
        logon_type=method.logon_type,
        package=method.package,
        process=method.process,
        elevated=method.elevated,
        mfa=method.mfa,
    )


def _host_names(accounts: int) -> list[JsonValue]:
    names = ("dc", "fs", "app", "db", "web", "mail")
    return [
        *(f"{names[i % len(names)]}-{i // len(names):02}.corp.example" for i in range(SERVERS)),
        *(f"gate-{i:02}.corp.example" for i in range(GATEWAYS)),
        *(f"ws-{i:04}.corp.example" for i in range(accounts)),
    ]


def _attacker_addresses(rng: np.random.Generator) -> list[str]:
    """Returns addresses in the networks reserved for documentation (RFC 5737)."""
    return [f"{('192.0.2', '198.51.100', '203.0.113')[i % 3]}.{1 + int(rng.random() * 253)}" for i in range(ATTACKERS)]


def _format_line_end(session: str | None) -> str:
    return format_member("session", session) + "}\n"
