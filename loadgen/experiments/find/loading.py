"""Loads the sources of ``bench find``: a few large ones, more of middling size, and many small ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.harness.loads import LoadCase, LogFile, load_file
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery

_CLIENTS = {"proxy.events": "src_ip", "auth.events": "src_ip", "dns.events": "client_ip", "netflow.events": "src_ip"}
"""By feed, the field of the clients' addresses, from which the values are taken."""
FEEDS = tuple(_CLIENTS)
_LARGE, _MIDDLING = 30, 8
"""One of so many sources is large, and one of so many middling."""
_IN_PROCESS = 200_000
"""The largest number of events that are loaded without workers, which take seconds to start."""


@dataclass(frozen=True)
class LoadedSources:
    """The names of the sources, the largest first, and the number of events of each."""

    names: tuple[str, ...]
    events: tuple[int, ...]


def choose_sizes(sources: int, least: int, most: int) -> list[int]:
    """Returns the numbers of events of the sources, the largest first."""
    large, middling = math.ceil(sources / _LARGE), sources // _MIDDLING
    sizes = [most] * large + [round(math.sqrt(least * most))] * middling
    return (sizes + [least] * sources)[:sources]


def load_sources(session: BenchSession, sizes: Sequence[int], seed: int) -> LoadedSources:
    """Loads a source of each size; the feeds take turns. Each source has events of its own, of the same clients."""
    names = []
    for number, (events, feed) in enumerate(zip(sizes, cycle(FEEDS), strict=False)):
        file = _write_feed(session.folder / f"{number}.json", feed, events, seed + number)
        names.append(_load_source(session, file))
        file.path.unlink()
        print_progress(f"source {len(names)} of {len(sizes)}: {events:,} events of {feed}")
    return LoadedSources(tuple(names), tuple(sizes))


def _write_feed(path: Path, feed: str, events: int, seed: int) -> LogFile:
    with path.open("wb") as out:
        generated = generate_events(out, events, seed, source=feed)
    return LogFile(path, feed, generated.events, generated.bytes)


def _load_source(session: BenchSession, file: LogFile) -> str:
    source = session.create_source(file.feed)
    if file.events > _IN_PROCESS:
        load_file(session, source, file, LoadCase("block", file="whole", workers=2))
    else:
        with session.store.sink() as sink:
            read_item(ReadTask(session.store, sink, session.make_item(file.path, source)))
    return source.name


def choose_values(service: QueryService, sources: LoadedSources) -> dict[str, str]:
    """Returns addresses by how many events have them: ``common`` in all feeds, ``rare`` in the largest source, none."""
    ranks: Counter[str] = Counter()
    for name, feed in zip(sources.names, FEEDS, strict=False):
        for place, (value, _) in enumerate(service.rank_values(name, _CLIENTS[feed], limit=1000)):
            # An address that one more feed has goes before every other.
            ranks[str(value)] += 2000 - place
    client = _CLIENTS[FEEDS[0]]
    *_, last = service.run_stats(StatsQuery(sources.names[0], f"count() by {client} | sort count, {client} | limit 1"))
    return {"common": ranks.most_common(1)[0][0], "rare": str(last.rows[client][0].as_py()), "absent": "192.0.2.200"}
