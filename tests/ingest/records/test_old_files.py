"""Files that an earlier version has queued, under the BLAKE2b of their content, are known after an upgrade.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from ingest_support import counts, exactly, ledger_rows, load, log_file, own, running_master, source, wait_for

from watchfloor.ingest.intake import intake
from watchfloor.ingest.intake import load as loads
from watchfloor.ingest.queue.item import BLAKE2B, BLAKE3
from watchfloor.ingest.records.cells import delete_cells, put_cells, read_prefix
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.old_files import OldFiles
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import ITEMS_TABLE
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def load_by_earlier_version(settings: Settings, store: Store, file: Path, feed: str) -> None:
    """Loads a file and leaves the ledger as earlier versions did: by the old hash, and without a word of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "BLAKE3", BLAKE2B)
        patch.setattr(loads, "ScanAhead", lambda path, below: None)  # which knows BLAKE3 alone
        load(settings, file, feed=feed)
    with store.sink() as sink:
        for prefix in (b"i", b"p"):
            for row, cells in read_prefix(store, ITEMS_TABLE, prefix):
                put_cells(sink, ITEMS_TABLE, [(row, *cell) for cell in strip_cells(cells)])
        rows = [(row, "old") for row, _ in read_prefix(store, ITEMS_TABLE, b"o")]
        delete_cells(sink, ITEMS_TABLE, rows, "")
        sink.flush()


def strip_cells(cells: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yields the cells of an item or a path that names the old hash, as they were before there was a choice."""
    if "queued" in cells:
        queued = orjson.loads(cells["queued"])
        item = orjson.loads(queued["item"])
        if item.pop("digest", BLAKE2B) == BLAKE2B:
            yield "queued", orjson.dumps({**queued, "item": orjson.dumps(item).decode()})
    if "seen" in cells:
        seen = orjson.loads(cells["seen"])
        if seen.pop("digest", BLAKE2B) == BLAKE2B:
            yield "seen", orjson.dumps(seen)


def digests(store: Store, path: Path) -> set[str]:
    return {row.item.digest for row in ledger_rows(store, path) if row.item}


def prepare(settings: Settings, store: Store, name: str, layout: str, file: Path) -> tuple[Settings, Source]:
    """Returns settings and a source of a test's own, with a file of 3,000 lines that an earlier version has loaded."""
    kind = store.catalog.register(source(name, layout))
    settings = own(settings, name)
    load_by_earlier_version(settings, store, log_file(file, 3000), kind.name)
    assert counts(store, kind) == exactly(kind, 3000) and digests(store, file) == {BLAKE2B}
    return settings, kind


def test_the_same_file_and_its_copies_are_known(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.log"
    settings, kind = prepare(store_settings, store, "oldsame", layout, file)
    (tmp_path / "a.log.1").write_bytes(file.read_bytes())
    (tmp_path / "a.log.2.gz").write_bytes(gzip.compress(file.read_bytes()))
    result = load(settings, tmp_path / "a.log*", feed=kind.name)
    assert len(result.files) == 3 and all(f.is_known for f in result.files)
    for again in (file, tmp_path / "a.log.2.gz"):
        assert load(settings, again, feed=kind.name, again=True).events == 3000
    assert counts(store, kind) == exactly(kind, 3000)
    assert digests(store, tmp_path / "a.log.2.gz") == {BLAKE2B}


def test_only_what_was_added_is_read(store_settings: Settings, store: Store, layout: str, tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    settings, kind = prepare(store_settings, store, "oldgrown", layout, file)
    for lines in (3500, 3900):
        assert load(settings, log_file(file, lines), feed=kind.name).events < 1000
    assert counts(store, kind) == exactly(kind, 3900) and digests(store, file) == {BLAKE2B, BLAKE3}
    assert load(settings, file, feed=kind.name, again=True).events == 3900
    assert counts(store, kind) == exactly(kind, 3900)


def test_other_content_of_the_same_length_is_new(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path
) -> None:
    file, other = tmp_path / "a.log", tmp_path / "b.log"
    settings, kind = prepare(store_settings, store, "oldother", layout, file)
    other.write_bytes(file.read_bytes().replace(b"h1", b"h9"))
    assert load(settings, other, feed=kind.name).events == 3000
    assert counts(store, kind).events == 6000 and digests(store, other) == {BLAKE3}


def test_a_master_knows_a_renamed_file(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    settings, kind = prepare(store_settings, store, "oldmaster", "block", file)
    file.rename(tmp_path / "b.log")
    with running_master(settings, tmp_path, feed=kind.name, settle=0.3):
        wait_for(lambda: Ledger(store).read_seen(str(tmp_path / "b.log")) is not None)
    assert counts(store, kind) == exactly(kind, 3000) and not ledger_rows(store, tmp_path / "b.log")


def test_only_old_files_are_indexed(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    settings, kind = prepare(store_settings, store, "oldindex", "block", file)
    new = log_file(tmp_path / "b.log", 100, "new")
    load(settings, new, feed=kind.name)
    ((old,),) = ({row.item.file_id for row in ledger_rows(store, path) if row.item} for path in (file,))
    assert old in OldFiles(store).find_of_length(file.stat().st_size)
    assert not OldFiles(store).find_of_length(new.stat().st_size)
