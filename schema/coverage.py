"""Fields that become indexed when there are events already: from which events on their index is complete.

A new index covers nothing at first. Who writes events by the definition before it notices, when all is durable, that
the definition has changed, and writes them again (``lacks_index``). So whatever stays as it was written without the
index was durable before the index was in the definition; the newest event that there is by then is at least as new,
and of all later events the index is complete. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .source import Field, Source
from .times import END_OF_TIME


def with_indexes(stored: Source, wanted: Iterable[Field]) -> Source:
    """``stored`` with those of its fields indexed that are so among ``wanted``; new indexes cover nothing yet.

    A field that is of another type there, or that ``stored`` lacks, is passed over.
    """
    changed: dict[str, Field] = {}
    for field in wanted:
        known = stored.by_name.get(field.name)
        if known is None or known.arrow != field.arrow or known.scalar != field.scalar:
            continue
        new = known
        if field.indexed and not known.indexed:
            new = replace(new, indexed=True, indexed_from=END_OF_TIME)
        if field.reversed and not known.reversed:
            new = replace(new, reversed=True, reversed_from=END_OF_TIME)
        if new != known:
            changed[field.name] = new
    return stored.with_changed(changed)


def awaits_start(source: Source) -> bool:
    """Whether an index was begun of which it has not been said yet what it covers."""
    return any(END_OF_TIME in (f.indexed_from, f.reversed_from) for f in source.fields)


def with_start(source: Source, start: int) -> Source:
    """The indexes that cover nothing yet cover events of ``start`` (µs) and later."""
    return source.with_changed(
        {
            f.name: replace(
                f,
                indexed_from=start if f.indexed_from == END_OF_TIME else f.indexed_from,
                reversed_from=start if f.reversed_from == END_OF_TIME else f.reversed_from,
            )
            for f in source.fields
            if END_OF_TIME in (f.indexed_from, f.reversed_from)
        }
    )


def completed(source: Source, then: Source) -> Source:
    """The indexes of which ``then`` said from when on they are complete, and which have not begun anew, cover all."""
    changed: dict[str, Field] = {}
    for f in source.fields:
        before = then.by_name.get(f.name)
        if before is not None:
            new = replace(
                f,
                indexed_from=0 if f.indexed_from == before.indexed_from else f.indexed_from,
                reversed_from=0 if f.reversed_from == before.reversed_from else f.reversed_from,
            )
            if new != f:
                changed[f.name] = new
    return source.with_changed(changed)


def is_partial(source: Source) -> bool:
    """Whether there is an index that does not cover all events."""
    return any(f.indexed_from or f.reversed_from for f in source.fields)


def covering_all(source: Source) -> Source:
    """As a definition is where no events are yet, whatever another store has written into it."""
    changed = {f.name: replace(f, indexed_from=0, reversed_from=0) for f in source.fields}
    return source.with_changed({f.name: changed[f.name] for f in source.fields if changed[f.name] != f})


def lacks_index(written: Source, now: Source) -> bool:
    """Whether the index, as it is defined ``now``, lacks values of events that were written by another definition."""
    return any(
        (present.indexed and not f.indexed) or (present.reversed and not f.reversed)
        for f in written.fields
        if (present := now.by_name.get(f.name)) is not None
    )
