"""The claim of a source that is being imported: an entry in its row of the catalog, which has no definition yet.

It says which process imports the source, and which backup. Nobody else makes the source while the claim stands. The
definition is written when all entries are there, so that the source appears at one moment; the claim goes last.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import OperatorError, UserError
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import SOURCES_TABLE, drop_source
from watchfloor.store.catalog import DEFINITION_FAMILY, IMPORT_FAMILY
from watchfloor.store.layouts.held_sources import restore_epoch
from watchfloor.store.retention.policy import begin_removal, set_keep
from watchfloor.store.runtime.process_identity import ProcessIdentity
from watchfloor.store.store import Store

from .manifest import SourceBackup


@dataclass(frozen=True)
class ImportClaim:
    """The process that imports a source, and the digest of the manifest that it imports."""

    host: str
    pid: int
    started: float
    manifest: str

    @property
    def is_gone(self) -> bool:
        return ProcessIdentity(self.host, self.pid, self.started).is_gone()


def claim_source(store: Store, source: Source, manifest: str) -> bool:
    """Claims a source, after what an import that broke off has left was removed.

    Returns false if an import of the same backup broke off when the source was complete: then it only lacks rows of the
    ledger. Raises ``UserError`` if the source exists, ``OperatorError`` if another process imports it.
    """
    me = ProcessIdentity.of_pid()
    mine = json.dumps(asdict(ImportClaim(me.host, me.pid, me.started or 0.0, manifest))).encode()
    entries = store.read_catalog_row(source.name).entries
    found = _find_value(entries, IMPORT_FAMILY)
    is_defined = _find_value(entries, DEFINITION_FAMILY) is not None
    if found is None and is_defined:
        raise UserError(
            f"the source {source.name} exists already: import the backup under another name with --as NAME, or into "
            "another store"
        )
    if found is not None:
        claim = ImportClaim(**json.loads(found))
        if not claim.is_gone:
            raise OperatorError(
                f"{source.name} is being imported by process {claim.pid} on {claim.host}: wait for it; if that host is "
                f"gone for good, import there again or remove the row {source.name} of {SOURCES_TABLE}"
            )
        if is_defined and claim.manifest == manifest:
            return False
        if is_defined:
            raise OperatorError(
                f"an import of another backup of {source.name} broke off at its end: import that one again"
            )
        drop_source(store.connection, source)
    if not store.swap(SOURCES_TABLE, (source.name.encode(), IMPORT_FAMILY, b""), None, mine):
        raise OperatorError(f"{source.name} is being imported by another process: wait for it")
    return True


def publish_source(store: Store, source: Source, backup: SourceBackup) -> None:
    """Makes a claimed source visible, whose entries are all there."""
    name = source.name.encode()
    restore_epoch(store, source, backup.epoch)
    if backup.keep is not None:
        set_keep(store, source.name, backup.keep)
    if backup.removed_before:
        begin_removal(store, source.name, backup.removed_before)
    if not store.swap(SOURCES_TABLE, (name, DEFINITION_FAMILY, b""), None, source.to_json().encode()):
        raise OperatorError(f"another process has made the source {source.name} meanwhile: import it with --as NAME")


def release_source(store: Store, source: Source) -> None:
    """Removes the claim of a source that is complete."""
    key = {"row": [source.name.encode()], "family": [IMPORT_FAMILY], "qualifier": [b""], "visibility": [b""]}
    with store.sink() as sink:
        batch = pa.RecordBatch.from_pydict({name: pa.array(value, pa.binary()) for name, value in key.items()})
        sink.delete_entries(SOURCES_TABLE, batch)
        sink.flush()


def _find_value(entries: pa.RecordBatch, family: bytes) -> bytes | None:
    values = entries.filter(pc.equal(entries.column("family"), family)).column("value").to_pylist()
    return values[0] if values else None
