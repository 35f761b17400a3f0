"""Web-proxy events: requests by clients of the network, with their users and browsers, for sites."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, NamedValue
from watchfloor.loadgen.generator.synthesis.json_fragments import build_line_starts, join_parts
from watchfloor.loadgen.generator.synthesis.network_model import (
    MIDDLING_DOMAIN,
    MIDDLING_INDEX,
    POPULAR_DOMAIN,
    POPULAR_INDEX,
    RARE_DOMAIN,
    RARE_INDEX,
)
from watchfloor.loadgen.generator.synthesis.sampling import IntArray, draw_indices, draw_pool_indices
from watchfloor.loadgen.generator.synthesis.time_sampler import ActivityProfile, MicrosArray

from .vocabulary import CATEGORIES, build_vocabulary

# An office that fills from six on and empties after five.
ACTIVITY = ActivityProfile(
    (2, 1, 1, 1, 1, 2, 5, 9, 14, 16, 16, 15, 12, 14, 16, 15, 14, 11, 8, 6, 5, 4, 3, 2), weekend_factor=0.3
)


@cache
def build_feed() -> EventFeed:
    """Returns the feed, which is built once."""
    return EventFeed(
        source="proxy.events",
        main_field="domain",
        popular=NamedValue(POPULAR_DOMAIN, POPULAR_INDEX),
        middling=NamedValue(MIDDLING_DOMAIN, MIDDLING_INDEX),
        rare=NamedValue(RARE_DOMAIN, RARE_INDEX),
        value_table=build_vocabulary().domain_table,
        profile=ACTIVITY,
        seed_suffix=(),
        render_lines=render_lines,
    )


def render_lines(rng: np.random.Generator, times: MicrosArray, domains: IntArray) -> pa.StringArray:
    """Returns a line for each event; see ``EventFeed``."""
    size, words = len(times), build_vocabulary()
    clients = draw_indices(rng, words.client_table, size)
    # A client's user is item client + 1; one event in twelve comes without (item 0 is the null).
    users = np.where(rng.random(size) < 1 / 12, 0, clients + 1)
    # Most requests of a client come from its one browser.
    agents = np.where(rng.random(size) < 0.8, words.client_agents[clients], draw_indices(rng, words.agent_table, size))
    methods, paths = draw_indices(rng, words.method_table, size), draw_indices(rng, words.path_table, size)
    statuses = draw_indices(rng, words.status_table, size)
    queries, referrers = draw_indices(rng, words.query_table, size), draw_indices(rng, words.referrer_table, size)
    categories = words.domain_categories[domains]
    denied = statuses == words.denied_status
    cached = (rng.random(size) < 0.25) & ~denied
    # The last of the combined fields varies fastest.
    line_ends = ((words.path_types[paths] * 2 + denied) * len(CATEGORIES) + categories) * 2 + cached
    return join_parts(
        [
            *build_line_starts(times),
            words.src_ip.take(pa.array(clients)),
            words.src_port.take(pa.array(draw_pool_indices(rng, size))),
            words.user.take(pa.array(users)),
            words.dest_ip.take(pa.array(domains)),
            words.port_method.take(pa.array(methods)),
            words.domain.take(pa.array(domains)),
            words.path.take(pa.array(paths)),
            words.query.take(pa.array(queries)),
            words.status.take(pa.array(statuses)),
            words.bytes_in.take(pa.array(draw_pool_indices(rng, size))),
            words.bytes_out.take(pa.array(draw_pool_indices(rng, size))),
            words.duration.take(pa.array(draw_pool_indices(rng, size))),
            words.agent.take(pa.array(agents)),
            words.referrer.take(pa.array(referrers)),
            words.line_ends.take(pa.array(line_ends)),
        ]
    )
