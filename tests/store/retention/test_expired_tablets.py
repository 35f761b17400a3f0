"""The tablets that a removal writes anew: all that may have expired events, and no other.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from watchfloor.store.admin.expired_rows import find_expired_tablets
from watchfloor.store.encoding.keys import HOUR, reverse_time, shard_name, shard_names
from watchfloor.store.retention.policy import RetentionPolicy

TIMES = st.integers(0, 40)


def row(shard: int, time: int) -> bytes:
    return shard_name(shard) + reverse_time(time) + b"hash...."


@given(st.integers(1, 4), st.integers(1, 40), st.data())
def test_exactly_the_tablets_with_rows_of_expired_events_are_found(
    shards: int, kept_from: int, data: st.DataObject
) -> None:
    """Every shard has an event of each time; tablets end between shards and at some events."""
    splits = set(shard_names(shards)[1:])
    splits |= {row(s, t) for s, t in data.draw(st.sets(st.tuples(st.integers(0, shards - 1), TIMES), max_size=6))}
    ends = sorted(splits)
    found = find_expired_tablets(ends, shards, kept_from)
    rows = [(row(s, t), t < kept_from) for s in range(shards) for t in range(41)]
    for before, last in zip([None, *ends], [*ends, None], strict=True):
        inside = [
            expired for key, expired in rows if (before is None or key > before) and (last is None or key <= last)
        ]
        covered = any(
            (start is None or (before is not None and start <= before))
            and (end is None or (last is not None and last <= end))
            for start, end in found
        )
        if any(inside):
            assert covered, (before, last)
        elif inside:
            assert not covered, (before, last)


def test_one_tablet_a_shard_is_one_range() -> None:
    assert find_expired_tablets(shard_names(4)[1:], 4, 10) == [(None, None)]


@given(st.integers(1, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_the_index_is_written_anew_when_an_eighth_has_expired(keep: int, gone: int, later: int) -> None:
    policy = RetentionPolicy(keep * HOUR, 0, 0, gone * HOUR)
    due = policy.is_index_due((gone + later) * HOUR)
    assert due == (later >= keep / 8 if gone else later > 0)
    assert RetentionPolicy(None, 0, 0, gone * HOUR).is_index_due((gone + later) * HOUR) == (later > 0)
