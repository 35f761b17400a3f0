"""The manifest of a backup: the sources in it, and each of its files with its size and digest.

A backup is a folder: ``manifest.json``, and for each source ``NAME/TABLE/NUMBER.rf``, the files of its tables, and
``NAME/sightings/0000.parquet``. The rows of the ledger and of the quarantine are ``records/items/0000.parquet`` and
``records/quarantine/0000.parquet``. The manifest is written last: a folder without one is no whole backup.

A manifest that is read is input from outside. No path in it is believed: paths follow from the names of sources, which
have no slash, and the numbers of files.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema

from watchfloor.schema.definition import describe_schema_error, parse_definition
from watchfloor.schema.errors import UserError
from watchfloor.schema.source import Source
from watchfloor.store.admin.format_version import refuse_format
from watchfloor.store.runtime.private_files import write_private

MANIFEST = "manifest.json"
RECORDS = "records"
"""The folder of the ledger's and the quarantine's rows; no source has this name, as it has no dot."""
_MAX_BYTES = 256 << 20
"""The most bytes of a manifest that are read: a million files."""


@dataclass(frozen=True)
class BackupFile:
    """A file of a table: its name within the table's folder, its size and its SHA-256."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class TableBackup:
    """The files of a table, or of a source's part of one; ``digest`` is that of all their entries."""

    entries: int
    digest: str
    files: tuple[BackupFile, ...]


@dataclass(frozen=True)
class SourceBackup:
    """A source: its definition, its retention (µs), the last epoch of its blocks, and its tables by kind.

    ``zones`` says that all its blocks have zones; those of earlier versions have none.
    """

    definition: Mapping[str, Any]
    keep: int | None
    removed_before: int
    epoch: int
    events: int
    tables: Mapping[str, TableBackup]
    zones: bool = False

    @property
    def source(self) -> Source:
        return parse_definition(self.definition, "definition in the manifest")


@dataclass(frozen=True)
class Manifest:
    """All that a backup has. ``made_at`` (µs since 1970 UTC) is the moment that it shows."""

    format: int
    version: str
    made_at: int
    sources: Mapping[str, SourceBackup]
    records: Mapping[str, TableBackup]

    def list_tables(self) -> Iterator[tuple[str, TableBackup]]:
        """Yields each table with its folder, relative to that of the backup."""
        for name, source in self.sources.items():
            for kind, table in source.tables.items():
                yield f"{name}/{kind}", table
        for kind, table in self.records.items():
            yield f"{RECORDS}/{kind}", table


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes the manifest into the folder of a backup, durably and in one step."""
    write_private(folder / MANIFEST, json.dumps(asdict(manifest), indent=1) + "\n")


def read_manifest(folder: Path) -> tuple[Manifest, str]:
    """Reads the manifest of a backup; returns it and the digest of its bytes.

    Raises ``UserError`` if the folder is no whole backup or the manifest is none, ``StoreError`` for data of a version
    that this program does not read.
    """
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UserError(
            f"{folder} is no whole backup: {MANIFEST}: {error.strerror}; name a folder that `watchfloor export` wrote "
            "to its end"
        ) from None
    if len(text) > _MAX_BYTES:
        raise UserError(f"{path}: more than {_MAX_BYTES:,} bytes: not a manifest of `watchfloor export`")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError(f"{path}: not JSON: the file is damaged") from None
    if isinstance(fields, dict) and isinstance(found := fields.get("format"), int):
        refuse_format(found, f"the data in {folder} have")
    fault = next(_load_validator().iter_errors(fields), None)
    if fault is not None:
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in fault.absolute_path)
        raise UserError(f"{path}{place}: {describe_schema_error(fault)}")
    return _make_manifest(path, fields), hashlib.sha256(text).hexdigest()


def check_files(folder: Path, manifest: Manifest) -> None:
    """Reads all files of a backup. Raises ``UserError`` with the name of one that is missing or not as it was."""
    for place, table in manifest.list_tables():
        for file in table.files:
            path = folder / place / file.name
            found = describe_file(path)
            if found != file:
                what = f"{found.bytes:,} bytes, not {file.bytes:,}" if found.bytes != file.bytes else "other content"
                raise UserError(f"{path}: {what}: changed or damaged since the export; take another copy of the backup")


def describe_file(path: Path, durable: bool = False) -> BackupFile:
    """Returns the description of a file as it is, which is forced to the disk first if it is to be ``durable``.

    A symbolic link is not followed. Raises ``UserError`` for one that cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            if durable:
                os.fsync(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return BackupFile(path.name, os.fstat(file.fileno()).st_size, digest)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: the backup is not whole; take another copy of it") from None


def _make_manifest(path: Path, fields: Mapping[str, Any]) -> Manifest:
    sources = {
        name: SourceBackup(**{**source, "tables": {kind: _make_table(t) for kind, t in source["tables"].items()}})
        for name, source in fields["sources"].items()
    }
    for name, source in sources.items():
        if source.source.name != name:
            raise UserError(f"{path}: the source {name!r} has a definition of {source.source.name}")
    records = {kind: _make_table(table) for kind, table in fields["records"].items()}
    return Manifest(**{**fields, "sources": sources, "records": records})


def _make_table(fields: Mapping[str, Any]) -> TableBackup:
    return TableBackup(fields["entries"], fields["digest"], tuple(BackupFile(**file) for file in fields["files"]))


@functools.cache
def _load_validator() -> jsonschema.Draft202012Validator:
    text = resources.files(__package__).joinpath("manifest.schema.json").read_text("utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))
