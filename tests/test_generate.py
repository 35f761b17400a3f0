"""The event generator: the same bytes for the same arguments, promised frequencies, bounded memory."""

from __future__ import annotations

import hashlib
import io
import json
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

from watchfloor.loadgen.generate import CHUNK, DEFAULT_END, FIELDS, Generated, generate
from watchfloor.loadgen.vocabulary import MIDDLING, POPULAR, RARE
from watchfloor.schema.errors import UserError


def made(events: int, **arguments: object) -> tuple[Generated, list[dict[str, object]], bytes]:
    out = io.BytesIO()
    done = generate(out, events, **arguments)  # type: ignore[arg-type]
    return done, [json.loads(line) for line in out.getvalue().splitlines()], out.getvalue()


def moment(text: object) -> datetime:
    assert isinstance(text, str) and text.endswith("Z") and len(text) == 27
    return datetime.fromisoformat(text)


def test_every_line_has_exactly_the_fields_in_their_order() -> None:
    _, events, _ = made(2_000)
    assert all(tuple(event) == FIELDS for event in events)
    nullable = {name for event in events for name, value in event.items() if value is None}
    assert nullable == {"user", "query", "referrer"}


def test_times_ascend_within_the_days_before_the_end() -> None:
    for days, end in ((7.0, DEFAULT_END), (0.01, datetime(2020, 2, 29, 12, tzinfo=UTC)), (400.0, DEFAULT_END)):
        done, events, _ = made(3_000, days=days, end=end)
        times = [moment(event["ts"]) for event in events]
        assert times == sorted(times)
        assert done.since == end - timedelta(days=days) <= times[0]
        assert times[-1] < end == done.until
        assert times[-1] - times[0] > timedelta(days=days) * 0.8


def test_days_have_a_rhythm() -> None:
    _, events, _ = made(20_000)
    hours = [moment(event["ts"]).hour for event in events]
    assert sum(9 <= hour < 17 for hour in hours) > 3 * sum(hour < 5 for hour in hours)


@pytest.mark.parametrize("events", [1_000, 12_345, CHUNK + 1, 2 * CHUNK + 777])
def test_the_named_domains_are_as_frequent_as_promised(events: int) -> None:
    done, lines, _ = made(events, seed=events)
    domains = [line["domain"] for line in lines]
    assert (done.popular.domain, done.middling.domain, done.rare.domain) == (POPULAR, MIDDLING, RARE)
    for frequency in (done.popular, done.middling, done.rare):
        assert domains.count(frequency.domain) == frequency.events
    assert abs(done.popular.events - events / 5) <= events / 1000 + 11
    assert abs(done.middling.events - events / 1000) <= 1
    assert done.rare.events == 10
    tenths = [index * 10 // events for index, domain in enumerate(domains) if domain == RARE]
    assert tenths == list(range(10))


def test_the_same_seed_gives_the_same_bytes_and_another_other_ones() -> None:
    first, again, other = (hashlib.sha256(made(3_000, seed=seed)[2]).hexdigest() for seed in (7, 7, 8))
    assert first == again != other


def test_sizes_are_reported_and_events_have_the_size_of_real_ones() -> None:
    done, events, text = made(5_000)
    assert (done.events, done.bytes) == (len(events), len(text))
    assert 440 <= done.bytes / done.events <= 520


def test_no_events_are_an_empty_file() -> None:
    done, events, text = made(0)
    assert (done.events, done.bytes, events, text) == (0, 0, [], b"")


def test_a_denied_request_has_its_status_and_is_not_cached() -> None:
    _, events, _ = made(5_000)
    assert {e["status"] for e in events if e["action"] == "denied"} == {403}
    assert not any(e["cached"] for e in events if e["action"] == "denied")


def test_memory_does_not_grow_with_the_number_of_events() -> None:
    class Nothing(io.RawIOBase):
        def write(self, data: object) -> int:
            return len(data)  # type: ignore[arg-type]

    made(1)  # the vocabulary stays
    peaks = []
    for events in (CHUNK, 5 * CHUNK):
        tracemalloc.start()
        generate(Nothing(), events)  # type: ignore[arg-type]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


@pytest.mark.parametrize(
    "arguments",
    [
        {"events": -1},
        {"events": 1, "seed": -1},
        {"events": 1, "days": 0},
        {"events": 1, "end": datetime(2026, 1, 1)},
        {"events": 1, "days": 400.0, "end": datetime(1970, 6, 1, tzinfo=UTC)},
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(UserError):
        made(**arguments)  # type: ignore[arg-type]
