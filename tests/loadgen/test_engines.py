"""The engines that `bench blocks` and `bench peers` compare: each answers with the rows that plain Python finds."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import psutil
import pyarrow as pa
import pytest
from ingest_support import wait_for

from watchfloor.ingest.worker.item_reader import ReadTask, read_item
from watchfloor.loadgen.engines.answer import EngineAnswer, build_table, check_answer, digest_rows
from watchfloor.loadgen.engines.peers import peer_main as peer_process
from watchfloor.loadgen.engines.peers import peer_process as engine_peers
from watchfloor.loadgen.engines.peers.peer_process import PEERS, SQL_PEERS, PeerProcess, explain_missing, open_peers
from watchfloor.loadgen.engines.question import (
    EngineQuestion,
    QuestionKind,
    list_newest_questions,
    list_questions,
    list_value_questions,
)
from watchfloor.loadgen.engines.rounds import WARM_UP_SECONDS, AnswerSamples, Participant, profile_answers, run_rounds
from watchfloor.loadgen.engines.watchfloor_engine import WatchfloorEngine
from watchfloor.loadgen.experiments.peers.figures import compare_answers
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.generator.planted_paths import PLANTED_PATTERN, SINGLE_PATH, SPREAD_INTERVAL, SPREAD_PATH
from watchfloor.loadgen.harness.cpu_usage import MACHINE, CpuMeter
from watchfloor.loadgen.harness.loads import EventFile, write_events
from watchfloor.loadgen.harness.session import BenchSession, open_session
from watchfloor.schema.definition import builtin_definitions
from watchfloor.schema.errors import InternalError, StackError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import compact_source
from watchfloor.store.bulk.tablet_files import table_files
from watchfloor.store.store import Store

EVENTS = 2 * SPREAD_INTERVAL
PROXY = builtin_definitions()["proxy.events"]
COLUMNS = [field.name for field in PROXY.fields]


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


def held(session: BenchSession, path: Path, layout: str = "block") -> Source:
    """A source of the file's events, compacted."""
    source = session.create_source("proxy.events", layout=layout)
    with session.store.sink() as sink:
        read_item(ReadTask(session.store, sink, session.make_item(path, source)))
    compact_source(session.store.connection, source)
    return source


def brute_force(events: pa.Table, question: EngineQuestion) -> tuple[int, str]:
    def holds(value: str) -> bool:
        return bool(re.search(question.value, value)) if question.pattern else value == question.value

    found = events.filter(pa.array(map(holds, events.column(question.field).to_pylist())))
    if question.kind is QuestionKind.COUNT:
        return 1, str(len(found))
    found = found.slice(0, question.limit)
    return len(found), digest_rows(found, COLUMNS)


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


@pytest.mark.stack
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
            files = table_files(session.store, source)
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


def test_a_digest_knows_rows_by_their_values_not_by_order_or_arrow_type() -> None:
    for rows in (500, 20_000):
        names = [f"name-{i % 77}" if i % 5 else None for i in range(rows)]
        table = pa.table({"n": range(rows), "name": names, "ok": [i % 3 == 0 for i in range(rows)]})
        other = table.take(pa.array(range(rows - 1, -1, -1)))
        coded = other.column("name").combine_chunks().dictionary_encode()
        other = other.set_column(1, "name", coded)
        other = other.set_column(0, "n", other.column("n").cast(pa.uint16()))
        columns = ["n", "name", "ok"]
        assert digest_rows(other, columns) == digest_rows(table, columns)
        for changed in (
            table.slice(1),
            table.set_column(1, "name", pa.array([*names[:-1], "name-x"])),
            table.set_column(2, "ok", pa.array([False] * rows)),
        ):
            assert digest_rows(changed, columns) != digest_rows(table, columns)


def test_parties_warm_up_and_slow_ones_answer_in_few_rounds() -> None:
    """What counts is asked when each question has been asked for a while; the answers are checked in between."""
    asked: Counter[str] = Counter()
    before: Counter[str] = Counter()
    began: dict[str, float] = {}
    warm: dict[str, float] = {}

    def engine(name: str) -> Participant:
        def ask(question: EngineQuestion, check: bool) -> EngineAnswer:
            began.setdefault(name, time.perf_counter())
            if check:
                before[name], asked[name] = asked[name], 0
                warm[name] = time.perf_counter() - began[name]
            asked[name] += 1
            return EngineAnswer(float(asked[name]), 7, name if check else "")

        return Participant(
            name, 100, ask, [EngineQuestion("q", QuestionKind.COUNT, "f", "v")], 2 if name == "slow" else 5
        )

    found = run_rounds([engine("slow"), engine("quick")], 5)
    assert asked == {"slow": 3, "quick": 6}
    assert before["slow"] == 0 and before["quick"] > 1 and warm["quick"] >= 5 * WARM_UP_SECONDS
    assert found["slow", 100, "q"].seconds == [2.0, 3.0]
    assert found["quick", 100, "q"].seconds == [2.0, 3.0, 4.0, 5.0, 6.0]
    assert (found["quick", 100, "q"].rows, found["quick", 100, "q"].digest) == (7, "quick")


def test_a_profile_has_each_processs_own_processor_time_an_answer() -> None:
    asked: Counter[str] = Counter()

    def ask(question: EngineQuestion, check: bool) -> EngineAnswer:
        asked[question.name] += 1
        until = time.process_time() + (0.1 if question.name == "busy" else 0)
        while time.process_time() < until:
            pass
        return EngineAnswer(float(asked[question.name]), 1)

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as sleeping:
        processes = {"client": [os.getpid()], "sleeping": [sleeping.pid], "elsewhere": []}
        party = Participant(
            "ours",
            1,
            ask,
            [EngineQuestion(name, QuestionKind.COUNT, "f", "v") for name in ("busy", "idle")],
            1,
            processes,
        )
        found = profile_answers(party, 0.5)
        once = profile_answers(party, 0)
        sleeping.communicate(b"\n")
    assert asked["busy"] >= 2
    assert found["busy"].seconds == sum(range(1, asked["busy"])) / (asked["busy"] - 1)
    assert found["busy"].cpu_seconds["client"] >= 0.09 > 0.01 > found["idle"].cpu_seconds["client"]
    assert found["busy"].cpu_seconds["sleeping"] < 0.05
    assert once["busy"].seconds == asked["busy"]
    assert once["busy"].cpu_seconds.keys() == {"client", "sleeping"}


def test_rows_that_should_come_newest_first_and_do_not_are_an_error_that_names_engine_and_question() -> None:
    def ask_for(kind: QuestionKind, *days: int) -> None:
        rows = build_table([{"ts": f"2026-01-0{day}T00:00:00Z"} for day in days], PROXY)

        def ask(question: EngineQuestion, check: bool) -> EngineAnswer:
            return check_answer(0.1, rows, PROXY, question) if check else EngineAnswer(0.1, len(rows))

        run_rounds([Participant("sloppy", 3, ask, [EngineQuestion("q", kind, "domain", "v")], 1)], 1)

    ask_for(QuestionKind.NEWEST)
    ask_for(QuestionKind.NEWEST, 3, 2, 2, 1)
    ask_for(QuestionKind.EVERYTHING, 1, 3, 2)
    for days in ((1, 2), (3, 1, 2)):
        with pytest.raises(InternalError, match="sloppy did not give the rows of 'q' newest first"):
            ask_for(QuestionKind.NEWEST, *days)


def test_the_clock_of_a_load_stands_while_a_table_is_dropped_and_made(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = [0.0]
    engine = SimpleNamespace(
        recreate_table=lambda: spent.append(100),
        load_file=lambda path: spent.append(7),
        finish_merges=lambda: spent.append(1000),
        count_events=lambda: 2,
        measure_disk=lambda: 3,
    )
    monkeypatch.setattr(peer_process, "time", SimpleNamespace(perf_counter=lambda: sum(spent)))
    loaded = peer_process.answer_request(engine, PROXY, {"load": "events.json"})
    assert loaded == {"seconds": 7, "rows": 2, "bytes": 3}


def test_the_figure_of_same_answers_says_what_was_left_out() -> None:
    alone = {("watchfloor", 100, "q"): AnswerSamples([0.1], 1, "x")}
    both = alone | {("duckdb", 100, "q"): AnswerSamples([0.1], 1, "x")}
    assert compare_answers(both, 100, []).note == ""
    assert compare_answers(both, 100, ["chdb: why"]).note == "left out: chdb: why"
    note = compare_answers(alone, 100, ["duckdb: why", "chdb did not start: why"]).note
    assert note == "nothing was compared; left out: duckdb: why; left out: chdb did not start: why"
    differ = both | {("duckdb", 100, "q"): AnswerSamples([0.1], 1, "y")}
    assert compare_answers(differ, 100, ["chdb: why"]).note == "q; left out: chdb: why"


@pytest.mark.stack
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
def odd_questions() -> list[EngineQuestion]:
    domains = [
        question
        for value in (*ODD, "none such")
        for question in (
            EngineQuestion("newest 3", QuestionKind.NEWEST, "domain", value, 3),
            EngineQuestion("all", QuestionKind.NEWEST, "domain", value),
            EngineQuestion("count", QuestionKind.COUNT, "domain", value),
        )
    ]
    return [
        *domains,
        EngineQuestion("all", QuestionKind.EVERYTHING, "user", "it's"),
        EngineQuestion("all", QuestionKind.NEWEST, "src_ip", "10.0.0.1"),
    ]


@pytest.mark.stack
def test_odd_values_are_found_in_order(
    store_settings: Settings, odd_file: Path, odd_questions: list[EngineQuestion]
) -> None:
    events = read_events(odd_file)
    with open_session(str(store_settings.home)) as session, Store.open(store_settings, role="query") as store:
        ours = WatchfloorEngine(store, held(session, odd_file).name)
        for question in odd_questions:
            answer = ours.ask_question(question, True)
            assert (answer.rows, answer.digest) == brute_force(events, question) and answer.in_order, question


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_answers_as_brute_force_does_odd_values_too(
    name: str, file: EventFile, events: pa.Table, odd_file: Path, odd_questions: list[EngineQuestion]
) -> None:
    if remedy := explain_missing(name):
        pytest.skip(f"{name}: {remedy}")
    marks, whole = list_newest_questions(file.generated)
    usual = [question for question in list_questions(file.generated) if question.kind is not QuestionKind.SCAN]
    with open_peers([name]) as ((peer,), _):
        # The second load takes the place of the first.
        for path, rows, asked in (
            (odd_file, read_events(odd_file), odd_questions),
            (file.path, events, [*usual, *marks, *whole]),
        ):
            loaded = peer.load_file(path)
            assert loaded.rows == len(rows) and loaded.bytes > 0 and loaded.seconds > 0
            for question in asked:
                answer = peer.ask_question(question, True)
                assert (answer.rows, answer.digest) == brute_force(rows, question) and answer.in_order, question
                assert answer.seconds > 0


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go. Pytest's folders are their owner's alone; root starts OpenSearch as another user."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(name)


@pytest.mark.parametrize("name", ["tantivy", "opensearch"])
def test_an_answer_of_many_pages_is_whole_and_in_order(
    name: str, open_folder: Path, file: EventFile, events: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    if remedy := explain_missing(name):
        pytest.skip(f"{name}: {remedy}")
    monkeypatch.setattr(f"watchfloor.loadgen.engines.search.{name}_engine._PAGE", 10)
    # Of more, digests are sums of columns.
    monkeypatch.setattr("watchfloor.loadgen.engines.answer._MAX_HASHED_ROWS", 100)
    folder = open_folder / "data"
    folder.mkdir()
    with closing(peer_process.open_engine(name, folder, PROXY)) as engine:
        engine.recreate_table()
        engine.load_file(file.path)
        engine.finish_merges()
        for question in list_newest_questions(file.generated)[1]:
            pages = [build_table(page, PROXY) for page in engine.read_rows(question)]
            answer = check_answer(0.1, pa.concat_tables(pages), PROXY, question)
            assert (answer.rows, answer.digest) == brute_force(events, question) and answer.in_order, question
            # The rare value's events fill one page, and another one would be empty.
            assert all(len(page) == 10 for page in pages[:-1]) and len(pages) == -(-answer.rows // 10)


def test_an_engine_that_is_missing_is_said_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENSEARCH_HOME", raising=False)
    with open_peers(("no_such_engine", "opensearch")) as (found, left_out):
        assert found == []
    assert left_out == [
        "no_such_engine: not installed: pip install 'watchfloor[bench]'",
        "opensearch: OPENSEARCH_HOME is not set: docs/measuring/peers.md says how to get it",
    ]
    said = capsys.readouterr().err
    assert all(why in said for why in left_out)


def test_an_engine_that_does_not_start_is_closed_said_and_left_out(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENSEARCH_HOME", str(stub_opensearch(open_folder, "echo no more memory; exit 3")))
    there = [name for name in PEERS if name != "opensearch" and not explain_missing(name)]
    with open_peers((*there, "opensearch")) as (found, left_out):
        assert [peer.name for peer in found] == there
        assert not list(open_folder.glob("watchfloor-opensearch-*"))
    assert left_out == ["opensearch did not start: StackError: OpenSearch ended with 3"]
    assert f"{left_out[0]}\nno more memory" in capfd.readouterr().err
    assert not list(open_folder.glob("watchfloor-*"))


def test_a_server_ends_with_its_peer_that_is_killed_and_their_folder_goes(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = 'echo $$ > "$HOME/new"; mv "$HOME/new" "$HOME/pid"; exec sleep 600'
    monkeypatch.setenv("OPENSEARCH_HOME", str(stub_opensearch(open_folder, serve)))
    monkeypatch.setattr(engine_peers, "_STOP_SECONDS", 2)
    with closing(PeerProcess("opensearch")):
        # The peer waits for its server to answer, and does not see that its own input ends.
        wait_for(lambda: list(open_folder.glob("watchfloor-opensearch-*/pid")))
        (pid_file,) = open_folder.glob("watchfloor-opensearch-*/pid")
        server = psutil.Process(int(pid_file.read_text()))
    assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
    assert not list(open_folder.glob("watchfloor-*"))


def stub_opensearch(folder: Path, script: str) -> Path:
    """A distribution whose server is a shell script, and which brings a Java of its own."""
    home = folder / "stub"
    for part in ("bin", "config", "jdk"):
        (home / part).mkdir(parents=True)
    (home / "config/jvm.options").touch()
    server = home / "bin/opensearch"
    server.write_text(f"#!/bin/sh\n{script}\n")
    server.chmod(0o755)
    return home


def test_an_engine_that_does_not_open_or_whose_process_dies_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StackError, match="no_such_engine did not start: ValueError: no engine is called"):
        fails("no_such_engine")
    monkeypatch.setenv("OPENSEARCH_HOME", str(tmp_path))
    with pytest.raises(StackError, match=f"opensearch did not start: .* OPENSEARCH_HOME is {tmp_path}, which has no"):
        fails("opensearch")
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))  # where no Python is
    with pytest.raises(StackError, match="tantivy did not start: its process ended with 1"):
        fails("tantivy")


def fails(name: str) -> None:
    with closing(PeerProcess(name)) as peer:
        peer.load_file(Path("events"))


def used() -> float:
    """The machine's own count. A process's may be ahead of it, where the host gives its processors to others."""
    busy = psutil.cpu_times()
    return float(busy.user + busy.nice + busy.system)


def test_the_meter_counts_what_the_machine_spends(tmp_path: Path) -> None:
    with CpuMeter(Settings(home=tmp_path)) as meter:
        since, before = time.time(), used()
        while used() - before < 0.5:
            pass
        until, spent = time.time(), used() - before
    assert meter.measure_between(since, until)[MACHINE] == pytest.approx(spent, abs=0.1)
    assert meter.measure_between(until, until)[MACHINE] == 0
