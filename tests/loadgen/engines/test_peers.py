"""Engines in processes of their own answer as brute force does, and are closed and named when they fail.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pyarrow as pa
import pytest
from engine_events import PROXY, brute_force, read_events
from ingest_support import wait_for

from watchfloor.loadgen.engines.answer import build_table, check_answer
from watchfloor.loadgen.engines.peers import peer_main as peer_process
from watchfloor.loadgen.engines.peers import peer_process as engine_peers
from watchfloor.loadgen.engines.peers.peer_process import PEERS, SQL_PEERS, PeerProcess, explain_missing, open_peers
from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind, list_newest_questions, list_questions
from watchfloor.loadgen.harness.loads import EventFile
from watchfloor.schema.errors import StackError


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


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_answers_as_brute_force_does_odd_values_too(
    name: str, file: EventFile, events: pa.Table, odd_file: Path, odd_questions: list[EngineQuestion]
) -> None:
    if remedy := explain_missing(name):
        pytest.skip(f"{name}: {remedy}")
    marks, whole = list_newest_questions(file.generated)
    usual = [
        question
        for question in list_questions(file.generated)
        if question.kind is not QuestionKind.SCAN or name in SQL_PEERS
    ]
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
    """Yields a folder for temporary files. Only the owner may enter pytest's; root runs OpenSearch as another user."""
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


def test_a_server_that_is_no_program_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VICTORIA_LOGS", str(tmp_path))
    with open_peers(("victorialogs",)) as (found, left_out):
        assert found == []
    assert left_out == [f"victorialogs did not start: StackError: VICTORIA_LOGS is {tmp_path}, which is no program"]
