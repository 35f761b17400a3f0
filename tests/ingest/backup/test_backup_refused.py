"""A backup that was changed, is not whole, or does not fit the store is refused before the store is changed.

In `make test`: one export of 40 events, copied for each fault.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest_support import load, log_file, own, source

from watchfloor.ingest.backup import export
from watchfloor.ingest.backup.export import export_sources
from watchfloor.ingest.backup.restore import import_sources
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import OperatorError, StoreError, UserError, WatchfloorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.clones import clone_tables, drop_clones, drop_stale_clones, name_clones
from watchfloor.store.admin.format_version import FORMAT, check_format
from watchfloor.store.admin.tables import SOURCES_TABLE, list_tables
from watchfloor.store.backup import import_claim
from watchfloor.store.backup.manifest import MANIFEST, read_manifest
from watchfloor.store.catalog import IMPORT_FAMILY
from watchfloor.store.layouts.block.epochs.epochs import EpochWriter
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def kind(store: Store, store_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Source:
    registered = store.catalog.register(source("refused"))
    path = log_file(tmp_path_factory.mktemp("log") / "a.log", 40)
    load(own(store_settings, "refused"), path, feed=registered.name)
    return registered


@pytest.fixture(scope="module")
def exported(store: Store, kind: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "backup"
    export_sources(store, [kind.name], folder)
    return folder


@pytest.fixture
def backup(exported: Path, tmp_path: Path) -> Path:
    return shutil.copytree(exported, tmp_path / "copy")


def refuse(store: Store, backup: Path, copy: str, message: str, error: type[WatchfloorError] = UserError) -> None:
    """Imports a backup as the source ``copy``. Fails unless that is refused and nothing is left of it."""
    before = set(list_tables(store.connection))
    with pytest.raises(error, match=message):
        import_sources(store, backup, copy)
    assert set(list_tables(store.connection)) == before
    assert not len(store.read_catalog_row(copy).entries)


def first_file(backup: Path, kind: Source, table: str = "event") -> Path:
    return sorted((backup / kind.name / table).iterdir())[0]


def test_a_changed_file_is_named(store: Store, backup: Path, kind: Source) -> None:
    for table in ("event", "index", "aggregate", "sightings"):
        path = first_file(backup, kind, table)
        whole = path.read_bytes()
        middle = len(whole) // 2
        for damaged in (
            whole[:-1],
            whole + b"x",
            b"",
            whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        ):
            path.write_bytes(damaged)
            refuse(store, backup, f"{kind.name}_other", f"{table}/{path.name}: .*changed or damaged")
        path.write_bytes(whole)


def test_a_missing_file_and_one_that_is_a_link_are_named(store: Store, backup: Path, kind: Source) -> None:
    path = first_file(backup, kind)
    moved = path.rename(path.with_name("moved"))
    refuse(store, backup, f"{kind.name}_other", f"{path.name}: No such file")
    path.symlink_to(moved)
    refuse(store, backup, f"{kind.name}_other", f"{path.name}: .*symbolic links")
    path.unlink()
    os.mkfifo(path)
    refuse(store, backup, f"{kind.name}_other", f"{path.name}: ")


def test_a_folder_without_a_manifest_is_no_backup(store: Store, tmp_path: Path, kind: Source) -> None:
    for folder in (tmp_path, tmp_path / "nothing"):
        refuse(store, folder, f"{kind.name}_other", "is no whole backup: manifest.json: No such file")


@pytest.mark.parametrize(
    ("path", "value", "message", "error"),
    [
        ("format", FORMAT + 1, f"format {FORMAT + 1}, .*use the newer version", StoreError),
        ("format", 0, "format 0, .*older version", StoreError),
        ("format", "1", "format", UserError),
        ("sources", {}, "sources", UserError),
        ("sources", {"../../etc": {}}, "sources", UserError),
        ("records/../x", {}, "records", UserError),
        ("sources/NAME/tables/event/files/0/name", "../../a.rf", "name", UserError),
        ("sources/NAME/tables/event/files/0/name", "/etc/passwd", "name", UserError),
        ("sources/NAME/tables/event/files/0/name", "0000.rf\n", "name", UserError),
        ("sources/NAME/tables/event/files/0/bytes", -1, "bytes", UserError),
        ("sources/NAME/tables/event/digest", "0" * 31, "digest", UserError),
        ("sources/NAME/definition/fields", [], "fields", UserError),
        ("sources/NAME/definition/name", "another.name", "definition of another.name", UserError),
        ("sources/NAME/definition/shards", 10**9, "shards", UserError),
        ("sources/NAME/keep", 1, "keep", UserError),
        ("made_at", "now", "made_at", UserError),
        ("more", 1, "more", UserError),
    ],
)
def test_a_wrong_manifest_is_refused_with_the_place(
    store: Store, backup: Path, kind: Source, path: str, value: Any, message: str, error: type[WatchfloorError]
) -> None:
    fields = json.loads((backup / MANIFEST).read_text())
    way = [part if part != "NAME" else kind.name for part in path.split("/")]
    here: Any = fields
    for part in way[:-1] if ".." not in way else way[:1]:
        here = here[int(part)] if isinstance(here, list) else here[part]
    here[way[-1]] = value
    (backup / MANIFEST).write_text(json.dumps(fields))
    refuse(store, backup, f"{kind.name}_other", message, error)


def test_a_source_named_by_a_path_leaves_the_folder_alone(store: Store, backup: Path, kind: Source) -> None:
    fields = json.loads((backup / MANIFEST).read_text())
    fields["sources"] = {"../outside": fields["sources"].pop(kind.name)}
    (backup / MANIFEST).write_text(json.dumps(fields))
    refuse(store, backup, f"{kind.name}_other", "has a definition of")


@given(st.binary(max_size=200))
def test_any_bytes_as_a_manifest_are_a_clear_error(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / MANIFEST).write_bytes(text)
    with pytest.raises(UserError, match=MANIFEST):
        read_manifest(folder)


def test_entries_that_are_not_those_of_the_manifest_are_never_shown(store: Store, backup: Path, kind: Source) -> None:
    """Files and sizes are right, the digest of the entries is not: as if a server had lost some."""
    fields = json.loads((backup / MANIFEST).read_text())
    fields["sources"][kind.name]["tables"]["index"]["digest"] = "0" * 32
    (backup / MANIFEST).write_text(json.dumps(fields))
    refuse(store, backup, f"{kind.name}_lost", "index: the store has .* entries .*nothing of it is shown", StoreError)


def test_a_source_that_exists_is_not_overwritten(store: Store, backup: Path, kind: Source) -> None:
    before = store.catalog.read_sources()[kind.name]
    with pytest.raises(UserError, match=f"{kind.name} exists already: .*--as NAME"):
        import_sources(store, backup)
    assert store.catalog.read_sources()[kind.name] == before


def test_a_source_that_is_being_imported_is_made_by_nobody_else(
    store: Store, backup: Path, kind: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{kind.name}_claimed"
    other = import_claim.claim_source(store, kind_named(kind, name), "digest")
    assert other
    with pytest.raises(OperatorError, match="is being imported by process"):
        import_sources(store, backup, name)
    with pytest.raises(StoreError, match="is being imported: wait"):
        store.catalog.register(kind_named(kind, name))
    assert name not in store.catalog.read_sources()
    monkeypatch.setattr(import_claim.ImportClaim, "is_gone", True)
    assert import_sources(store, backup, name).events == {name: 40}
    families = store.read_catalog_row(name).entries.column("family").to_pylist()
    assert IMPORT_FAMILY not in families


def kind_named(kind: Source, name: str) -> Source:
    return parse_definition({**kind.definition, "name": name})


def test_an_export_into_a_folder_with_files_is_refused(store: Store, kind: Source, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="not empty"):
        export_sources(store, [kind.name], tmp_path)
    with pytest.raises(UserError, match="cannot be made: File exists"):
        export_sources(store, [kind.name], tmp_path / "file" / "backup")


def test_an_export_that_fails_leaves_an_empty_folder(
    store: Store, kind: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export, "write_manifest", fail)
    with pytest.raises(OperatorError, match="backup cannot be written: No space left on device"):
        export_sources(store, [kind.name], tmp_path / "backup")
    assert not list((tmp_path / "backup").iterdir())


def test_an_export_waits_for_an_open_epoch_and_begins_anew_when_its_own_is_aborted(
    store: Store, kind: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aborted = []
    commit = EpochWriter.commit_epoch

    def abort_first(self: EpochWriter) -> Any:
        if not aborted:
            aborted.append(EpochWriter(store, kind).await_turn(0))
        return commit(self)

    monkeypatch.setattr(EpochWriter, "commit_epoch", abort_first)
    done = export_sources(store, [kind.name], tmp_path / "backup")
    assert aborted and done.manifest.sources[kind.name].events == 40


def test_only_clones_of_processes_that_have_ended_are_dropped(store: Store) -> None:
    mine = name_clones([SOURCES_TABLE])
    clone_tables(store.connection, mine)
    drop_stale_clones(store.connection)
    (name,) = mine.values()
    assert name in list_tables(store.connection)
    gone = name.replace(name.partition("clone_")[2], "GARBAGE_0")
    clone_tables(store.connection, {SOURCES_TABLE: gone})
    drop_stale_clones(store.connection)
    assert gone in list_tables(store.connection), "nothing tells who made it"
    drop_clones(store.connection, [name, gone])
    assert not {name, gone} & set(list_tables(store.connection))


def test_a_store_of_another_format_is_opened_by_nobody(store_settings: Settings, store: Store) -> None:
    cell = (b"\x00store", b"format", b"")
    check_format(store.connection)
    assert store.swap(SOURCES_TABLE, cell, str(FORMAT).encode(), str(FORMAT + 1).encode())
    try:
        for role in ("ingest", "query"):
            with pytest.raises(StoreError, match=f"format {FORMAT + 1}, .*use the newer version"):
                Store.open(store_settings, role=role)  # type: ignore[arg-type]
    finally:
        assert store.swap(SOURCES_TABLE, cell, str(FORMAT + 1).encode(), str(FORMAT).encode())
