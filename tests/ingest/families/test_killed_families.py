"""Workers are killed in the middle of logs of each family of formats, and every event and refused line is there once.

In `make test`: the logs are short and handled beside each other, on the stack of the run.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from family_logs import FAMILIES, MEMBERS, WrittenLog
from ingest_support import ledger_rows, own
from mortal_process import STEPS, Death, work
from parsing_support import parse_chunks

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.files.open_file import join_member, open_log_file
from watchfloor.ingest.intake.intake import Intake
from watchfloor.ingest.intake.logs_in_file import sniff_logs
from watchfloor.ingest.queue.work_queue import ItemProducer
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash]


@pytest.fixture
def settings(store_settings: Settings, layout: str) -> Settings:
    return own(store_settings, f"families_{layout}", item_bytes=4 << 10, chunk_bytes=4 << 10)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    with Store.open(settings) as opened:
        yield opened


@dataclass(frozen=True)
class Outcome:
    """How often each event of a source is there, and path, place and reason of each line that became none."""

    events: Counter[str]
    refused: Counter[tuple[str, int, str]]


def parse_here(log: WrittenLog, source: Source) -> Outcome:
    """Returns what the parser makes of a log in this process, each log in it read at once."""
    events: Counter[str] = Counter()
    refused: Counter[tuple[str, int, str]] = Counter()

    def resolve(name: str, derive: Callable[[], Source]) -> Source:
        return source if name == source.name else derive()

    with open_log_file(str(log.path)) as file:
        for member, sniffed in sniff_logs(file, source.name, {source.name: source}).logs.items():
            file.member = member
            parsed = parse_chunks(read_chunks(file), sniffed.feed, sniffed.header, resolve)
            assert {found.name for found, _ in parsed.events} == {source.name}
            for _, batch in parsed.events:
                events.update(map(show_event, batch.drop_columns("(offset)").to_pylist()))
            path = join_member(str(log.path), file.member)
            refused.update((path, offset, reason) for offset, reason in parsed.faults())
    return Outcome(events, refused)


def read_stored(store: Store, log: WrittenLog, source: Source) -> Outcome:
    """Returns what the store holds of a log, whose source no other log has."""
    batches = QueryService(store).run(QueryRequest(source.name, scheme="scan"))
    events = Counter(show_event(event) for batch in batches for event in batch.to_pylist())
    lines = [line for line in Quarantine(store).open_lines() if line.path.startswith(str(log.path))]
    return Outcome(events, Counter((line.path, line.offset, line.reason) for line in lines))


def show_event(event: Mapping[str, Any]) -> str:
    return repr(sorted((name, value) for name, value in event.items() if value is not None))


def test_no_event_of_any_family_is_lost_or_doubled(
    settings: Settings, store: Store, layout: str, tmp_path: Path
) -> None:
    """The first worker of each log dies in its first item, the second in its last but one; the third ends all."""
    sources = {name: family.make_source(name, layout) for name, family in FAMILIES.items()}
    store.catalog.register_all(sources.values())
    logs = {name: family.write(tmp_path / f"{name}.log", sources[name]) for name, family in FAMILIES.items()}
    with ItemProducer(settings) as producer:
        intake = Intake(store, Ledger(store), producer)
        items = {name: intake.offer_file(str(log.path), sources[name].name).items for name, log in logs.items()}
    assert {name for name, found in items.items() if len(found) == 1} == {"wrapped", "xml"}, "they cannot be cut"
    assert len(items["archive"]) == MEMBERS
    queued = list(items.values())
    # Each family comes to all steps, one after the other, but for a log of one item, which must not end twice.
    shift = 0 if layout == "cell" else 2
    first = [Death(found[0].item_id, STEPS[(at + shift) % 4]) for at, found in enumerate(queued)]
    second = [
        Death(found[max(len(found) - 2, 0)].item_id, STEPS[(at + shift + 1) % 5]) for at, found in enumerate(queued)
    ]
    assert work(settings, queued, first) == -signal.SIGKILL
    assert work(settings, queued, second) == -signal.SIGKILL
    assert work(settings, queued, ()) == 0
    assert {row.state for log in logs.values() for row in ledger_rows(store, log.path)} == {"done"}
    for name, source in sources.items():
        expected, stored = parse_here(logs[name], source), read_stored(store, logs[name], source)
        assert stored == expected, name
        assert expected.events.total() + expected.refused.total() == logs[name].records, name
        assert expected.events and (expected.refused or name == "wrapped"), name
        assert QueryService(store).count_events(source.name) == expected.events.total(), name
        field = source.indexed_fields[0].name
        ranked = dict(QueryService(store).rank_values(source.name, field, limit=1000))
        assert ranked == count_values(store, source, field), name


def count_values(store: Store, source: Source, field: str) -> Counter[Any]:
    """Returns how many events have each value of a field that is no list, from the events."""
    batches = QueryService(store).run(QueryRequest(source.name, scheme="scan", columns=(field,)))
    values = (value for batch in batches for value in batch.column(field).to_pylist())
    return Counter(value for value in values if value is not None)
