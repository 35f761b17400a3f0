"""The first events of a file that was queued before it was hashed are found while the rest of its item is read.

In `make test`: one file of 3,000 lines, on the stack of the run.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest_support import counts, exactly, own, source, wait_for

from watchfloor.ingest.files.file_scan import WHOLE, items_of, scan_file
from watchfloor.ingest.queue.item import BLAKE3, DRAWN, FILE_ID_BYTES, WorkItem
from watchfloor.ingest.reading import parts
from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

LINES = 3000


@given(
    start=st.integers(0, 1 << 40),
    length=st.integers(1, 1 << 30),
    place=st.floats(0, 1),
    digest=st.sampled_from([BLAKE3, DRAWN]),
)
def test_each_line_lies_in_a_part_of_its_item(start: int, length: int, place: float, digest: str) -> None:
    end = start + length
    item = WorkItem("/a", bytes(16), start, end, "a.b", b"", 0, 0, 0, 0, end, 1, 0, "", False, "t", digest=digest)
    ids = [*parts.part_ids(item)]
    line = start + int(place * (length - 1))
    part = parts.part_of_line(item, line)
    assert len(set(ids)) == len(ids)
    assert ids[0] == item.item_id and ids[part] == parts.part_id(item.item_id, part)
    assert (part == 0) == (line - start < (parts.FIRST_BYTES if digest == DRAWN else parts.PART_BYTES))


@pytest.mark.stack
def test_the_first_events_are_found_early(
    store_settings: Settings,
    store: Store,
    write_log: Callable[..., Path],
    layout: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reading goes on only when they were found. Another reading replaces all parts."""
    monkeypatch.setattr(parts, "FIRST_BYTES", 20_000)
    settings = own(store_settings, "firstpart", chunk_bytes=8_000)
    kind = store.catalog.register(source("firstpart", layout))
    file = write_log(tmp_path / "a.log", LINES, "firstpart")
    scan = replace(scan_file(file, WHOLE), file_id=secrets.token_bytes(FILE_ID_BYTES), digest=DRAWN)
    (item,) = items_of(scan, str(file), kind.name, b"", secrets.token_hex(8))
    found: list[int] = []

    def await_first(done: int, events: int, quarantined: int) -> None:
        if done > 40_000 and not found:
            wait_for(lambda: service.count_events(kind.name))
            found.append(service.count_events(kind.name))

    with Store.open(settings) as own_store, own_store.sink() as sink:
        service = QueryService(own_store)
        end = read_item(ReadTask(own_store, sink, item, await_first))
        assert end.events == LINES
        assert 0 < found[0] < LINES
        assert counts(store, kind) == exactly(kind, LINES)
        assert read_item(ReadTask(own_store, sink, item, begun=True)).events == LINES
        assert counts(store, kind) == exactly(kind, LINES)
