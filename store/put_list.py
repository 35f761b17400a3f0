"""Writes and removes named lists; ``value_lists.py`` says how they are stored."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from secrets import token_hex

import pyarrow as pa

from watchfloor.schema.errors import UnknownListError, UserError
from watchfloor.schema.field import Field
from watchfloor.schema.filter.value_list import is_list_name
from watchfloor.schema.lists.list_file import ListValues
from watchfloor.schema.visibility.expressions import LABEL_FORM, is_label, is_satisfied, list_labels
from watchfloor.store.admin.labels import read_user_labels
from watchfloor.store.admin.tables import LISTS_TABLE
from watchfloor.store.bridge.sinks import EntrySink
from watchfloor.store.encoding.addresses import network_bounds
from watchfloor.store.encoding.value_sets import make_value_set
from watchfloor.store.encoding.values import encode_elements

from .store import Store
from .value_lists import (
    ListDetails,
    StoredList,
    make_piece_qualifier,
    make_version_qualifier,
    read_lists,
)

KEPT_VERSIONS = 3
"""The number of versions of a list that are kept, for queries that go on by a cursor."""
PIECE_BYTES = 1 << 20
_Cell = tuple[bytes, bytes, bytes]
"""A row, a qualifier, a value."""


def put_list(
    store: Store,
    name: str,
    values: ListValues,
    label: str | None = None,
    expires: int | None = None,
    labels: Collection[str] | None = None,
) -> StoredList:
    """Stores a new version of a list, which readers then find instead of the one before it. Returns what was stored.

    ``label`` is the visibility of all versions; None keeps that of the version before. ``expires`` is a time in µs.
    ``labels`` are those of the one who puts it; None stands for all. Raises ``UserError`` for a bad name or label, and
    for the name of a list that ``labels`` hide; ``NoRoomError``.
    """
    if not is_list_name(name):
        raise UserError(
            f"{name[:200]!r} is no name of a list: use letters, digits, _ and -, at most 100, no digit first"
        )
    store.check_room()
    known = _read_all(store).get(name, [])
    if known and not _is_seen(known, labels):
        raise UserError(f"the name {name} is taken by a list that you do not see; choose another one")
    label = (known[0].label if known else "") if label is None else check_visibility(label)
    store.grant_labels(set(list_labels(label)))
    content = make_value_set(
        encode_elements(Field(name, values.scalar), values.values), list(map(network_bounds, values.networks))
    )
    details = ListDetails(tuple(map(str, values.networks)), values.comments).pack()
    pieces, detail_pieces = _split(content.packed), _split(details)
    stored = StoredList(
        name=name,
        version=max(time.time_ns() // 1000, known[0].version + 1 if known else 0),
        type=values.type,
        scalar=values.scalar.value,
        values=len(values.values),
        networks=len(values.networks),
        label=label,
        expires=expires,
        upload=token_hex(16),
        pieces=len(pieces),
        detail_pieces=len(detail_pieces),
    )
    cells = [(kind, i, piece) for kind, some in (("v", pieces), ("d", detail_pieces)) for i, piece in enumerate(some)]
    with store.sink() as sink:
        for kind, number, piece in cells:
            _write_cells(sink, [(stored.values_row, make_piece_qualifier(kind, number), piece)], label)
        sink.flush()
        _write_cells(sink, [(stored.row, make_version_qualifier(stored.version), _dump(stored))], label)
        sink.flush()
        # A version of another label would be the newest one for who sees it alone.
        _remove_versions(sink, [one for i, one in enumerate(known) if one.label != label or i >= KEPT_VERSIONS - 1])
    return stored


def remove_list(store: Store, name: str, labels: Collection[str] | None = None) -> None:
    """Removes a list with all its versions.

    Raises ``UnknownListError`` if there is none of this name, or if ``labels`` (None: all) hide it.
    """
    known = {one: versions for one, versions in _read_all(store).items() if _is_seen(versions, labels)}
    if name not in known:
        raise UnknownListError(name, known)
    with store.sink() as sink:
        _remove_versions(sink, known[name])


def check_visibility(label: str) -> str:
    """Returns a visibility expression; raises ``UserError`` if it is none: labels joined all by ``&`` or by ``|``."""
    names = label.split("&" if "&" in label else "|")
    if label and not all(map(is_label, names)):
        raise UserError(
            f"{label[:200]!r} is no label: write one, or several joined all by & or all by |; a label is {LABEL_FORM}"
        )
    return label


def _read_all(store: Store) -> dict[str, list[StoredList]]:
    """Returns the versions of all lists, whatever their labels."""
    every = read_user_labels(store.connection, store.user)
    return read_lists(store.with_authorizations(every))


def _is_seen(versions: Sequence[StoredList], labels: Collection[str] | None) -> bool:
    """Returns whether ``labels`` (None: all) show a list, whose versions all have the same visibility."""
    return labels is None or is_satisfied(versions[0].label, labels)


def _remove_versions(sink: EntrySink, versions: Sequence[StoredList]) -> None:
    """Removes versions: first the cells by which readers find them, then their values."""
    for one in versions:
        _delete_cells(sink, [(one.row, make_version_qualifier(one.version))], one.label)
    sink.flush()
    for one in versions:
        kinds = (("v", one.pieces), ("d", one.detail_pieces))
        keys = [(one.values_row, make_piece_qualifier(kind, i)) for kind, count in kinds for i in range(count)]
        _delete_cells(sink, keys, one.label)
    sink.flush()


def _split(data: bytes) -> list[bytes]:
    return [data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES)]


def _dump(stored: StoredList) -> bytes:
    return json.dumps(asdict(stored)).encode()


def _write_cells(sink: EntrySink, cells: Sequence[_Cell], label: str) -> None:
    columns = _make_columns(((row, qualifier) for row, qualifier, _ in cells), label)
    columns["value"] = pa.array([value for _, _, value in cells], pa.binary())
    sink.write_entries(LISTS_TABLE, pa.RecordBatch.from_pydict(columns))


def _delete_cells(sink: EntrySink, keys: Sequence[tuple[bytes, bytes]], label: str) -> None:
    sink.delete_entries(LISTS_TABLE, pa.RecordBatch.from_pydict(_make_columns(keys, label)))


def _make_columns(keys: Iterable[tuple[bytes, bytes]], label: str) -> dict[str, pa.Array]:
    rows, qualifiers = zip(*keys, strict=True)
    return {
        "row": pa.array(rows, pa.binary()),
        "qualifier": pa.array(qualifiers, pa.binary()),
        "visibility": pa.array([label.encode()] * len(rows), pa.binary()),
    }
