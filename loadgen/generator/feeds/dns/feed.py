"""DNS events: lookups by clients at their resolvers, and the answers.

A name has the same record type, answers and times to live for every client; a name that does not exist is missing for
all. An answer from the resolver's cache is the quickest, one that the resolver had to look up takes longer, and a
failed lookup takes longest.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, NamedValue
from watchfloor.loadgen.generator.synthesis.json_fragments import build_line_starts, join_parts
from watchfloor.loadgen.generator.synthesis.network_model import MIDDLING_DOMAIN, POPULAR_DOMAIN, RARE_DOMAIN
from watchfloor.loadgen.generator.synthesis.sampling import POOL_SIZE, IntArray, draw_indices, draw_pool_indices
from watchfloor.loadgen.generator.synthesis.time_sampler import ActivityProfile, MicrosArray

from .vocabulary import FAILED, LOOKUP_KINDS, build_vocabulary

# Machines ask all night, and people by day.
ACTIVITY = ActivityProfile(
    (6, 5, 5, 5, 5, 6, 8, 11, 15, 17, 17, 16, 14, 15, 17, 16, 15, 13, 11, 9, 8, 8, 7, 6), weekend_factor=0.5
)


@cache
def build_feed() -> EventFeed:
    """Returns the feed, which is built once."""
    words = build_vocabulary()
    return EventFeed(
        source="dns.events",
        main_field="query",
        popular=NamedValue(POPULAR_DOMAIN, 0),
        middling=NamedValue(MIDDLING_DOMAIN, words.name_count - 2),
        rare=NamedValue(RARE_DOMAIN, words.name_count - 1),
        value_table=words.name_table,
        profile=ACTIVITY,
        seed_suffix=(1,),
        render_lines=render_lines,
    )


def render_lines(rng: np.random.Generator, times: MicrosArray, names: IntArray) -> pa.StringArray:
    """Returns a line for each event; see ``EventFeed``."""
    size, words = len(times), build_vocabulary()
    kinds = draw_indices(rng, words.kind_table, size)
    return join_parts(
        [
            *build_line_starts(times),
            words.clients.take(pa.array(draw_indices(rng, words.client_table, size))),
            words.ports.take(pa.array(draw_pool_indices(rng, size))),
            words.identifiers.take(pa.array(draw_pool_indices(rng, size))),
            words.lookups.take(pa.array(names * len(LOOKUP_KINDS) + kinds)),
            words.line_ends.take(pa.array(draw_pool_indices(rng, size) + np.where(kinds == FAILED, POOL_SIZE, 0))),
        ]
    )
