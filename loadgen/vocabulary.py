"""What the generated proxy events are made of: names, addresses, paths and agents, and how often each is drawn.

The vocabulary is the same for every seed (it has a seed of its own), so that events of different seeds look alike and
their values can be named in documents. Nothing in it exists: domains end in ``.example``, destinations lie in the
networks kept for benchmarks and documentation (198.18.0.0/15, 2001:db8::/32), clients in 10.0.0.0/8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

POPULAR = "portal.harborline.example"
MIDDLING = "reports.saltmarsh.example"
RARE = "drop.nightjar.example"
DOMAINS, CLIENTS, PATHS, QUERIES, AGENTS, REFERRERS = 6_000, 4_000, 12_000, 16_000, 240, 8_000
TABLE_BITS = 17  # draws are looked up in tables of 2**17 quantiles: a share below 1 in 131,072 is never drawn
NUMBERS = 1 << 16

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Vocabulary:
    """Arrow arrays of JSON fragments, and tables (``*_table``) that turn a uniform draw into an index of them.

    ``category_of`` (per domain) and ``type_of`` (per path) tie fields together that belong together; ``tails`` holds
    the last four fields for every (content type, denied, category, cached).
    """

    src_ip: pa.Array
    src_port: pa.Array
    user: pa.Array
    dest_ip: pa.Array
    port_method: pa.Array
    domain: pa.Array
    path: pa.Array
    query: pa.Array
    status: pa.Array
    bytes_in: pa.Array
    bytes_out: pa.Array
    duration: pa.Array
    agent: pa.Array
    referrer: pa.Array
    tails: pa.Array
    client_table: Ints
    domain_table: Ints
    method_table: Ints
    path_table: Ints
    query_table: Ints
    status_table: Ints
    agent_table: Ints
    referrer_table: Ints
    agent_of: Ints
    category_of: Ints
    type_of: Ints
    denied_status: int

    @property
    def popular(self) -> int:
        return 0

    @property
    def middling(self) -> int:
        return DOMAINS - 2

    @property
    def rare(self) -> int:
        return DOMAINS - 1


CATEGORIES = ("business", "news", "search", "social", "streaming", "shopping", "cloud", "advertising", "education",
              "government", "software", "mail", "uncategorized", "phishing")  # fmt: skip
CONTENT_TYPES = {
    "html": "text/html; charset=utf-8", "json": "application/json", "js": "application/javascript", "css": "text/css",
    "png": "image/png", "jpg": "image/jpeg", "woff2": "font/woff2", "svg": "image/svg+xml", "mp4": "video/mp4",
    "zip": "application/zip",
}  # fmt: skip
METHODS = (("GET", 0.80), ("POST", 0.155), ("HEAD", 0.02), ("PUT", 0.015), ("OPTIONS", 0.007), ("DELETE", 0.003))
STATUSES = ((200, 0.79), (304, 0.08), (302, 0.035), (404, 0.03), (403, 0.03), (204, 0.015), (206, 0.008), (500, 0.006),
            (401, 0.004), (503, 0.002))  # fmt: skip
PORTS = ((443, 0.9), (80, 0.08), (8080, 0.02))
SYLLABLES = tuple(a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "ol"))
WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
BROWSERS = (
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/{{v}}.0.0.0 Safari/537.36",
    f"Mozilla/5.0 (Linux; Android 14; K) {WEBKIT} Chrome/{{v}}.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:{v}.0) Gecko/20100101 Firefox/{v}.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:{v}.0) Gecko/20100101 Firefox/{v}.0",
    "updater/{v}.{c} (build {b})",
    "agent-{b}/{c}.{v}",
)


@cache
def vocabulary() -> Vocabulary:
    """The one vocabulary; takes less than half a second to make."""
    rng = np.random.Generator(np.random.PCG64(20_260_108))

    def pick(words: Sequence[str]) -> str:
        return words[int(rng.random() * len(words))]

    def word(least: int = 2, most: int = 3) -> str:
        return "".join(pick(SYLLABLES) for _ in range(least + int(rng.random() * (most - least + 1))))

    domains = _distinct(
        lambda: f"{pick(('www', 'api', 'cdn', 'img', 'app', 'static'))}.{word(2, 3)}.example", DOMAINS - 3
    )
    domains = [POPULAR, *domains, MIDDLING, RARE]
    clients = _distinct(lambda: str(IPv4Address((10 << 24) + int(rng.random() * (1 << 20)))), CLIENTS)
    users = [f"{word(1, 2)}.{word(2, 3)}" if rng.random() < 0.7 else None for _ in clients]
    servers = [_server(i) for i in range(DOMAINS)]
    kinds = tuple(CONTENT_TYPES)
    path_kinds = (rng.random(PATHS) ** 1.6 * len(kinds)).astype(np.int32)
    paths = [
        "/" + "/".join(word(1, 3) for _ in range(1 + k % 3)) + f"/{word()}.{kinds[k]}" for k in path_kinds.tolist()
    ]
    queries = [f"id={int(rng.random() * 10**7)}&{word(1, 1)}={word()}" for _ in range(QUERIES)]
    agents = [
        pick(BROWSERS).format(v=90 + int(rng.random() * 45), b=int(rng.random() * 7000), c=int(rng.random() * 200))
        for _ in range(AGENTS)
    ]
    referrers = [
        f"https://{pick(domains[:400])}{pick(paths[:4000]) if rng.random() < 0.6 else '/'}" for _ in range(REFERRERS)
    ]
    tails = [
        f"{_member('content_type', CONTENT_TYPES[kind])}{_member('action', action)}{_member('category', category)}"
        f"{_member('cached', cached)}}}\n"
        for kind in kinds
        for action in ("allowed", "denied")
        for category in CATEGORIES
        for cached in (False, True)
    ]
    categories = (rng.random(DOMAINS) ** 1.3 * len(CATEGORIES)).astype(np.int32)
    categories[0], categories[-1] = CATEGORIES.index("business"), CATEGORIES.index("phishing")
    domain_share = _zipf(DOMAINS, 1.0)
    domain_share[0] = domain_share[-2:] = 0  # the three named ones are dealt out by the generator
    return Vocabulary(
        src_ip=_members("src_ip", clients),
        src_port=_members("src_port", [1024 + int(u * 64_512) for u in rng.random(NUMBERS)]),
        user=_members("user", [None, *users]),
        dest_ip=_members("dest_ip", servers),
        port_method=pa.array([_member("dest_port", p) + _member("method", m) for p, _ in PORTS for m, _ in METHODS]),
        domain=_members("domain", domains),
        path=_members("path", paths),
        query=_members("query", [None, *queries]),
        status=_members("status", [s for s, _ in STATUSES]),
        bytes_in=_members("bytes_in", np.exp(rng.standard_normal(NUMBERS) * 0.7 + 6.6).astype(int).tolist()),
        bytes_out=_members("bytes_out", np.exp(rng.standard_normal(NUMBERS) * 1.6 + 9.0).astype(int).tolist()),
        duration=_members("duration_ms", np.exp(rng.standard_normal(NUMBERS) * 1.1 + 4.2).astype(int).tolist()),
        agent=_members("user_agent", agents),
        referrer=_members("referrer", [None, *referrers]),
        tails=pa.array(tails),
        client_table=_table(_zipf(CLIENTS, 0.6)),
        domain_table=_table(domain_share),
        method_table=_table(np.array([p * m for _, p in PORTS for _, m in METHODS])),
        path_table=_table(_zipf(PATHS, 0.8)),
        query_table=_table(_with_null(0.6, _zipf(QUERIES, 0.4))),
        status_table=_table(np.array([share for _, share in STATUSES])),
        agent_table=_table(_zipf(AGENTS, 0.9)),
        referrer_table=_table(_with_null(0.65, _zipf(REFERRERS, 0.7))),
        agent_of=(rng.random(CLIENTS) ** 2 * AGENTS).astype(np.int32),
        category_of=categories,
        type_of=path_kinds,
        denied_status=[s for s, _ in STATUSES].index(403),
    )


def _server(i: int) -> str:
    """The address of domain ``i``: one in eight is IPv6."""
    return str(
        IPv6Address((0x20010DB8 << 96) + i * 7919) if i % 8 == 5 else IPv4Address((198 << 24) + (18 << 16) + 1 + i * 21)
    )


def _distinct(make: Callable[[], str], n: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found[make()] = None
    return list(found)


def _member(name: str, value: str | int | bool | None) -> str:
    """One member of the JSON object with the comma before it; ``name`` needs no escapes."""
    return f',"{name}":{orjson.dumps(value).decode()}'


def _members(name: str, values: Sequence[str | int | None]) -> pa.Array:
    return pa.array([_member(name, value) for value in values], pa.string())


def _zipf(n: int, exponent: float) -> npt.NDArray[np.float64]:
    return np.power(np.arange(1, n + 1, dtype=np.float64), -exponent)


def _with_null(share: float, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """``weights`` with an item before them (the null) that has ``share`` of the whole."""
    return np.concatenate(([share], weights / weights.sum() * (1 - share)))


def _table(weights: npt.NDArray[np.float64]) -> Ints:
    """Quantiles: entry q of 2**TABLE_BITS is the item that a uniform draw of (q + ½) / 2**TABLE_BITS falls on."""
    size = 1 << TABLE_BITS
    edges = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(edges, (np.arange(size) + 0.5) / size, side="right"), len(weights) - 1).astype(
        np.int32
    )
