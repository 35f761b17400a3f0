"""A source that is fed many small items of known events, and the question whether a store answers rightly of it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from watchfloor.query.batches.settings import BatchSettings
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.stats.request import StatsQuery
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source
from watchfloor.store.encoding import keys
from watchfloor.store.layouts.block.block_encoder import BlockEncoder
from watchfloor.store.layouts.block.blocks.block_keys import make_item_tag
from watchfloor.store.layouts.item_writer import WriteSink
from watchfloor.store.store import Store

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY = 20_000 * keys.DAY
DAYS = 3
END = FIRST_DAY + DAYS * keys.DAY
BLOCK_ROWS = 64
COLUMNS = ("ts", "host", "n", "tags", "text")


def make_source(name: str, indexed: bool = True) -> Source:
    """``indexed`` says whether host, n and tags are."""
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "host", "type": "string", "indexed": True},
        {"name": "n", "type": "int", "indexed": True, "visibility": "secret"},
        {"name": "tags", "type": "list", "items": "string", "indexed": True},
        {"name": "text", "type": "string"},
    ]
    if not indexed:
        fields = [{key: value for key, value in field.items() if key != "indexed"} for field in fields]
    definition = {
        "name": name,
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": fields,
        "layout": "block",
        "visibility": "staff",
        "shards": 2,
    }
    return parse_definition(definition)


Event = tuple[int, str, int | None, tuple[str, ...] | None, str]


@dataclass
class Fed:
    """A source, what has been written to it, and the tags of the items that wrote it."""

    source: Source
    events: list[Event] = field(default_factory=list)
    tags: set[bytes] = field(default_factory=set)
    items: int = 0

    def feed(self, store: Store, items: int, seed: int, host: str = "", sizes: tuple[int, int] = (1, 25)) -> None:
        """Writes so many more items, each with events at random times of all days; ``host`` sets them apart.

        ``sizes`` are the least and the largest number of events of an item.
        """
        with store.sink() as sink:
            self.feed_sink(sink, items, seed, host, sizes)

    def feed_sink(
        self, sink: WriteSink, items: int, seed: int, host: str = "", sizes: tuple[int, int] = (1, 25)
    ) -> None:
        """Writes as ``feed`` does, into a sink, which the caller flushes."""
        draw = random.Random(seed)
        for _ in range(items):
            events = [self._event(draw, host) for _ in range(draw.randint(*sizes))]
            item_id = self.items.to_bytes(8, "big")
            encoder = BlockEncoder(self.source, bytes(8) + item_id, item_id, BLOCK_ROWS)
            for write in encoder.encode(self._batch(events)) + encoder.finish():
                (sink.write_rows if write.wide else sink.write_entries)(write.table, write.batch)
            self.items += 1
            self.tags.add(make_item_tag(item_id))
            self.events += events

    def _event(self, draw: random.Random, host: str) -> Event:
        time = draw.choice([draw.randrange(FIRST_DAY, END), FIRST_DAY + draw.randrange(DAYS) * keys.DAY, END - 1])
        tags = draw.choice([None, (), ("x",), ("x", "y", "x"), ("z",)])
        return time, host or f"h{draw.randrange(4)}", draw.choice([None, 1, 2]), tags, f"{draw.random()}"

    def _batch(self, events: list[Event]) -> pa.RecordBatch:
        times, *others = zip(*events, strict=True)
        columns = [[EPOCH + timedelta(microseconds=t) for t in times], *others]
        arrays = [pa.array(c, f.arrow) for c, f in zip(columns, self.source.fields, strict=True)]
        return pa.RecordBatch.from_arrays(
            [*arrays, pa.array(range(len(events)), pa.int64())],
            schema=self.source.arrow_schema.append(pa.field("(offset)", pa.int64())),
        )


def answers(service: QueryService, source: Source, ends: tuple[int, int], host: str, turn: int) -> dict[str, Any]:
    """Asks the store in every way for the events in a time range that have a host; returns its answers."""
    name, (since, until) = source.name, ends
    where, batching = f"host = {host}", BatchSettings(policy="llcysa" if turn % 2 else "none", first_rows=5.0)

    def found(scheme: str) -> Counter[Any]:
        request = QueryRequest(name, since, until, where, COLUMNS, scheme=scheme, batching=batching)
        rows = [tuple(row.values()) for batch in service.run(request) for row in batch.to_pylist()]
        assert [row[0] for row in rows] == sorted((row[0] for row in rows), reverse=True)
        return Counter((*row[:3], None if row[3] is None else tuple(row[3]), row[4]) for row in rows)

    def aggregated(scheme: str) -> dict[int, tuple[int, int]]:
        stats = f"count(), distinct({COLUMNS[4]}) as texts by bucket(1h)"
        rows = list(service.run_stats(StatsQuery(name, stats, where, since, until, scheme)))[-1].rows.to_pylist()
        return {(row["bucket"] - EPOCH) // timedelta(microseconds=1): (row["count"], row["texts"]) for row in rows}

    return {
        "stats": aggregated("index" if turn % 2 else "scan"),
        "scan": found("batched-scan" if turn % 2 else "scan"),
        "index": found("batched-index" if turn % 2 else "index"),
        "count": service.count_events(name, since, until, "host", host),
        "top": dict(service.rank_values(name, "host", since, until, 9)).get(host, 0),
        "timeline": dict(service.count_over_time(name, since, until, "hour", "host", host)),
    }


def expected(events: list[Event], ends: tuple[int, int], host: str) -> dict[str, Any]:
    """The same, from plain Python."""
    inside = [e for e in events if ends[0] <= e[0] < ends[1] and e[1] == host]
    rows = Counter((EPOCH + timedelta(microseconds=t), *rest) for t, *rest in inside)
    hours = Counter(t // keys.HOUR * keys.HOUR for t, *_ in inside)
    texts: dict[int, set[str]] = {}
    for time, *_, text in inside:
        texts.setdefault(time // keys.HOUR * keys.HOUR, set()).add(text)
    return {
        "stats": {hour: (hours[hour], len(some)) for hour, some in texts.items()},
        "scan": rows,
        "index": rows,
        "count": len(inside),
        "top": len(inside),
        "timeline": dict(hours),
    }


def assert_right(service: QueryService, fed: Fed, seed: int, turns: int = 2) -> None:
    """Asks at random, and of everything."""
    draw = random.Random(seed)
    for turn in range(turns):
        low, high = sorted(draw.sample(range(FIRST_DAY, END), 2))
        ends = (low, high) if turn else (FIRST_DAY, END)
        host = f"h{draw.randrange(4)}"
        assert answers(service, fed.source, ends, host, seed + turn) == expected(fed.events, ends, host)
    assert service.count_events(fed.source.name, FIRST_DAY, END) == len(fed.events)
    assert service.count_events(fed.source.name) == len(fed.events)
