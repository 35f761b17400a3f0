"""Compressed files, archives and JSON documents are loaded, resumed, read again and retried exactly as plain files are.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from ingest_support import counts, exactly, ledger_rows, line, load, log_file, own, pool, source, wait_for, worker_here

from watchfloor.ingest.files.open_file import join_member
from watchfloor.ingest.intake.intake import Intake
from watchfloor.ingest.maintenance.retry import retry_lines
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.ingest.records.ledger import Ledger, LedgerRow
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
INNER = b"PK\x05\x06" + b"\0" * 18
SLOW_DISK = """
import time
import watchfloor.ingest.reading.item_reader as reading
original = reading.read_chunks
def read_chunks(path, *rest):
    for chunk in original(path, *rest):
        time.sleep(0.1)
        yield chunk
reading.read_chunks = read_chunks
"""


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def pack(path: Path, lines: int, kind: str) -> tuple[Path, str]:
    """Packs a log of so many lines; returns the path of the packed file, and the log's name in it."""
    text = "".join(line(number) + "\n" for number in range(lines)).encode()
    packed = path / f"packed.{kind}"
    match kind:
        case "zst":
            packed.write_bytes(zstandard.ZstdCompressor().compress(text))
        case "json":
            packed.write_bytes(b"[" + b",\n ".join(text.splitlines()) + b"]")
        case "zip":
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("inner.zip", INNER)
                archive.writestr("deep/a.log", text)
        case "tar.gz":
            with tarfile.open(packed, "w:gz") as archive:
                for name, data in (("inner.zip", INNER), ("deep/a.log", text)):
                    about = tarfile.TarInfo(name)
                    about.size = len(data)
                    archive.addfile(about, io.BytesIO(data))
    return packed, "deep/a.log" if kind in ("zip", "tar.gz") else ""


def row_of(store: Store, packed: Path, member: str) -> LedgerRow:
    (row,) = ledger_rows(store, Path(join_member(str(packed), member)))
    return row


KINDS = pytest.mark.parametrize("kind", ["zst", "json", "zip", "tar.gz"])


@KINDS
def test_a_packed_log_is_loaded_and_known_and_read_again(
    store_settings: Settings, store: Store, tmp_path: Path, kind: str
) -> None:
    name = f"packed_{kind.replace('.', '_')}"
    settings, made = own(store_settings, name), store.catalog.register(source(name))
    packed, member = pack(tmp_path, 3_000, kind)
    result = load(settings, packed, feed=made.name)
    (file,) = result.files
    assert (file.events, len(file.left_out)) == (3_000, 1 if member else 0)
    assert all("inner.zip: is a zip archive: an archive in an archive" in reason for reason in file.left_out)
    assert counts(store, made) == exactly(made, 3_000)
    known = load(settings, packed, feed=made.name)
    assert known.files[0].is_known
    assert load(settings, packed, feed=made.name, again=True).events == 3_000
    assert counts(store, made) == exactly(made, 3_000)
    # The same content is the same log, in whatever it is packed.
    if kind != "json":
        assert load(settings, log_file(tmp_path / "plain.log", 3_000), feed=made.name).files[0].is_known


@pytest.mark.parametrize("kind", ["zst", "zip"])
def test_a_worker_that_stops_in_a_packed_log_leaves_all_to_the_next(
    store_settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    settings = own(store_settings, f"stops_{kind}", chunk_bytes=4096)
    made = store.catalog.register(source(f"stops_{kind}"))
    packed, member = pack(tmp_path, 20_000, kind)
    (tmp_path / "sitecustomize.py").write_text(SLOW_DISK)
    with ItemProducer(settings) as producer:
        Intake(store, Ledger(store), producer).offer_file(str(packed), made.name)
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        with pool(settings):
            wait_for(lambda: row_of(store, packed, member).progress > 0)
    row = row_of(store, packed, member)
    assert row.run is not None and 0 < row.run.events < 20_000
    with worker_here(replace(settings, chunk_bytes=1 << 20)):
        wait_for(lambda: row_of(store, packed, member).state == "done")
    assert counts(store, made) == exactly(made, 20_000)
    item = row_of(store, packed, member).item
    assert item is not None
    with store.sink() as sink:
        read_item(ReadTask(store, sink, item, begun=True))
    assert counts(store, made) == exactly(made, 20_000)


def test_lines_of_a_member_are_retried_by_its_name(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, made = own(store_settings, "unpacked"), store.catalog.register(source("unpacked"))
    packed = tmp_path / "a.zip"
    bad = [line(number, extra=number) for number in range(100)]
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bad.log", "\n".join(bad) + "\n")
        archive.writestr("good.log", "".join(line(number) + "\n" for number in range(100, 300)))
    result = load(settings, packed, feed=made.name)
    assert (result.events, result.quarantined) == (200, 100)
    name = f"{packed}/bad.log"
    found = list(Quarantine(store).open_lines(name))
    assert [q.offset for q in found] == [sum(len(text) + 1 for text in bad[:number]) for number in range(100)]
    made = store.catalog.register(source("unpacked", extra=({"name": "extra", "type": "int"},)))
    assert retry_lines(store, path=name).events == 100
    assert counts(store, made) == exactly(made, 300)
    assert load(settings, packed, feed=made.name, again=True).events == 300
    assert counts(store, made) == exactly(made, 300)
