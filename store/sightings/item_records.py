"""Records of the sightings that a work item has written: their keys, field by field.

A reading writes its records before its sightings, so that a later reading knows all sightings that there may be of an
earlier one, also of one that broke off. A record is named by a digest of its content: a reading that writes the same
keys writes the same records. The next reading deletes the sightings of other records, and then these records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import SIGHTINGS_TABLE
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.byte_arrays import split_bytes
from watchfloor.store.encoding.keys import REVTS_BYTES
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.index.stale_counts import SinkOpener
from watchfloor.store.layout import TableWrite
from watchfloor.store.reader import Reader

from .sighted_rows import make_item_row, name_field

_RECORD_KEYS = 1 << 16
"""The largest number of sightings whose keys are in one entry."""
_DIGEST_BYTES, _NUMBER_BYTES = 8, 4
_RECORDS = pa.schema([(name, pa.binary()) for name in ("qualifier", "visibility", "value")])
_KEY = ("row", "qualifier", "visibility")
_Key = tuple[bytes, bytes, bytes]
"""Row, qualifier and visibility of a sighting."""


def make_records(source: str, field: str, item_id: bytes, sightings: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the records of a field's sightings, which are all of one visibility."""
    packed = [_pack_keys(sightings.slice(start, _RECORD_KEYS)) for start in range(0, len(sightings), _RECORD_KEYS)]
    digest = blake2b(b"".join(packed), digest_size=_DIGEST_BYTES).digest()
    name = digest + name_field(source, field)
    return pa.RecordBatch.from_pydict(
        {
            "row": pa.array([make_item_row(item_id)] * len(packed), pa.binary()),
            "qualifier": pa.array([name + n.to_bytes(_NUMBER_BYTES, "big") for n in range(len(packed))], pa.binary()),
            "visibility": sightings.column("visibility").slice(0, len(packed)),
            "value": pa.array([_compress(keys) for keys in packed], pa.binary()),
        }
    )


def read_item_records(reader: Reader, source: Source, item_id: bytes) -> pa.Table:
    """Reads the records (qualifier, visibility, value) of all sightings that a work item may have of a source."""
    row = Ranges()
    row.add_row(make_item_row(item_id))
    batches = [batch.select(_RECORDS.names).cast(_RECORDS) for batch in reader.scan(EntryScan(SIGHTINGS_TABLE, row))]
    records = pa.Table.from_batches(batches, _RECORDS)
    own = source.name.encode() + b"\x00"
    names = records.column("qualifier").to_pylist()
    return records.filter(pa.array([name.startswith(own, _DIGEST_BYTES) for name in names], pa.bool_()))


def remove_stale_sightings(sinks: SinkOpener, item_id: bytes, records: pa.Table, written: Sequence[TableWrite]) -> None:
    """Deletes durably the sightings in an item's ``records`` that are not in ``written``, those of its last reading.

    Then deletes the records of other readings.
    """
    names = {(name, visibility) for write in written if write.ahead for _, name, visibility in _list_keys(write.batch)}
    outdated = [r for r in records.to_pylist() if (r["qualifier"], r["visibility"]) not in names]
    if not outdated:
        return
    current = {key for write in written if not write.ahead for key in _list_keys(write.batch)}
    stale = {key: None for record in outdated for key in _read_keys(record, item_id) if key not in current}
    row = make_item_row(item_id)
    with sinks.sink() as sink:
        for keys in (list(stale), [(row, record["qualifier"], record["visibility"]) for record in outdated]):
            arrays = [pa.array(column, pa.binary()) for column in zip(*keys, strict=True)]
            if arrays:
                sink.delete_entries(SIGHTINGS_TABLE, pa.RecordBatch.from_arrays(arrays, names=_KEY))
            sink.flush()


def _list_keys(batch: pa.RecordBatch) -> list[_Key]:
    return list(zip(*(batch.column(name).to_pylist() for name in _KEY), strict=True))


def _read_keys(record: Mapping[str, bytes], item_id: bytes) -> Iterator[_Key]:
    """Yields the keys of the sightings of a record."""
    suffix = record["qualifier"][_DIGEST_BYTES:-_NUMBER_BYTES] + item_id
    for row, time in zip(*_unpack_keys(record["value"]), strict=True):
        yield row, time + suffix, record["visibility"]


def _pack_keys(sightings: pa.RecordBatch) -> bytes:
    """Returns the rows of sightings and the times in their qualifiers: their number, the times, lengths and rows."""
    rows = sightings.column("row").cast(pa.binary())
    times = pc.binary_slice(sightings.column("qualifier").cast(pa.binary()), 0, REVTS_BYTES)
    lengths = pc.binary_length(rows).to_numpy().astype("<i4")
    head = np.array([len(rows)], "<i4").tobytes()
    return b"".join((head, *times.to_pylist(), lengths.tobytes(), *rows.to_pylist()))


def _unpack_keys(value: bytes) -> tuple[list[bytes], list[bytes]]:
    """Returns the rows and the times of a record's sightings."""
    data = memoryview(_decompress(value))
    number = int.from_bytes(data[:4], "little")
    times, lengths = data[4 : 4 + REVTS_BYTES * number], data[4 + REVTS_BYTES * number :]
    ends = np.concatenate(([0], np.cumsum(np.frombuffer(lengths, "<i4", number)))).astype(np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(lengths[4 * number :])]
    rows = pa.Array.from_buffers(pa.binary(), number, buffers)
    return rows.to_pylist(), split_bytes(np.frombuffer(times, np.uint8), REVTS_BYTES).to_pylist()


def _compress(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + pa.compress(data, "zstd", asbytes=True)


def _decompress(value: bytes) -> bytes:
    return bytes(pa.decompress(value[4:], int.from_bytes(value[:4], "little"), "zstd", asbytes=True))
