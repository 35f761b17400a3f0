"""What is kept of bad lines has the labels of their source, and a file of many bad lines leaves little in the store.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest_support import RUN, START, ledger_rows, load, own

from watchfloor.ingest.files.lines import RejectedLine
from watchfloor.ingest.maintenance.retry import retry_lines
from watchfloor.ingest.records import kept_lines
from watchfloor.ingest.records.kept_lines import CUT_LINE_BYTES, LEAST_LINES, MOST_BYTES, MOST_LINES, KeptLines
from watchfloor.ingest.records.quarantine import OPEN, Quarantine
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import QUARANTINE_TABLE
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.store import Store


def labelled(name: str, visibility: str = "staff", secret: str = "secret|audit") -> Source:
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "host", "type": "string", "indexed": True},
        {"name": "n", "type": "int", "visibility": secret},
    ]
    definition = {"name": f"test{RUN}.{name}", "parser": {"format": "json"}, "timestamp": {"field": "ts"}}
    return parse_definition({**definition, "fields": fields, "visibility": visibility, "shards": 1})


def entries_of(store: Store, *items: bytes) -> list[tuple[str, str, bytes]]:
    """Returns qualifier, visibility and value of all entries of items in quarantine that a store sees."""
    ranges = Ranges()
    for item in items:
        ranges.add_prefix(item)
    found: list[tuple[str, str, bytes]] = []
    for batch in store.scan(EntryScan(QUARANTINE_TABLE, ranges)):
        columns = (batch.column(name).to_pylist() for name in ("qualifier", "visibility", "value"))
        found += [(q.decode(), v.decode(), value) for q, v, value in zip(*columns, strict=True)]
    return found


@pytest.mark.stack
def test_bad_lines_have_the_labels_of_all_that_they_may_hold(store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "labelled")
    with Store.open(settings) as store:
        kind = store.catalog.register(labelled("labelled"))
        file = tmp_path / "a.log"
        bad = [{"ts": START, "host": "h", "n": "Hunter2"}, {"ts": START, "host": "Hunter2", "n": 1, "more": 2}]
        file.write_text("".join(json.dumps(event) + "\n" for event in bad))
        assert load(settings, file, feed=kind.name).quarantined == 2
        (row,) = ledger_rows(store, file)
        item_id = bytes.fromhex(row.item_id)
    for labels, hidden in ((["staff", "audit"], False), (["staff"], True), (["secret", "audit"], True), ([], True)):
        with Store.open(settings, "query", labels) as analyst:
            lines = list(Quarantine(analyst).open_lines(str(file)))
            assert [line.is_hidden for line in lines] == [hidden] * 2
            assert any("Hunter2" in line.reason for line in lines) is not hidden
            assert all(b"Hunter2" in line.raw for line in lines) is not hidden
            seen = entries_of(analyst, item_id)
            assert any(b"Hunter2" in value for _, _, value in seen) is not hidden
            assert {v for q, v, _ in seen if q != "meta"} == (set() if hidden else {"(secret|audit)&staff"})


@pytest.mark.stack
def test_lines_that_are_read_again_get_the_labels_of_now(store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "relabelled")
    with Store.open(settings) as store:
        plain = labelled("relabelled", visibility="", secret="")
        kind = store.catalog.register(plain)
        file = tmp_path / "a.log"
        file.write_text(json.dumps({"ts": START, "host": 7, "n": 1}) + "\n")
        load(settings, file, feed=kind.name)
        more = {"name": "code", "type": "int", "visibility": "secret"}
        fields = [*kind.definition["fields"], more]
        store.catalog.register(parse_definition({**kind.definition, "fields": fields}))
        load(settings, file, feed=kind.name, again=True)
        (row,) = ledger_rows(store, file)
        item_id = bytes.fromhex(row.item_id)
    with Store.open(settings) as store:
        seen = entries_of(store, item_id)
        assert {(q, v) for q, v, _ in seen} == {("meta", ""), ("reason", "secret"), ("raw000000", "secret")}
        assert [line.raw for line in Quarantine(store).open_lines(str(file))] == [file.read_bytes().strip()]


@pytest.mark.stack
def test_a_bomb_leaves_little_and_its_lines_are_counted(
    store_settings: Settings, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = own(store_settings, "bomb", max_line_bytes=100_000)
    name = f"bomb_{layout}"
    with Store.open(settings) as store:
        definition = {**labelled(name, "", "").definition, "layout": layout}
        kind = store.catalog.register(parse_definition(definition))
        good = json.dumps({"ts": START, "host": "h", "n": 1}).encode() + b"\n"
        lines = 100_000
        bomb = tmp_path / "bomb.gz"
        bomb.write_bytes(gzip.compress(good + b"x\n" * lines + b"y" * 500_000 + b"\n" + good))
        assert bomb.stat().st_size < 3_000
        result = load(settings, bomb, feed=kind.name)
        assert (result.events, result.quarantined, result.failed) == (2, lines + 1, ())
        (row,) = ledger_rows(store, bomb)
        found = list(Quarantine(store).lines_of_item(bytes.fromhex(row.item_id)))
        assert len(found) == MOST_LINES + 1 and sum(line.lines for line in found) == lines + 1
        rest = found[-1]
        assert (rest.offset, rest.lines, rest.raw) == (len(good) + 2 * MOST_LINES, lines + 1 - MOST_LINES, b"")
        last = len(good) + 2 * lines
        assert f"{rest.lines:,} more lines became no event" in rest.reason and f"to {last:,}" in rest.reason
        size = sum(len(value) + 40 for _, _, value in entries_of(store, bytes.fromhex(row.item_id)))
        assert size < 5 << 20

        # A second reading changes nothing; a retry cannot take what is only counted.
        assert load(settings, bomb, feed=kind.name, again=True).quarantined == lines + 1
        again = list(Quarantine(store).lines_of_item(bytes.fromhex(row.item_id)))
        assert again == found
        retried = retry_lines(store, key=rest.key)
        assert (retried.lines, retried.events) == (rest.lines, 0)
        assert sum(r.quarantined for r in ledger_rows(store, bomb)) == lines + 1

        # With other bounds other lines are kept, and none is counted twice.
        monkeypatch.setattr(kept_lines, "MOST_LINES", 10)
        assert load(settings, bomb, feed=kind.name, again=True).quarantined == lines + 1
        still = [q for q in Quarantine(store).lines_of_item(bytes.fromhex(row.item_id)) if q.state == OPEN]
        assert len(still) == 11 and sum(line.lines for line in still) == lines + 1


SIZES = st.lists(st.tuples(st.integers(0, 200_000), st.booleans()), max_size=300)


@given(sizes=SIZES, item=st.integers(1, 1 << 40), file=st.integers(1, 1 << 40))
def test_the_first_lines_are_kept_within_the_bounds(sizes: list[tuple[int, bool]], item: int, file: int) -> None:
    keeper = KeptLines(min(item, file), file)
    rejected = [RejectedLine(number, "why", bytes(size)) for number, (size, _) in enumerate(sizes)]
    cut = [line for line, (_, is_cut) in zip(rejected, sizes, strict=True) if is_cut]
    kept = keeper.choose(rejected[:100], cut) + keeper.choose(rejected[100:], cut)
    assert [line.offset for line in kept] == list(range(len(kept)))
    assert sum(len(line.raw) for line in kept) <= MOST_BYTES and len(kept) <= MOST_LINES
    assert all(len(line.raw) <= CUT_LINE_BYTES for line in kept if sizes[line.offset][1])
    if keeper.unkept is None:
        assert len(kept) == len(sizes)
    else:
        first = keeper.unkept.first.offset
        assert (first, keeper.unkept.until, keeper.unkept.count) == (len(kept), len(sizes) - 1, len(sizes) - len(kept))


def test_a_file_of_many_items_keeps_no_more_than_its_share() -> None:
    for items in (1, 8, 100, 10_000):
        keeper = KeptLines(1 << 20, items << 20)
        kept = keeper.choose([RejectedLine(number, "", b"") for number in range(2 * MOST_LINES)], [])
        assert len(kept) == max(min(MOST_LINES, 100_000 // items), LEAST_LINES)
