"""The vocabulary of proxy events: addresses, paths and agents, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.json_fragments import format_member, format_member_array, format_members
from watchfloor.loadgen.generator.synthesis.network_model import (
    CLIENT_COUNT,
    DOMAIN_COUNT,
    MIDDLING_INDEX,
    POPULAR_INDEX,
    RARE_INDEX,
    SEED,
    WordSampler,
    draw_network,
)
from watchfloor.loadgen.generator.synthesis.sampling import (
    POOL_SIZE,
    IntArray,
    build_quantile_table,
    prepend_null,
    zipf_weights,
)

PATHS, QUERIES, AGENTS, REFERRERS = 12_000, 16_000, 240, 8_000


@dataclass(frozen=True)
class ProxyVocabulary:
    """Arrow arrays of JSON fragments, and quantile tables (``*_table``) that turn a uniform draw into an index of them.

    ``client_agents``, ``domain_categories`` and ``path_types`` keep fields together that belong together. ``line_ends``
    has the last four fields of every (content type, denied, category, cached).
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
    line_ends: pa.Array
    client_table: IntArray
    domain_table: IntArray
    method_table: IntArray
    path_table: IntArray
    query_table: IntArray
    status_table: IntArray
    agent_table: IntArray
    referrer_table: IntArray
    client_agents: IntArray
    domain_categories: IntArray
    path_types: IntArray
    denied_status: int


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
def build_vocabulary() -> ProxyVocabulary:
    """Returns the one vocabulary, the same for every seed. Building it takes less than half a second."""
    rng = np.random.Generator(np.random.PCG64(SEED))
    words = WordSampler(rng)
    pick, word = words.pick_item, words.make_word
    network = draw_network(words)
    domains, kinds = network.domains, tuple(CONTENT_TYPES)
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
    categories = (rng.random(DOMAIN_COUNT) ** 1.3 * len(CATEGORIES)).astype(np.int32)
    categories[0], categories[-1] = CATEGORIES.index("business"), CATEGORIES.index("phishing")
    domain_share = zipf_weights(DOMAIN_COUNT, 1.0)
    domain_share[[POPULAR_INDEX, MIDDLING_INDEX, RARE_INDEX]] = 0  # the named values have their own frequencies
    return ProxyVocabulary(
        src_ip=format_member_array("src_ip", network.clients),
        src_port=format_member_array("src_port", [1024 + int(u * 64_512) for u in rng.random(POOL_SIZE)]),
        user=format_member_array("user", [None, *network.users]),
        dest_ip=format_member_array("dest_ip", network.servers),
        port_method=pa.array(
            [format_member("dest_port", p) + format_member("method", m) for p, _ in PORTS for m, _ in METHODS]
        ),
        domain=format_member_array("domain", domains),
        path=format_member_array("path", paths),
        query=format_member_array("query", [None, *queries]),
        status=format_member_array("status", [s for s, _ in STATUSES]),
        bytes_in=format_member_array("bytes_in", _draw_log_normal(rng, 0.7, 6.6)),
        bytes_out=format_member_array("bytes_out", _draw_log_normal(rng, 1.6, 9.0)),
        duration=format_member_array("duration_ms", _draw_log_normal(rng, 1.1, 4.2)),
        agent=format_member_array("user_agent", agents),
        referrer=format_member_array("referrer", [None, *referrers]),
        line_ends=_make_line_ends(kinds),
        client_table=build_quantile_table(zipf_weights(CLIENT_COUNT, 0.6)),
        domain_table=build_quantile_table(domain_share),
        method_table=build_quantile_table(np.array([p * m for _, p in PORTS for _, m in METHODS])),
        path_table=build_quantile_table(zipf_weights(PATHS, 0.8)),
        query_table=build_quantile_table(prepend_null(0.6, zipf_weights(QUERIES, 0.4))),
        status_table=build_quantile_table(np.array([share for _, share in STATUSES])),
        agent_table=build_quantile_table(zipf_weights(AGENTS, 0.9)),
        referrer_table=build_quantile_table(prepend_null(0.65, zipf_weights(REFERRERS, 0.7))),
        client_agents=(rng.random(CLIENT_COUNT) ** 2 * AGENTS).astype(np.int32),
        domain_categories=categories,
        path_types=path_kinds,
        denied_status=[s for s, _ in STATUSES].index(403),
    )


def _make_line_ends(kinds: Sequence[str]) -> pa.Array:
    """Returns the ends of lines: every kind of content with every action, category and state of the cache."""
    ends = [
        format_members(content_type=CONTENT_TYPES[kind], action=action, category=category, cached=cached) + "}\n"
        for kind in kinds
        for action in ("allowed", "denied")
        for category in CATEGORIES
        for cached in (False, True)
    ]
    return pa.array(ends)


def _draw_log_normal(rng: np.random.Generator, deviation: float, mean: float) -> list[int]:
    """Draws ``POOL_SIZE`` whole numbers whose logarithms have this mean and standard deviation."""
    drawn: list[int] = np.exp(rng.standard_normal(POOL_SIZE) * deviation + mean).astype(int).tolist()
    return drawn
