"""Web-proxy events: clients of the organisation, their users and browsers, and the sites that they ask for."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, Named
from watchfloor.loadgen.generator.synthesis.json_fragments import beginnings, joined
from watchfloor.loadgen.generator.synthesis.network_model import (
    MIDDLING,
    MIDDLING_PLACE,
    POPULAR,
    POPULAR_PLACE,
    RARE,
    RARE_PLACE,
)
from watchfloor.loadgen.generator.synthesis.sampling import Ints, draw, number
from watchfloor.loadgen.generator.synthesis.time_sampler import Micros, Rhythm

from .vocabulary import CATEGORIES, vocabulary

# An office that wakes at six and empties after five.
RHYTHM = Rhythm((2, 1, 1, 1, 1, 2, 5, 9, 14, 16, 16, 15, 12, 14, 16, 15, 14, 11, 8, 6, 5, 4, 3, 2), weekend=0.3)


@cache
def build_feed() -> EventFeed:
    return EventFeed(
        source="proxy.events",
        main="domain",
        popular=Named(POPULAR, POPULAR_PLACE),
        middling=Named(MIDDLING, MIDDLING_PLACE),
        rare=Named(RARE, RARE_PLACE),
        table=vocabulary().domain_table,
        rhythm=RHYTHM,
        stream=(),
        lines=lines,
    )


def lines(rng: np.random.Generator, times: Micros, domains: Ints) -> pa.StringArray:
    size, words = len(times), vocabulary()
    clients = draw(rng, words.client_table, size)
    # A client's user is item client + 1; one event in twelve comes without (item 0 is the null).
    users = np.where(rng.random(size) < 1 / 12, 0, clients + 1)
    # Most requests of a client come from its one browser.
    agents = np.where(rng.random(size) < 0.8, words.agent_of[clients], draw(rng, words.agent_table, size))
    methods, paths = draw(rng, words.method_table, size), draw(rng, words.path_table, size)
    statuses = draw(rng, words.status_table, size)
    queries, referrers = draw(rng, words.query_table, size), draw(rng, words.referrer_table, size)
    categories = words.category_of[domains]
    denied = statuses == words.denied_status
    cached = (rng.random(size) < 0.25) & ~denied
    # The index into ``tails``, whose last members vary fastest.
    tails = ((words.type_of[paths] * 2 + denied) * len(CATEGORIES) + categories) * 2 + cached
    return joined(
        [
            *beginnings(times),
            words.src_ip.take(pa.array(clients)),
            words.src_port.take(pa.array(number(rng, size))),
            words.user.take(pa.array(users)),
            words.dest_ip.take(pa.array(domains)),
            words.port_method.take(pa.array(methods)),
            words.domain.take(pa.array(domains)),
            words.path.take(pa.array(paths)),
            words.query.take(pa.array(queries)),
            words.status.take(pa.array(statuses)),
            words.bytes_in.take(pa.array(number(rng, size))),
            words.bytes_out.take(pa.array(number(rng, size))),
            words.duration.take(pa.array(number(rng, size))),
            words.agent.take(pa.array(agents)),
            words.referrer.take(pa.array(referrers)),
            words.tails.take(pa.array(tails)),
        ]
    )
