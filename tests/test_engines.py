"""The engines that `bench blocks` and `bench peers` compare: each answers with the rows that plain Python finds."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from watchfloor.ingest.reading import read_item
from watchfloor.loadgen.asking import Party, ask_all
from watchfloor.loadgen.engines.answer import Answer, digest
from watchfloor.loadgen.engines.ours import Ours
from watchfloor.loadgen.engines.peers import PEERS, SQL_PEERS, Peer, missing, open_peers
from watchfloor.loadgen.engines.question import Kind, Question, newest_rows, questions, values
from watchfloor.loadgen.generate import generate
from watchfloor.loadgen.loads import EventFile, write_events
from watchfloor.loadgen.marks import APART, ONE, PATTERN, SPREAD
from watchfloor.loadgen.rig import Rig, open_rig
from watchfloor.loadgen.usage import MACHINE, CpuMeter
from watchfloor.schema.errors import StackError
from watchfloor.schema.source import Source, builtin_definitions
from watchfloor.store.settings import Settings
from watchfloor.store.store import Store
from watchfloor.store.tables import compact
from watchfloor.store.tablet_files import table_files

EVENTS = 2 * APART
COLUMNS = [field.name for field in builtin_definitions()["proxy.events"].fields]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> EventFile:
    return write_events(tmp_path_factory.mktemp("engines") / "proxy.json", EVENTS, seed=3)


@pytest.fixture(scope="module")
def events(file: EventFile) -> pa.Table:
    return read_events(file.path)


def read_events(path: Path) -> pa.Table:
    """Newest first, read by Python's own JSON reader."""
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    for row in rows:
        row["ts"], row["duration_ms"] = datetime.fromisoformat(row["ts"]), float(row["duration_ms"])
    rows.sort(key=lambda row: row["ts"], reverse=True)
    return pa.Table.from_pylist(rows)


def held(rig: Rig, path: Path, layout: str = "block") -> Source:
    """A source of the file's events, compacted."""
    source = rig.source("proxy.events", layout=layout)
    with rig.store.sink() as sink:
        read_item(rig.store, sink, rig.item(path, source), lambda done, events, quarantined: None)
    compact(rig.store.connection.client, source)
    return source


def brute_force(events: pa.Table, question: Question) -> tuple[int, str]:
    def holds(value: str) -> bool:
        return bool(re.search(question.value, value)) if question.pattern else value == question.value

    found = events.filter(pa.array(map(holds, events.column(question.field).to_pylist())))
    if question.kind is Kind.COUNT:
        return 1, str(len(found))
    found = found.slice(0, question.limit)
    return len(found), digest(found, COLUMNS)


def test_marks_take_the_place_of_paths_and_change_nothing_else(tmp_path: Path, file: EventFile) -> None:
    plain = tmp_path / "plain"
    with plain.open("wb") as out:
        generate(out, EVENTS, 3)
    assert file.path.stat().st_size == plain.stat().st_size == file.bytes
    paths = Counter()
    for before, after in zip(plain.read_bytes().splitlines(), file.path.read_bytes().splitlines(), strict=True):
        if before != after:
            old, new = json.loads(before), json.loads(after)
            assert new == {**old, "path": new["path"]} and not re.search(PATTERN, old["path"])
            paths[new["path"]] += 1
    assert paths == {ONE: 1, SPREAD: file.spread} and file.spread == EVENTS // APART
    assert re.search(PATTERN, ONE) and re.search(PATTERN, SPREAD)


@pytest.mark.stack
def test_every_engine_answers_every_question_as_brute_force_does(
    store_settings: Settings, tmp_path: Path, file: EventFile, events: pa.Table
) -> None:
    wanted = {question.name: brute_force(events, question) for question in questions(file.made)}
    assert wanted["all, rare"][0] == 10 and wanted["scan, spread hits"][0] == file.spread
    with ExitStack() as stack:
        rig = stack.enter_context(open_rig(str(store_settings.home)))
        store = stack.enter_context(Store.open(store_settings, role="query"))
        engines = {}
        for layout in ("block", "cell"):
            source = held(rig, file.path, layout)
            files = table_files(rig.store, source)
            assert files.keys() == {"event", "index", "aggregate"} and all(f.bytes for f in files.values())
            engines[layout] = Ours(store, source.name).ask
            assert Ours(store, source.name).first_rows(values(file.made)["rare"]) > 0
            if layout == "cell":
                cells = sum(events.num_rows - events.column(name).null_count for name in COLUMNS[1:])
                assert files["event"].entries == cells
        for peer in stack.enter_context(open_peers(tmp_path, SQL_PEERS)):
            loaded = peer.load(file.path)
            assert loaded.rows == EVENTS and loaded.bytes > EVENTS and loaded.seconds > 0
            engines[peer.name] = peer.ask
        for engine, ask in engines.items():
            for question in questions(file.made):
                answer = ask(question, True)
                assert (answer.rows, answer.digest) == wanted[question.name], (engine, question)
                assert answer.seconds > 0


def test_a_digest_knows_rows_by_their_values_not_by_order_or_arrow_type() -> None:
    for rows in (500, 20_000):
        names = [f"name-{i % 77}" if i % 5 else None for i in range(rows)]
        table = pa.table({"n": range(rows), "name": names, "ok": [i % 3 == 0 for i in range(rows)]})
        other = table.take(pa.array(range(rows - 1, -1, -1)))
        coded = other.column("name").combine_chunks().dictionary_encode()
        other = other.set_column(1, "name", coded)
        other = other.set_column(0, "n", other.column("n").cast(pa.uint16()))
        columns = ["n", "name", "ok"]
        assert digest(other, columns) == digest(table, columns)
        for changed in (
            table.slice(1),
            table.set_column(1, "name", pa.array([*names[:-1], "name-x"])),
            table.set_column(2, "ok", pa.array([False] * rows)),
        ):
            assert digest(changed, columns) != digest(table, columns)


def test_rounds_warm_up_and_slow_parties_answer_in_few() -> None:
    asked: Counter[str] = Counter()

    def engine(name: str) -> Party:
        def ask(question: Question, check: bool) -> Answer:
            asked[name] += 1
            return Answer(float(asked[name]), 7, name if check else "")

        return Party(name, 100, ask, [Question("q", Kind.COUNT, "f", "v")], 2 if name == "slow" else 5)

    found = ask_all([engine("slow"), engine("quick")], 5)
    assert asked == {"slow": 3, "quick": 8}
    assert found["slow", 100, "q"].seconds == [2.0, 3.0]
    assert found["quick", 100, "q"].seconds == [4.0, 5.0, 6.0, 7.0, 8.0]
    assert (found["quick", 100, "q"].rows, found["quick", 100, "q"].digest) == (7, "quick")


@pytest.mark.stack
def test_rows_are_read_from_a_stream_until_there_are_enough(
    store_settings: Settings, file: EventFile, events: pa.Table
) -> None:
    marks, whole = newest_rows(file.made)
    assert [question.name for question in marks][:4] == [
        *(f"popular, row {row}" for row in ("1", "100", "1,000")),
        "middling, row 1",
    ]
    assert [question.limit for question in whole] == [None] * 3
    with open_rig(str(store_settings.home)) as rig, Store.open(store_settings, role="query") as store:
        source = held(rig, file.path)
        for question in (*marks, *whole):
            answer = Ours(store, source.name).read(question, True)
            assert (answer.rows, answer.digest) == brute_force(events, question), question


ODD = ("it's", 'say "no"', "back\\slash", "\\'", "a*b%_", "tab\tand\nline", "  spaces ", "straße", "日本語.example",
       "🦉", "AND", "NULL", "domain:x", "{x:String}", "--", "e\u0301", "é", "x" * 3000)  # fmt: skip


@pytest.fixture(scope="module")
def odd_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events whose strings are odd, each some times, and partly missing; times a microsecond apart, not in order."""
    drawn = random.Random(4)
    path = tmp_path_factory.mktemp("odd") / "proxy.json"
    lines = []
    for i in drawn.sample(range(20 * len(ODD)), 20 * len(ODD)):
        event = dict.fromkeys(COLUMNS) | {"ts": f"2026-01-01T00:00:00.{i:06}Z", "domain": ODD[i % len(ODD)]}
        event |= {name: drawn.choice(ODD) for name in ("user", "path", "query", "referrer", "category")}
        # What is no string is never missing: ClickHouse's table holds no nulls.
        event |= dict.fromkeys(("src_port", "dest_port"), drawn.choice((0, 65_535)))
        event |= {name: drawn.choice((0, -1, 2**53 + 1)) for name in ("status", "bytes_in", "bytes_out")}
        event |= {"duration_ms": drawn.choice((0, 0.1, -1e300)), "cached": drawn.random() < 0.5}
        event |= {"src_ip": drawn.choice(("10.0.0.1", "2001:db8::1")), "dest_ip": "192.0.2.7"}
        if drawn.random() < 0.3:
            del event["user"]
        lines.append(json.dumps(event, ensure_ascii=drawn.random() < 0.5))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def odd_questions() -> list[Question]:
    domains = [
        question
        for value in (*ODD, "none such")
        for question in (
            Question("newest 3", Kind.NEWEST, "domain", value, 3),
            Question("all", Kind.NEWEST, "domain", value),
            Question("count", Kind.COUNT, "domain", value),
        )
    ]
    return [
        *domains,
        Question("all", Kind.EVERYTHING, "user", "it's"),
        Question("all", Kind.NEWEST, "src_ip", "10.0.0.1"),
    ]


@pytest.mark.stack
def test_odd_values_are_found_in_order(store_settings: Settings, odd_file: Path, odd_questions: list[Question]) -> None:
    events = read_events(odd_file)
    with open_rig(str(store_settings.home)) as rig, Store.open(store_settings, role="query") as store:
        ours = Ours(store, held(rig, odd_file).name)
        for question in odd_questions:
            answer = ours.ask(question, True)
            assert (answer.rows, answer.digest) == brute_force(events, question), question


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_answers_as_brute_force_does_odd_values_too(
    name: str, tmp_path: Path, file: EventFile, events: pa.Table, odd_file: Path, odd_questions: list[Question]
) -> None:
    if remedy := missing(name):
        pytest.skip(f"{name}: {remedy}")
    marks, whole = newest_rows(file.made)
    usual = [question for question in questions(file.made) if question.kind is not Kind.SCAN]
    with open_peers(tmp_path, [name]) as (peer,):
        # The second load takes the place of the first.
        for path, rows, asked in (
            (odd_file, read_events(odd_file), odd_questions),
            (file.path, events, [*usual, *marks, *whole]),
        ):
            loaded = peer.load(path)
            assert loaded.rows == len(rows) and loaded.bytes > 0 and loaded.seconds > 0
            for question in asked:
                answer = peer.ask(question, True)
                assert (answer.rows, answer.digest) == brute_force(rows, question), question
                assert answer.seconds > 0


def test_an_engine_that_is_missing_is_said_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENSEARCH_HOME", raising=False)
    with open_peers(tmp_path, ("no_such_engine", "opensearch")) as found:
        assert found == []
    said = capsys.readouterr().err
    assert "no_such_engine: not installed: pip install 'watchfloor[bench]'" in said
    assert "opensearch: OPENSEARCH_HOME is not set: docs/peers.md says how to get it" in said


def test_an_engine_that_does_not_open_or_whose_process_dies_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StackError, match="no_such_engine failed: ValueError: no engine is called no_such_engine"):
        fails("no_such_engine", tmp_path)
    monkeypatch.setenv("OPENSEARCH_HOME", str(tmp_path))
    with pytest.raises(StackError, match=f"opensearch failed: .* OPENSEARCH_HOME is {tmp_path}, which has no bin"):
        fails("opensearch", tmp_path)
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))  # where no Python is
    with pytest.raises(StackError, match="tantivy failed: its process ended with 1"):
        fails("tantivy", tmp_path)


def fails(name: str, folder: Path) -> None:
    with closing(Peer(name, folder)) as peer:
        peer.load(folder / "events")


def test_the_meter_counts_what_the_machine_spends(tmp_path: Path) -> None:
    with CpuMeter(Settings(home=tmp_path)) as meter:
        since, used = time.time(), time.process_time()
        while time.process_time() - used < 0.5:
            pass
        until = time.time()
    assert meter.between(since, until)[MACHINE] > 0.3
    assert meter.between(until, until)[MACHINE] == 0
