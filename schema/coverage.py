"""The protocol by which an index becomes usable that is added to a source with events.

1. An index *starts*: the definition has it, and it covers no event (``covers_from`` is the end of time).
2. Writers that still use the old definition re-read the catalog after their flush and, if the index was added
   meanwhile, write their item again (``lacks_index``). Therefore every event without index entries was durable before
   the index started, and is not newer than the newest event at that time.
3. The index *covers from* the time after that newest event (``cover_from``), and queries of later ranges use it.
4. Older events are *backfilled*, and the index becomes *complete*: it covers all events (``complete_indexes``). This
   is not done for sightings, which stand by work item: a compaction does not know of which items the events are.

All functions are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from .field import SIGHTINGS_INDEX, Field, Index, IndexKind
from .source import Source
from .times import END_OF_TIME

_BACKFILLED = (IndexKind.VALUES, IndexKind.REVERSED)


def add_sightings(source: Source) -> Source:
    """Returns ``source`` with the sightings of all its indexed fields that have a kind."""
    changed = {
        f.name: replace(f, indexes=(*f.indexes, SIGHTINGS_INDEX))
        for f in source.indexed_fields
        if f.kind and not f.is_sighted
    }
    return source.replace_fields(changed)


def start_indexes(stored: Source, requested: Iterable[Field]) -> Source:
    """Returns ``stored`` with the indexes of ``requested`` fields that it lacks; the new ones cover no event yet.

    Skips a field that ``stored`` lacks or has with another type.
    """
    changed: dict[str, Field] = {}
    for field in requested:
        known = stored.fields_by_name.get(field.name)
        if known is None or known.arrow != field.arrow or known.scalar != field.scalar:
            continue
        started = [Index(index.kind, END_OF_TIME) for index in field.indexes if known.find_index(index.kind) is None]
        if started:
            indexes = sorted((*known.indexes, *started), key=lambda index: index.kind.value)
            changed[field.name] = replace(known, indexes=tuple(indexes))
    return stored.replace_fields(changed)


def has_started_index(source: Source) -> bool:
    """Returns True if the source has an index that covers no event yet."""
    return any(index.covers_from == END_OF_TIME for f in source.fields for index in f.indexes)


def cover_from(source: Source, start: int) -> Source:
    """Returns ``source`` with its started indexes covering events of ``start`` (µs) and later."""
    return _replace_indexes(
        source, lambda _, index: replace(index, covers_from=start) if index.covers_from == END_OF_TIME else index
    )


def complete_indexes(source: Source, before: Source) -> Source:
    """Returns ``source`` with its backfilled indexes, which are those of its own tables, complete.

    ``before`` is the source as it was when the backfill began. An index that has changed since then stays as it is.
    """

    def complete_index(field: Field, index: Index) -> Index:
        known = before.fields_by_name.get(field.name)
        backfilled = known is not None and known.find_index(index.kind) == index and index.kind in _BACKFILLED
        return replace(index, covers_from=0) if backfilled else index

    return _replace_indexes(source, complete_index)


def has_partial_index(source: Source) -> bool:
    """Returns True if the source has an index that does not cover all events and can be backfilled."""
    return any(index.covers_from for f in source.fields for index in f.indexes if index.kind in _BACKFILLED)


def cover_all(source: Source) -> Source:
    """Returns ``source`` with indexes that cover all events, as is true while a store has no events of the source."""
    return _replace_indexes(source, lambda _, index: replace(index, covers_from=0))


def lacks_index(written: Source, now: Source) -> bool:
    """Returns True if events written by the definition ``written`` lack entries of an index that ``now`` has."""
    return any(
        f.find_index(index.kind) is None
        for f in written.fields
        if (present := now.fields_by_name.get(f.name)) is not None
        for index in present.indexes
    )


def _replace_indexes(source: Source, change: Callable[[Field, Index], Index]) -> Source:
    """Returns ``source`` with each index replaced by what ``change`` makes of it."""
    changed: dict[str, Field] = {}
    for field in source.fields:
        indexes = tuple(change(field, index) for index in field.indexes)
        if indexes != field.indexes:
            changed[field.name] = replace(field, indexes=indexes)
    return source.replace_fields(changed)
