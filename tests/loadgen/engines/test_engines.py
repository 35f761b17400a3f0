"""Each engine that `bench blocks` and `bench peers` compare answers with the rows that plain Python finds.

In `make soak`: every engine is loaded and asked all questions.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest
from engine_events import COLUMNS, EVENTS, brute_force, read_events

from watchfloor.ingest.reading.item_reader import ReadTask, read_item
from watchfloor.loadgen.engines.peers.peer_process import SQL_PEERS, open_peers
from watchfloor.loadgen.engines.question import (
    EngineQuestion,
    list_newest_questions,
    list_questions,
    list_value_questions,
)
from watchfloor.loadgen.engines.watchfloor_engine import WatchfloorEngine
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.generator.planted_paths import PLANTED_PATTERN, SINGLE_PATH, SPREAD_INTERVAL, SPREAD_PATH
from watchfloor.loadgen.harness.loads import EventFile
from watchfloor.loadgen.harness.session import BenchSession, open_session
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import compact_source
from watchfloor.store.bulk.tablet_files import read_table_files
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.soak]


def held(session: BenchSession, path: Path, layout: str = "block") -> Source:
    """A source of the file's events, compacted."""
    source = session.create_source("proxy.events", layout=layout)
    with session.store.sink() as sink:
        read_item(ReadTask(session.store, sink, session.make_item(path, source)))
    compact_source(session.store.connection, source)
    return source


def test_marks_take_the_place_of_paths_and_change_nothing_else(tmp_path: Path, file: EventFile) -> None:
    plain = tmp_path / "plain"
    with plain.open("wb") as out:
        generate_events(out, EVENTS, 3)
    assert file.path.stat().st_size == plain.stat().st_size == file.bytes
    paths = Counter()
    for before, after in zip(plain.read_bytes().splitlines(), file.path.read_bytes().splitlines(), strict=True):
        if before != after:
            old, new = json.loads(before), json.loads(after)
            assert new == {**old, "path": new["path"]} and not re.search(PLANTED_PATTERN, old["path"])
            paths[new["path"]] += 1
    assert paths == {SINGLE_PATH: 1, SPREAD_PATH: file.spread} and file.spread == EVENTS // SPREAD_INTERVAL
    assert re.search(PLANTED_PATTERN, SINGLE_PATH) and re.search(PLANTED_PATTERN, SPREAD_PATH)


def test_every_engine_answers_every_question_as_brute_force_does(
    store_settings: Settings, file: EventFile, events: pa.Table
) -> None:
    wanted = {question.name: brute_force(events, question) for question in list_questions(file.generated)}
    assert wanted["all, rare"][0] == 10 and wanted["scan, spread hits"][0] == file.spread
    with ExitStack() as stack:
        session = stack.enter_context(open_session(str(store_settings.home)))
        store = stack.enter_context(Store.open(store_settings, role="query"))
        engines = {}
        for layout in ("block", "cell"):
            source = held(session, file.path, layout)
            files = read_table_files(session.store, source)
            assert files.keys() == {"event", "index", "aggregate"} and all(f.bytes for f in files.values())
            engines[layout] = WatchfloorEngine(store, source.name).ask_question
            assert (
                WatchfloorEngine(store, source.name).time_first_rows(list_value_questions(file.generated)["rare"]) > 0
            )
            if layout == "cell":
                cells = sum(events.num_rows - events.column(name).null_count for name in COLUMNS[1:])
                assert files["event"].entries == cells
        for peer in stack.enter_context(open_peers(SQL_PEERS))[0]:
            loaded = peer.load_file(file.path)
            assert loaded.rows == EVENTS and loaded.bytes > EVENTS and loaded.seconds > 0
            engines[peer.name] = peer.ask_question
        for engine, ask in engines.items():
            for question in list_questions(file.generated):
                answer = ask(question, True)
                assert (answer.rows, answer.digest) == wanted[question.name] and answer.in_order, (engine, question)
                assert answer.seconds > 0


def test_ours_gives_the_newest_rows(store_settings: Settings, file: EventFile, events: pa.Table) -> None:
    marks, whole = list_newest_questions(file.generated)
    assert [question.name for question in marks][:4] == [
        *(f"popular, row {row}" for row in ("1", "100", "1,000")),
        "middling, row 1",
    ]
    assert [question.limit for question in whole] == [None] * 3
    with open_session(str(store_settings.home)) as session, Store.open(store_settings, role="query") as store:
        source = held(session, file.path)
        for question in (*marks, *whole):
            answer = WatchfloorEngine(store, source.name).ask_question(question, True)
            assert (answer.rows, answer.digest) == brute_force(events, question) and answer.in_order, question


def test_odd_values_are_found_in_order(
    store_settings: Settings, odd_file: Path, odd_questions: list[EngineQuestion]
) -> None:
    events = read_events(odd_file)
    with open_session(str(store_settings.home)) as session, Store.open(store_settings, role="query") as store:
        ours = WatchfloorEngine(store, held(session, odd_file).name)
        for question in odd_questions:
            answer = ours.ask_question(question, True)
            assert (answer.rows, answer.digest) == brute_force(events, question) and answer.in_order, question
