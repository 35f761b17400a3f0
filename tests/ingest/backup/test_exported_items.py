"""An item counts as exported if no source outside of the export has any of its events, as drawn events tell.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from watchfloor.ingest.backup.exported_items import choose_items
from watchfloor.ingest.queue.item import WorkItem
from watchfloor.ingest.reading.parts import PART_BYTES, part_id
from watchfloor.ingest.records.ledger import ItemEnd, LedgerRow
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source

NAMES = ("zeek.a", "zeek.b", "zeek.c", "own.a")
PARTS = 3


def make_source(name: str) -> Source:
    definition = {"name": name, "parser": {"format": "json"}, "timestamp": {"field": "ts"}}
    return parse_definition({**definition, "fields": [{"name": "ts", "type": "time"}]})


KNOWN = {name: make_source(name) for name in NAMES}


@dataclass(frozen=True)
class DrawnItem:
    """The events of an item by the source and the part that they are in, those of a retry of its lines, its state."""

    feed: str
    events: list[tuple[str, int]]
    retried: list[str]
    state: str


def draw_item(feed: str) -> st.SearchStrategy[DrawnItem]:
    names = st.sampled_from([name for name in NAMES if name.partition(".")[0] == feed.partition(".")[0]])
    events = st.lists(st.tuples(names, st.integers(0, PARTS - 1)), max_size=4)
    states = st.sampled_from(["done", "done", "done", "failed", "queued"])
    return st.builds(DrawnItem, st.just(feed), events, st.lists(names, max_size=2), states)


def make_row(number: int, item: DrawnItem) -> LedgerRow:
    state = "failed" if item.state == "failed" else "done"
    done = state == "done"
    end = ItemEnd("t", state, 0, "x", events=done * len(item.events), retried=done * len(item.retried))
    work = WorkItem(
        f"/{number}",
        bytes([number]) * 16,
        0,
        PARTS * PART_BYTES - 1,
        item.feed,
        b"",
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        "",
        False,
        "t",
    )
    return LedgerRow(item.state, work.path, 0, "x", work, None, end)


@given(
    st.lists(st.sampled_from(["zeek", "zeek.a", "own.a"]).flatmap(draw_item), max_size=6),
    st.sets(st.sampled_from(NAMES), min_size=1),
)
def test_items_are_exported_as_far_as_their_events_are(drawn: list[DrawnItem], exported: set[str]) -> None:
    counts: Counter[bytes] = Counter()
    claims: dict[bytes, bytes] = {}
    rows = [make_row(number, item) for number, item in enumerate(drawn)]
    every, some, untold = [], [], 0
    for row, item in zip(rows, drawn, strict=True):
        assert row.item is not None
        item_id, claim = row.item.item_id, b"claim of" + row.item.item_id
        counts.update(part_id(item_id, part) for name, part in item.events if name in exported)
        if item.retried:
            claims[claim] = item_id
            counts[claim] += sum(name in exported for name in item.retried)
        sources = {name for name, _ in item.events} | {*item.retried}
        family = {name for name in NAMES if name.startswith("zeek.")} if item.feed != "own.a" else {"own.a"}
        has_none = not sources & exported
        if family <= exported or (item.state != "failed" and sources <= exported):
            every.append(row)
        elif has_none:
            continue
        elif item.state == "failed":
            every.append(row)
        elif item.state == "done" and not item.retried:
            some.append(row)
        else:
            untold += 1
    found = choose_items(rows, KNOWN, exported, claims, counts)
    assert (found.all, found.some, found.untold) == (every, some, untold)
