"""The made-up network that all feeds are about: its clients and their users, and the servers that they talk to.

It is the same for every seed, so that events of different seeds and feeds fit together and their values can be named
in documents. Nothing in it exists: domains end in ``.example``, servers lie in the networks reserved for benchmarks and
documentation (198.18.0.0/15, 2001:db8::/32), clients in 10.0.0.0/8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address

import numpy as np

from .sampling import collect_distinct

SEED = 20_260_108
DOMAIN_COUNT, CLIENT_COUNT = 6_000, 4_000
POPULAR_DOMAIN = "portal.harborline.example"
MIDDLING_DOMAIN = "reports.saltmarsh.example"
RARE_DOMAIN = "drop.nightjar.example"
POPULAR_INDEX, MIDDLING_INDEX, RARE_INDEX = 0, DOMAIN_COUNT - 2, DOMAIN_COUNT - 1
_SYLLABLES = tuple(a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "ol"))


@dataclass(frozen=True)
class NetworkModel:
    """The clients, users, domains and servers of the network.

    ``servers[i]`` is the address of ``domains[i]``; ``users[i]`` is the user of ``clients[i]``, or None.
    """

    domains: Sequence[str]
    servers: Sequence[str]
    clients: Sequence[str]
    users: Sequence[str | None]


class WordSampler:
    """Draws words made of syllables from ``rng``."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def pick_item(self, words: Sequence[str]) -> str:
        return words[int(self.rng.random() * len(words))]

    def make_word(self, least: int = 2, most: int = 3) -> str:
        return "".join(self.pick_item(_SYLLABLES) for _ in range(least + int(self.rng.random() * (most - least + 1))))


@cache
def load_network() -> NetworkModel:
    """Returns the one network, the same for every seed."""
    return draw_network(WordSampler(np.random.Generator(np.random.PCG64(SEED))))


def draw_network(words: WordSampler) -> NetworkModel:
    """Draws the network. ``words`` must be a new sampler with ``SEED``; its caller may draw from it afterwards."""
    pick, word, rng = words.pick_item, words.make_word, words.rng
    domains = collect_distinct(
        lambda: f"{pick(('www', 'api', 'cdn', 'img', 'app', 'static'))}.{word(2, 3)}.example", DOMAIN_COUNT - 3
    )
    clients = collect_distinct(lambda: str(IPv4Address((10 << 24) + int(rng.random() * (1 << 20)))), CLIENT_COUNT)
    users = [f"{word(1, 2)}.{word(2, 3)}" if rng.random() < 0.7 else None for _ in clients]
    return NetworkModel(
        [POPULAR_DOMAIN, *domains, MIDDLING_DOMAIN, RARE_DOMAIN],
        [_server_address(i) for i in range(DOMAIN_COUNT)],
        clients,
        users,
    )


def _server_address(i: int) -> str:
    """Returns the address of domain ``i``: one in eight is IPv6."""
    return str(
        IPv6Address((0x20010DB8 << 96) + i * 7919) if i % 8 == 5 else IPv4Address((198 << 24) + (18 << 16) + 1 + i * 21)
    )
