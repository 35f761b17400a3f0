"""Authentication events: logons of people, administrators and services, with their outcomes.

People log on at their own stations and from there to servers, administrators more often than others; service accounts
log on to servers only. Bursts of failures stand for attacks: an outside address tries one account after another at one
gateway, many times a minute, and a guess may succeed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, NamedValue
from watchfloor.loadgen.generator.synthesis.json_fragments import build_line_starts, join_parts
from watchfloor.loadgen.generator.synthesis.sampling import (
    POOL_SIZE,
    TABLE_BITS,
    IntArray,
    draw_indices,
    draw_pool_indices,
)
from watchfloor.loadgen.generator.synthesis.time_sampler import ActivityProfile, MicrosArray

from .vocabulary import (
    ATTACKERS,
    BURST_INTERVAL,
    BURST_MAX,
    BURST_MIN,
    GATEWAYS,
    GUESSED_METHOD,
    MIDDLING,
    POPULAR,
    RARE,
    SERVERS,
    build_vocabulary,
)

# People log on when they arrive, and again after lunch.
ACTIVITY = ActivityProfile(
    (3, 4, 3, 3, 3, 4, 9, 22, 28, 17, 12, 11, 9, 18, 13, 11, 10, 8, 6, 4, 4, 3, 3, 3), weekend_factor=0.2
)


@cache
def build_feed() -> EventFeed:
    """Returns the feed, which is built once."""
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
    """Returns a line for each event; see ``EventFeed``."""
    size, words = len(times), build_vocabulary()
    methods = words.method_tables[
        (words.account_kinds[accounts] << TABLE_BITS) + rng.integers(0, 1 << TABLE_BITS, size)
    ]
    local = words.local_methods[methods]
    hosts = np.where(local, SERVERS + GATEWAYS + accounts, draw_indices(rng, words.host_table, size))
    addresses = np.where(local, 0, 1 + accounts)
    outcomes = draw_indices(rng, words.usual_table, size)
    events, gateways, attackers = _draw_bursts(rng, size)
    methods[events], hosts[events] = GUESSED_METHOD, SERVERS + gateways
    addresses[events] = 1 + len(words.accounts) + attackers
    outcomes[events] = draw_indices(rng, words.attack_table, len(events))
    return join_parts(
        [
            *build_line_starts(times),
            words.accounts.take(pa.array(accounts)),
            words.hosts.take(pa.array(hosts)),
            words.methods.take(pa.array(methods)),
            words.addresses.take(pa.array(addresses)),
            words.ports.take(pa.array(np.where(addresses == 0, POOL_SIZE, draw_pool_indices(rng, size)))),
            words.outcomes.take(pa.array(outcomes)),
            words.line_ends.take(pa.array(np.where(outcomes == 0, draw_pool_indices(rng, size), POOL_SIZE))),
        ]
    )


def _draw_bursts(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the indices of the events that belong to bursts, and for each its gateway and its attacker.

    Two thirds of the events between the beginning and the end of a burst belong to it.
    """
    starts = rng.integers(0, max(1, size), rng.poisson(size / BURST_INTERVAL))
    lengths = rng.integers(BURST_MIN, BURST_MAX + 1, len(starts))
    gaps = rng.integers(1, 3, (len(starts), BURST_MAX))
    positions = starts[:, None] + np.cumsum(gaps, axis=1)
    inside = (np.arange(BURST_MAX) < lengths[:, None]) & (positions < size)
    rows, _ = np.nonzero(inside)
    # Where bursts overlap, an event belongs to one of them.
    events, first = np.unique(positions[inside], return_index=True)
    gateways, attackers = rng.integers(0, GATEWAYS, len(starts)), rng.integers(0, ATTACKERS, len(starts))
    return events, gateways[rows[first]], attackers[rows[first]]
