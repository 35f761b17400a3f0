"""The generator gives the same bytes for the same arguments, promised frequencies, and fields that fit together.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import hashlib
import io
import tracemalloc
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson
import pytest
from parsing_support import MemoryCatalog, parse_chunks

from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.loadgen.generator import feeds
from watchfloor.loadgen.generator.feed_registry import list_feeds, open_feed
from watchfloor.loadgen.generator.generate import CHUNK_EVENTS, DEFAULT_END, GenerationSummary, generate_events
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import UserError

FEEDS = tuple(list_feeds())
PAGE = Path(__file__).parents[3] / "docs/measuring/generator.md"
NULLABLE = {
    "proxy.events": {"user", "query", "referrer"},
    "dns.events": {"answers", "ttls"},
    "netflow.events": {"tcp_flags"},
    "auth.events": {"src_ip", "src_port", "reason", "session"},
}


def made(events: int, **arguments: object) -> tuple[GenerationSummary, list[dict[str, Any]], bytes]:
    out = io.BytesIO()
    done = generate_events(out, events, **arguments)  # type: ignore[arg-type]
    return done, [orjson.loads(line) for line in out.getvalue().splitlines()], out.getvalue()


@cache
def some(feed: str) -> list[dict[str, Any]]:
    return made(20_000, source=feed)[1]


def moment(text: object) -> datetime:
    assert isinstance(text, str) and text.endswith("Z") and len(text) == 27
    return datetime.fromisoformat(text)


# What holds for all feeds


def test_feeds_are_the_folders_whose_names_their_sources_have() -> None:
    folders = {path.parent.name for path in Path(feeds.__path__[0]).glob("*/feed.py")}
    assert tuple(sorted(f"{name}.events" for name in folders)) == FEEDS
    assert [open_feed(name).source for name in FEEDS] == list(FEEDS)


@pytest.mark.parametrize("feed", FEEDS)
def test_every_line_is_an_event_of_its_source(feed: str, tmp_path: Path) -> None:
    done, lines, text = made(3_000, source=feed)
    path = tmp_path / "any.log"
    path.write_bytes(text)
    found = sniff_file(path, None, {})
    assert found.feed == feed, "its content tells which source it is"
    parsed = parse_chunks([Chunk(0, text)], feed, b"", MemoryCatalog(found.sources))
    assert not parsed.rejected and parsed.count == done.events
    (source,) = found.sources
    names = tuple(field.name for field in source.fields)
    assert all(tuple(line) == names for line in lines)
    ((_, batch),) = parsed.events
    assert {name for name in names if batch.column(name).null_count} == NULLABLE[feed]


@pytest.mark.parametrize("feed", FEEDS)
def test_times_ascend_within_the_days_before_the_end(feed: str) -> None:
    for days, end in ((7.0, DEFAULT_END), (0.01, datetime(2020, 2, 29, 12, tzinfo=UTC)), (400.0, DEFAULT_END)):
        done, events, _ = made(3_000, days=days, end=end, source=feed)
        times = [moment(event["ts"]) for event in events]
        assert times == sorted(times)
        assert done.since == end - timedelta(days=days) <= times[0]
        assert times[-1] < end == done.until
        assert times[-1] - times[0] > timedelta(days=days) * 0.8


@pytest.mark.parametrize("feed", FEEDS)
def test_days_and_weeks_have_a_rhythm(feed: str) -> None:
    times = [moment(event["ts"]) for event in some(feed)]
    assert sum(8 <= time.hour < 16 for time in times) > 1.5 * sum(time.hour < 5 or time.hour > 20 for time in times)
    # 2026-01-01, a Thursday, to 2026-01-07: two of the seven days are a weekend.
    assert sum(time.weekday() >= 5 for time in times) < 0.25 * len(times)


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("events", [1_000, 12_345, CHUNK_EVENTS + 1, 2 * CHUNK_EVENTS + 777])
def test_the_named_values_are_as_frequent_as_promised(feed: str, events: int) -> None:
    done, lines, _ = made(events, seed=events, source=feed)
    values = [line[done.popular.field] for line in lines]
    counts = Counter(values)
    for frequency in (done.popular, done.middling, done.rare):
        assert counts[frequency.value] == frequency.events
        assert builtin_definitions()[feed].fields_by_name[frequency.field].is_indexed
    assert abs(done.popular.events - events / 5) <= events / 1000 + 11
    assert abs(done.middling.events - events / 1000) <= 1
    assert done.rare.events == 10
    tenths = [index * 10 // events for index, value in enumerate(values) if value == done.rare.value]
    assert tenths == list(range(10))
    others = {value: count for value, count in counts.items() if value != done.popular.value}
    assert max(others.values()) < done.popular.events / 1.5, "no other value is as frequent as the popular one"


@pytest.mark.parametrize("feed", FEEDS)
def test_the_same_seed_gives_the_same_bytes_and_another_other_ones(feed: str) -> None:
    texts = [made(3_000, seed=seed, source=feed)[2] for seed in (7, 7, 8)]
    first, again, other = (hashlib.sha256(text).hexdigest() for text in texts)
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "digest"),
    [
        ({"events": 1_000, "seed": 3}, "f8cff5e4ca770c20d9af8e696c9ba713a4d6b5c1245917d4ce1d6a522ecde982"),
        ({"events": CHUNK_EVENTS + 1, "seed": 5, "days": 0.01, "end": datetime(2020, 2, 29, 12, tzinfo=UTC)},
         "49fe411c99008cdd37b3d6d017ba4ed2c23439d550e42508e264a922fab22fbe"),
    ],
)  # fmt: skip
def test_proxy_events_are_what_they_always_were(arguments: dict[str, Any], digest: str) -> None:
    """Published figures are of these bytes."""
    assert hashlib.sha256(made(**arguments)[2]).hexdigest() == digest


def test_feeds_of_one_seed_happen_at_times_of_their_own() -> None:
    times = [{event["ts"] for event in some(feed)} for feed in FEEDS]
    assert all(len(one & other) < 100 for one in times for other in times if one is not other)


@pytest.mark.parametrize("feed", FEEDS)
def test_sizes_are_reported(feed: str) -> None:
    done, events, text = made(5_000, source=feed)
    assert (done.events, done.bytes) == (len(events), len(text))
    assert 280 <= done.bytes / done.events <= 520


@pytest.mark.parametrize("feed", FEEDS)
def test_no_events_are_an_empty_file(feed: str) -> None:
    done, events, text = made(0, source=feed)
    assert (done.events, done.bytes, events, text) == (0, 0, [], b"")


@pytest.mark.parametrize("feed", FEEDS)
def test_memory_does_not_grow_with_the_number_of_events(feed: str) -> None:
    class Nothing(io.RawIOBase):
        def write(self, data: object) -> int:
            return len(data)  # type: ignore[arg-type]

    made(1, source=feed)  # the vocabulary stays
    peaks = []
    for events in (CHUNK_EVENTS, 5 * CHUNK_EVENTS):
        tracemalloc.start()
        generate_events(Nothing(), events, source=feed)  # type: ignore[arg-type]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ({"events": -1}, "--events is -1"),
        ({"events": 1, "seed": -1}, "--seed is -1"),
        ({"events": 1, "days": 0}, "--days is 0"),
        ({"events": 1, "days": float("nan")}, "--days is nan"),
        ({"events": 1, "end": datetime(2026, 1, 1)}, "--end is 2026-01-01T00:00:00"),
        ({"events": 1, "days": 400.0, "end": datetime(1970, 6, 1, tzinfo=UTC)}, "--end is"),
        ({"events": 1, "source": "dns.evnets"}, "did you mean dns.events"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments: dict[str, object], option: str) -> None:
    with pytest.raises(UserError, match=option):
        made(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("feed", FEEDS)
def test_the_page_names_fields_and_values(feed: str) -> None:
    text = PAGE.read_text()
    done = made(1, source=feed)[0]
    named = " | ".join(f"`{frequency.value}`" for frequency in (done.popular, done.middling, done.rare))
    assert f"| `{feed}` | `{done.popular.field}` | {named} |" in text
    fields = builtin_definitions()[feed].fields
    assert f"**`{feed}`** ({len(fields)} fields)" in text
    assert "`" + " ".join(field.name for field in fields) + "`" in " ".join(text.split())


# What fits together


def test_proxy_a_denied_request_has_its_status_and_is_not_cached() -> None:
    denied = [event for event in some("proxy.events") if event["action"] == "denied"]
    assert {event["status"] for event in denied} == {403}
    assert not any(event["cached"] for event in denied)


def test_dns_answers_are_of_the_type_that_was_asked_for() -> None:
    for event in some("dns.events"):
        answers = event["answers"] or []
        assert event["answer_count"] == len(answers) == len(event["ttls"] or [])
        assert event["rcode"] == "NOERROR" or not answers
        assert event["response_bytes"] >= event["request_bytes"]
        versions = {"A": 4, "AAAA": 6}
        if event["qtype"] in versions:
            assert {ip_address(answer).version for answer in answers} <= {versions[event["qtype"]]}
        assert (event["qtype"] == "PTR") == event["query"].endswith(".arpa")
        assert (event["qtype"] == "SRV") == event["query"].startswith("_")


def test_dns_a_name_has_the_same_answers_whoever_asks_and_failures_take_longest() -> None:
    answers, codes = defaultdict(set), Counter()
    for event in some("dns.events"):
        codes[event["rcode"]] += 1
        if event["rcode"] == "SERVFAIL":
            assert event["duration_ms"] >= 2000 and not event["cached"]
        else:
            answers[event["query"], event["qtype"]].add((event["rcode"], tuple(event["answers"] or ())))
    assert all(len(found) == 1 for found in answers.values())
    assert codes["NXDOMAIN"] > codes["SERVFAIL"] > 0
    cached = [event["duration_ms"] for event in some("dns.events") if event["cached"]]
    asked = [event["duration_ms"] for event in some("dns.events") if not event["cached"]]
    assert sorted(cached)[len(cached) // 2] * 5 < sorted(asked)[len(asked) // 2]


def test_netflow_packets_bytes_and_time_are_possible() -> None:
    for event in some("netflow.events"):
        tcp = event["proto"] == "tcp"
        assert (event["tcp_flags"] is not None) == tcp
        for way in ("out", "in"):
            packets, size = event[f"packets_{way}"], event[f"bytes_{way}"]
            assert packets * (40 if tcp else 28) <= size <= packets * 1500
        assert event["packets_out"] >= 1
        if event["packets_in"] == 0:
            assert event["duration_ms"] <= 7000 and event["tcp_flags"] in ("S", None)
        if event["proto"] == "icmp":
            assert event["src_port"] == 0


def test_netflow_a_server_is_one_service() -> None:
    services = defaultdict(set)
    for event in some("netflow.events"):
        services[event["dst_ip"]].add((event["proto"], event["dst_port"], event["application"], event["dst_as"]))
    assert all(len(found) == 1 for found in services.values())
    assert len({application for found in services.values() for _, _, application, _ in found}) > 8


def test_auth_results_reasons_and_places_fit() -> None:
    kinds = defaultdict(set)
    for event in some("auth.events"):
        success = event["result"] == "success"
        assert success == (event["reason"] is None) == (event["session"] is not None)
        assert (event["src_ip"] is None) == (event["src_port"] is None)
        assert (event["src_ip"] is None) == (event["logon_type"] in ("interactive", "unlock", "elevation"))
        kinds[event["user"]].add(event["account"])
        if event["account"] == "service" and event["process"] != "vpn":
            assert event["logon_type"] in ("network", "remote", "service", "batch")
    assert all(len(found) == 1 for found in kinds.values())
    assert {kind for found in kinds.values() for kind in found} == {"person", "admin", "service"}


def test_auth_failures_come_in_bursts_from_outside() -> None:
    events = [event for event in some("auth.events") if event["src_ip"]]
    outside = [event for event in events if not event["src_ip"].startswith("10.")]
    assert 0.005 < len(outside) / len(some("auth.events")) < 0.1
    assert sum(event["result"] == "failure" for event in outside) > 0.9 * len(outside)
    assert sum(event["result"] == "failure" for event in events if event not in outside) < 0.1 * len(events)
    runs = [len(list(run)) for _, run in groupby(event["src_ip"] for event in outside)]
    assert max(runs) >= 10 and sum(runs) / len(runs) > 5
    users = defaultdict(set)
    for event in outside:
        users[event["src_ip"], event["host"]].add(event["user"])
    assert max(map(len, users.values())) >= 10, "one after the other"


def test_feeds_tell_of_one_organisation() -> None:
    clients = [{event[name] for event in some(feed)} for feed, name in
               (("proxy.events", "src_ip"), ("dns.events", "client_ip"), ("netflow.events", "src_ip"))]  # fmt: skip
    assert len(clients[0] & clients[1] & clients[2]) > 2_000
    servers = {event["domain"]: event["dest_ip"] for event in some("proxy.events")}
    answers = [(e["query"], e["answers"]) for e in some("dns.events") if e["qtype"] == "A" and e["answers"]]
    known = [(servers[query], found) for query, found in answers if query in servers and ":" not in servers[query]]
    assert len(known) > 1_000 and all(server in found for server, found in known)
    users = {event["user"] for event in some("proxy.events")} & {event["user"] for event in some("auth.events")}
    assert len(users) > 1_000
