"""The merge of streams has all of their events in order, and starts no stream before its turn.

In `make test`: it is short; the stack of the run is there for its JVM.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from query_strategies import QUERY_PROFILE

from watchfloor.query.many.merge import STARTING, BoundedStream, merge_streams
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.encoding.keys import KEY_COLUMN, reverse_time, time_of_key
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack


@dataclass
class Stream:
    """A stream of events at some times (µs), in batches; ``slack`` is how far its bound is above the newest."""

    number: int
    batches: list[list[int]]
    slack: int
    started: bool = False
    closed: bool = field(default=False)

    @property
    def until(self) -> int:
        return max((time for batch in self.batches for time in batch), default=0) + 1 + self.slack

    def list_keys(self) -> list[bytes]:
        return [key for batch in self.batches for key in self.make_keys(batch)]

    def make_keys(self, times: list[int]) -> list[bytes]:
        return [reverse_time(time) + bytes([self.number, place]) for place, time in enumerate(times)]

    def run(self) -> Generator[pa.RecordBatch, None, None]:
        self.started = True
        try:
            for batch in self.batches:
                yield pa.RecordBatch.from_pydict({KEY_COLUMN: pa.array(self.make_keys(batch), pa.binary())})
        finally:
            self.closed = True


@st.composite
def streams(draw: st.DrawFn) -> list[Stream]:
    drawn = []
    for number in range(draw(st.integers(1, 40))):
        times = sorted(draw(st.lists(st.integers(1, 60), max_size=6)), reverse=True)
        cut = draw(st.integers(0, len(times)))
        # Events of one microsecond are in one batch, where their places tell them apart.
        while 0 < cut < len(times) and times[cut] == times[cut - 1]:
            cut += 1
        drawn.append(Stream(number, [times[:cut], times[cut:]], draw(st.integers(0, 3))))
    return drawn


@pytest.fixture(scope="module", autouse=True)
def jvm(store_settings: Settings) -> Generator[None, None, None]:
    with Store.open(store_settings):
        yield


def merge(drawn: list[Stream]) -> Generator[pa.RecordBatch, None, None]:
    return merge_streams([BoundedStream(stream.until, stream.run()) for stream in drawn])


@QUERY_PROFILE
@given(streams())
def test_all_events_come_in_order(drawn: list[Stream]) -> None:
    keys = [key for batch in merge(drawn) for key in batch.column(KEY_COLUMN).to_pylist()]
    assert keys == sorted(key for stream in drawn for key in stream.list_keys())
    assert all(stream.closed for stream in drawn)


@QUERY_PROFILE
@given(streams(), st.integers(1, 10))
def test_a_reader_that_stops_starts_few_streams(drawn: list[Stream], wanted: int) -> None:
    """Started are those that may have one of the rows, and of the others fewer than the last wave had."""
    merged = merge(drawn)
    last, rows = 61, 0
    for batch in merged:
        rows += len(batch)
        last = time_of_key(batch.column(KEY_COLUMN)[-1].as_py())
        if rows >= wanted:
            break
    if rows < wanted:
        last = 0
    merged.close()
    needed = [stream for stream in drawn if stream.until > last]
    ahead = [stream for stream in drawn if stream.started and stream not in needed]
    assert all(stream.started for stream in needed)
    assert len(ahead) < min(STARTING, 2 * len(needed) + 1)
    assert all(stream.closed for stream in drawn if stream.started)


def test_the_first_row_needs_one_stream_of_sixty() -> None:
    drawn = [Stream(number, [[100 - number]], 0) for number in range(60)]
    merged = merge(drawn)
    assert next(merged).column(KEY_COLUMN).to_pylist() == drawn[0].list_keys()
    assert [stream.started for stream in drawn] == [True, *[False] * 59]
    merged.close()
