"""Netflow events: bidirectional flows, one record each, as an exporter at the edge of a client network reports them.

A server's service decides the port, the protocol, and the size and duration of its flows. Packets, bytes, flags and
milliseconds of a flow are drawn together, as one *shape* of the service.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed, NamedValue
from watchfloor.loadgen.generator.synthesis.json_fragments import build_line_starts, join_parts
from watchfloor.loadgen.generator.synthesis.network_model import MIDDLING_INDEX, POPULAR_INDEX, RARE_INDEX, load_network
from watchfloor.loadgen.generator.synthesis.sampling import POOL_SIZE, IntArray, draw_indices, draw_pool_indices
from watchfloor.loadgen.generator.synthesis.time_sampler import ActivityProfile, MicrosArray

from .vocabulary import ICMP, SHAPES_PER_SERVICE, build_vocabulary

# The activity is like that of the proxy, with backups at night.
ACTIVITY = ActivityProfile(
    (7, 9, 9, 6, 4, 4, 6, 9, 13, 15, 15, 14, 12, 14, 15, 14, 13, 11, 8, 7, 6, 5, 5, 5), weekend_factor=0.45
)


@cache
def build_feed() -> EventFeed:
    """Returns the feed, which is built once."""
    servers = load_network().servers
    return EventFeed(
        source="netflow.events",
        main_field="dst_ip",
        popular=NamedValue(servers[POPULAR_INDEX], POPULAR_INDEX),
        middling=NamedValue(servers[MIDDLING_INDEX], MIDDLING_INDEX),
        rare=NamedValue(servers[RARE_INDEX], RARE_INDEX),
        value_table=build_vocabulary().server_table,
        profile=ACTIVITY,
        seed_suffix=(2,),
        render_lines=render_lines,
    )


def render_lines(rng: np.random.Generator, times: MicrosArray, servers: IntArray) -> pa.StringArray:
    """Returns a line for each event; see ``EventFeed``."""
    size, words = len(times), build_vocabulary()
    services = words.server_services[servers]
    shapes = services * SHAPES_PER_SERVICE + rng.integers(0, SHAPES_PER_SERVICE, size, dtype=np.int32)
    return join_parts(
        [
            *build_line_starts(times),
            words.clients.take(pa.array(draw_indices(rng, words.client_table, size))),
            words.ports.take(pa.array(np.where(services == ICMP, POOL_SIZE, draw_pool_indices(rng, size)))),
            words.servers.take(pa.array(servers)),
            words.shapes.take(pa.array(shapes)),
        ]
    )
