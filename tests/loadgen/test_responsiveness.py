"""``bench responsiveness`` feeds at a rate, makes tables cold, sees stalls and shows the paper's values.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path

import pytest

from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.loadgen.experiments.responsiveness.figures import (
    ROW,
    TO_BEST,
    LayoutResults,
    QueryCase,
    make_figures,
    make_published_figures,
)
from watchfloor.loadgen.experiments.responsiveness.published import QUERIES, ROWS, load_paper_times, read_published
from watchfloor.loadgen.generator.generate import GenerationSummary, generate_events
from watchfloor.loadgen.harness.cold_tables import drop_pages, make_cold
from watchfloor.loadgen.harness.ingest.clients import run_clients
from watchfloor.loadgen.harness.ingest.feeder import FeedingRecord, feed_items
from watchfloor.loadgen.harness.ingest.rates import DurableItem
from watchfloor.loadgen.harness.ingest.runs import warm_up_clients
from watchfloor.loadgen.harness.ingest.work_supply import FILE_DAYS, FILE_ITEMS, WorkSupply
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.open_queries import QueryMix
from watchfloor.loadgen.harness.row_times import RowTimes, time_rows
from watchfloor.loadgen.harness.session import BenchSession, open_session
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.choices import FIXED_SCHEMES
from watchfloor.schema.errors import InputFileError, InternalError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import compact_source, read_table_ids, source_tables
from watchfloor.store.bulk.tablet_files import list_file_names
from watchfloor.store.stack.servers.process import send_signal
from watchfloor.store.store import Store

EVENTS = 20_000
STALL = 1.5
RATE, SECONDS, CLIENTS = 30, 4.0, 4


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GenerationSummary]:
    path = tmp_path_factory.mktemp("feed") / "proxy.json"
    with path.open("wb") as out:
        return path, generate_events(out, EVENTS, seed=5)


@pytest.fixture(scope="module")
def session(store_settings: Settings) -> Iterator[BenchSession]:
    with open_session(str(store_settings.home)) as session:
        yield session


@pytest.fixture(scope="module")
def loaded(session: BenchSession, file: tuple[Path, GenerationSummary]) -> Source:
    source = session.create_source("proxy.events")
    with session.store.sink() as sink:
        read_item(ReadTask(session.store, sink, session.make_item(file[0], source)))
    return source


def test_the_items_of_a_file_follow_each_other_and_each_lap_is_another_file(tmp_path: Path) -> None:
    end = datetime(2026, 3, 1, tzinfo=UTC)
    work = WorkSupply(tmp_path, 100, seed=7, end=end)
    items = list(islice(work.make_items("bench.feed"), 3 * FILE_ITEMS))
    text = Path(items[0].path).read_bytes()
    for lap in range(3):
        mine = items[lap * FILE_ITEMS : (lap + 1) * FILE_ITEMS]
        assert len({item.file_id for item in mine}) == 1
        assert mine[0].start == 0 and all(a.end == b.start for a, b in pairwise(mine))
        assert all(80 < text[item.start : item.end].count(b"\n") < 120 for item in mine)
        assert all(text[item.end - 1 : item.end] == b"\n" for item in mine)
    assert len({item.item_id for item in items}) == len(items) and len({item.file_id for item in items}) == 3
    times = [json.loads(line)["ts"] for line in text.splitlines()]
    assert max(times) < end.strftime("%Y-%m-%dT") and min(times) >= (end - timedelta(FILE_DAYS)).strftime("%Y-%m-%dT")


def test_a_rate_is_of_what_came_after_the_first_item() -> None:
    done = [
        DurableItem("a", 11.5, 12.0, 300, 1),
        DurableItem("a", 9.0, 10.0, 1000, 1),
        DurableItem("b", 10.0, 11.0, 100, 1),
    ]
    feed = FeedingRecord(due=[9.5, 9.0, 9.0], durable=done)
    assert feed.events_per_second == 200 and feed.delays == [2.5, 1.0, 2.0]
    assert FeedingRecord(due=[9.0], durable=done[1:2]).events_per_second == FeedingRecord().events_per_second == 0


def test_a_file_is_no_longer_held_in_memory(tmp_path: Path) -> None:
    fincore = shutil.which("fincore")
    if fincore is None:
        pytest.skip("util-linux's fincore, which tells what is held in memory, is not installed")

    def held() -> int:
        said = subprocess.run([fincore, "-b", "-n", "-o", "RES", path], capture_output=True, text=True, check=True)
        return int(said.stdout or "0")

    path = tmp_path / "below" / "a.rf"
    path.parent.mkdir()
    path.write_bytes(bytes(1 << 20))
    if held() == 0:
        pytest.skip("the file system of the temporary folder holds nothing in memory")
    drop_pages(tmp_path)
    assert held() == 0


def test_the_published_tables_are_shown_beside_ours() -> None:
    """Tables I and II of Sawyer and O'Gwynn, HPEC 2014, in seconds as printed there."""
    first = {"scan": (6.42, 30.25, 29.91), "batched-scan": (0.52, 0.47, 0.49), "index": (14.13, 7.62, 2.24),
             "batched-index": (0.45, 0.27, 0.16)}  # fmt: skip
    total = {"scan": (316.4, 291.3, 286.2), "batched-scan": (312.6, 294.8, 298.0), "index": (94.5, 29.4, 6.7),
             "batched-index": (96.8, 31.7, 5.9)}  # fmt: skip
    tables = {
        (query, scheme, row): seconds
        for row, table in (("1", first), ("last", total))
        for scheme, of_scheme in table.items()
        for query, seconds in zip(QUERIES, of_scheme, strict=True)
    }
    published = load_paper_times()
    assert {cell: ms / 1000 for cell, ms in published.milliseconds.items()} == pytest.approx(tables)
    of = {"query": "A", "scheme": "scan", "row": "1"}
    ours = [
        Figure(ROW, (21.0, 20.0, 400.0), {**of, "layout": "cell", "state": "warm"}),
        Figure(ROW, (32.0,), {**of, "layout": "block", "state": "warm"}),
        Figure(ROW, (99.0,), {**of, "layout": "block", "state": "cold"}),
    ]
    shown = list(make_published_figures(published, ours))
    assert len(shown) == 24 and all(figure.note.startswith(published.source) for figure in shown)
    assert shown[0].note.endswith("; ours, warm: cell 21.0 ms, block 32.0 ms") and "ours" not in shown[1].note
    assert {metric.better for metric in (figure.metric for figure in shown)} == {None}


def test_other_published_values_are_read_by_their_place(tmp_path: Path) -> None:
    path = tmp_path / "paper.json"
    values = [{"query": "A", "scheme": "scan", "row": "1", "ms": 12}, {"query": "C", "scheme": "batched-index",
              "row": "last", "ms": 3.5}]  # fmt: skip
    path.write_text(json.dumps({"source": "made up for this test", "values": values}))
    found = read_published(path)
    assert found.milliseconds == {("A", "scan", "1"): 12.0, ("C", "batched-index", "last"): 3.5}
    shown = list(make_published_figures(found))
    assert [(figure.value, figure.note) for figure in shown] == [
        (each, "made up for this test") for each in (12.0, 3.5)
    ]
    assert shown[0].labels == {"query": "A", "scheme": "scan", "layout": "the paper's", "row": "1"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", r"\$: \[\] is not of type 'object'"),
        ('{"source": "x", "values": []}', r"\$\.values"),
        ('{"values": [{"query": "A", "scheme": "scan", "row": "1", "ms": 1}]}', "'source' is a required property"),
        ('{"source": "x", "values": [{"query": "D", "scheme": "scan", "row": "1", "ms": 1}]}', r"values\[0\].query"),
        ('{"source": "x", "values": [{"query": "A", "scheme": "auto", "row": "1", "ms": 1}]}', r"values\[0\].scheme"),
        ('{"source": "x", "values": [{"query": "A", "scheme": "scan", "row": 1, "ms": 1}]}', r"values\[0\].row"),
        ('{"source": "x", "values": [{"query": "A", "scheme": "scan", "row": "1", "ms": 0}]}', r"values\[0\].ms"),
    ],
)
def test_values_that_do_not_fit_are_refused_with_their_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "paper.json"
    path.write_text(text)
    with pytest.raises(InputFileError, match=said) as raised:
        read_published(path)
    assert str(path) in str(raised.value)


def test_a_value_that_is_there_twice_or_a_file_that_is_not_is_refused(tmp_path: Path) -> None:
    value = {"query": "A", "scheme": "scan", "row": "1", "ms": 1}
    path = tmp_path / "paper.json"
    with pytest.raises(InputFileError, match="cannot be read"):
        read_published(path)
    path.write_text(json.dumps({"source": "x", "values": [value, value]}))
    with pytest.raises(InputFileError, match=r"values\[1\]: A scan 1 is there twice"):
        read_published(path)


def test_auto_is_held_against_the_best_fixed_scheme_row_by_row() -> None:
    found = LayoutResults(
        "block",
        0.5,
        saturation=1.0,
        queries_per_second=1.0,
        feeding=FeedingRecord(due=[0.0], durable=[DurableItem("a", 0.5, 1.0, 1, 9)]),
    )
    for number, scheme in enumerate((*FIXED_SCHEMES, "auto"), start=1):
        found.times[QueryCase("warm", "A", scheme)] = [
            RowTimes({"1": 10.0 * number, "last": 20.0 * number}, rows=20, batches=1),
            RowTimes({"1": 12.0 * number, "last": 21.0 * number}, rows=20, batches=1),
        ]
    rows = [figure for figure in make_figures(found) if figure.metric is ROW]
    assert {(f.labels["scheme"], f.labels["row"]) for f in rows} == {
        (s, r) for s in (*FIXED_SCHEMES, "auto") for r in ("1", "last")
    }
    ratios = {figure.labels["row"]: figure for figure in make_figures(found) if figure.metric is TO_BEST}
    assert ratios["1"].value == 5 and ratios["1"].samples == (5.0, 5.0) and ratios["1"].note == "best: scan"
    assert set(ratios) <= set(ROWS) and {figure.labels["query"] for figure in rows} <= set(QUERIES)


@pytest.mark.stack
def test_cold_tables_stand_in_other_files_and_answer_the_same(
    session: BenchSession, loaded: Source, file: tuple[Path, GenerationSummary], query_store: Store
) -> None:
    def files() -> set[tuple[str, str]]:
        folder = session.settings.home / "data/accumulo/tables"
        ids = read_table_ids(session.store.connection)
        names = [ids[name] for name in source_tables(loaded)]
        return {(name, path.name) for name in names for path in (folder / name).rglob("*.rf")}

    compact_source(session.store.connection, loaded)
    before, first = list_file_names(session.store, loaded), files()
    make_cold(session, loaded)
    after = list_file_names(session.store, loaded)
    assert before and len(before) == len(after) and not before & after
    assert len(files() - first) == len(after)
    made = file[1]
    service = QueryService(query_store)
    asked = time_rows(service, QueryRequest(loaded.name, where=f'domain = "{made.popular.value}"'))
    assert asked.rows == made.popular.events
    assert list(asked.milliseconds) == ["1", "100", "1000", "last"] and list(asked.milliseconds.values()) == sorted(
        asked.milliseconds.values()
    )
    rare = time_rows(service, QueryRequest(loaded.name, where=f'domain = "{made.rare.value}"'))
    assert rare.rows == 10 and list(rare.milliseconds) == ["1", "last"]


@pytest.mark.stack
def test_a_feeder_keeps_its_rate_and_all_of_it_is_in_the_source(
    session: BenchSession, query_store: Store, tmp_path: Path
) -> None:
    source = session.create_source("proxy.events")
    items = WorkSupply(tmp_path, 1_000, seed=7).make_items(source.name)
    with run_clients(session, 1) as worker:
        first = worker.find_durable(warm_up_clients(worker, items)).values()
        with feed_items(worker, items, 4.0) as feed:
            time.sleep(2.0)
        with pytest.raises(InternalError, match="loaded earlier"), feed_items(worker, iter(feed.items), 4.0):
            pass
    loaded = [*first, *feed.durable]
    assert QueryService(query_store).count_events(source.name) == sum(done.events for done in loaded)
    assert len(feed.items) == len(feed.durable) == len(feed.due) >= 2
    assert [b - a for a, b in pairwise(feed.due)] == pytest.approx([1 / 4.0] * (len(feed.due) - 1))
    assert all(delay > 0 for delay in feed.delays)


@pytest.mark.stack
def test_a_stalled_server_shows_in_the_latency_of_queries_by_a_schedule(
    session: BenchSession, loaded: Source, file: tuple[Path, GenerationSummary], query_store: Store
) -> None:
    """Shorter than ZooKeeper's patience, so the server is the same one afterwards."""
    made = file[1]
    requests = [
        QueryRequest(loaded.name, where=f'domain = "{named.value}"', limit=100)
        for named in (made.popular, made.middling, made.rare)
    ]
    mix = QueryMix(QueryService(query_store), requests, CLIENTS)
    assert mix.run_closed_loop(1.0, seed=1) > 0
    pid_files = sorted((session.settings.home / "run").glob("tserver*.json"))

    def stall() -> None:
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid_file in pid_files:
                send_signal(pid_file, number)
            if number is signal.SIGSTOP:
                time.sleep(STALL)

    timer = threading.Timer(SECONDS / 3, stall)
    timer.start()
    try:
        responses = mix.run_open_loop(RATE, SECONDS, seed=2)
    finally:
        timer.join()
    slow_for_a_closed_loop = sum(response.service > STALL / 2 for response in responses)
    slow_for_users = sum(response.latency > STALL / 2 for response in responses)
    # A closed loop has about as many slow answers as clients; users who came in the first half of the stall all waited.
    assert 1 <= slow_for_a_closed_loop <= 2 * CLIENTS
    assert slow_for_users > max(slow_for_a_closed_loop, RATE * STALL / 4)
    by_latency = sorted(response.latency for response in responses)
    by_service = sorted(response.service for response in responses)
    ninetieth = int(len(responses) * 0.9)
    assert by_latency[ninetieth] > STALL / 2 > by_service[ninetieth]
