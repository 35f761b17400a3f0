"""Lists and saved searches come back with a backup, and none that is there with another content is overwritten.

In `make test`: some lists of a few values, on the stack of the run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from ingest_support import RUN, load, log_file, own, source

from watchfloor.ingest.backup.export import export_sources
from watchfloor.ingest.backup.restore import import_sources
from watchfloor.schema.errors import UnknownSearchError, UserError
from watchfloor.schema.lists.list_file import ListFormat, read_list
from watchfloor.schema.settings.settings import Settings
from watchfloor.store import value_lists
from watchfloor.store.admin.tables import drop_source
from watchfloor.store.backup.entry_files import read_entries, write_entries
from watchfloor.store.backup.manifest import RECORDS, read_manifest, write_manifest
from watchfloor.store.put_list import put_list, remove_list
from watchfloor.store.saved.searches import find_search, put_search, remove_search
from watchfloor.store.store import Store
from watchfloor.store.value_lists import ListDetails, StoredList, read_details, read_lists

pytestmark = pytest.mark.stack
PLAIN, LABELLED = f"plain{RUN}", f"labelled{RUN}"
OWNER, LABEL = f"analyst{RUN}", f"hush{RUN}"
SEARCH = {"source": "zeek.conn", "where": "id.orig_h in @bad"}


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def put(store: Store, name: str, text: str, label: str | None = None) -> StoredList:
    return put_list(store, name, read_list(text.encode(), ListFormat()), label)


def read(store: Store, name: str) -> tuple[StoredList, bytes, ListDetails]:
    """Returns the newest version of a list, as a reader with its label sees it: with its values and its details."""
    seeing = store.with_authorizations([LABEL])
    newest = read_lists(seeing, name)[name][0]
    values = value_lists._read_pieces(seeing, newest, "v", newest.pieces)
    return newest, values, read_details(seeing, name, newest.version)


def spoil_lists(folder: Path) -> Iterator[None]:
    """Puts something that is no list in the place of a backup's lists, one after the other; the manifest fits it."""
    manifest, _ = read_manifest(folder)
    whole = next(read_entries(folder / RECORDS / "lists", manifest.records["lists"])).slice(0, 1)
    for value in (b"no JSON", b"{}", b"[1]", b'{"name": "other"}', whole.column("value")[0].as_py()):
        bad = whole.set_column(0, "row", pa.array([b"lnobody"])).set_column(4, "value", pa.array([value]))
        shutil.rmtree(folder / RECORDS / "lists")
        records = {**manifest.records, "lists": write_entries([bad], folder / RECORDS / "lists")}
        write_manifest(folder, replace(manifest, records=records))
        yield


def test_lists_and_searches_come_back(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    kind = store.catalog.register(source("saved"))
    load(own(store_settings, "saved"), log_file(tmp_path / "a.log", 20), feed=kind.name)
    put(store, PLAIN, "10.0.0.1\n")
    put(store, PLAIN, "10.0.0.1 # a host\n10.3.0.0/16 # a botnet\n")
    put(store, LABELLED, "".join(f"value {n}\n" for n in range(500)), LABEL)
    put_search(store, OWNER, "mine", SEARCH)
    before = read(store, PLAIN), read(store, LABELLED)
    folder = tmp_path / "backup"
    export_sources(store, [kind.name], folder, saved=True)

    remove_list(store, PLAIN)
    remove_list(store, LABELLED)
    remove_search(store, OWNER, "mine")
    drop_source(store.connection, kind)
    import_sources(store, folder)
    assert (read(store, PLAIN), read(store, LABELLED)) == before
    assert LABELLED not in read_lists(store.with_authorizations([]))
    assert find_search(store, OWNER, "mine").search == SEARCH

    # Put anew with the same content, they stand in nobody's way; with another content they do.
    drop_source(store.connection, kind)
    put(store, PLAIN, "10.0.0.1 # a host\n10.3.0.0/16 # a botnet\n")
    import_sources(store, folder)
    assert read(store, PLAIN)[0].version > before[0][0].version
    drop_source(store.connection, kind)
    put(store, LABELLED, "value 1\n")
    remove_search(store, OWNER, "mine")
    with pytest.raises(UserError, match=f"the list {LABELLED}: there already with another content"):
        import_sources(store, folder)
    assert kind.name not in store.catalog.read_sources()
    with pytest.raises(UnknownSearchError):
        find_search(store, OWNER, "mine")
    remove_list(store, LABELLED)
    put_search(store, OWNER, "mine", {**SEARCH, "where": "other"})
    with pytest.raises(UserError, match=f"the search 'mine' of {OWNER}: there already with another content"):
        import_sources(store, folder)
    assert LABELLED not in read_lists(store.with_authorizations([LABEL]))
    assert kind.name not in store.catalog.read_sources()
    for _ in spoil_lists(folder):
        with pytest.raises(UserError, match="lists or searches cannot be read"):
            import_sources(store, folder)
    assert kind.name not in store.catalog.read_sources()
