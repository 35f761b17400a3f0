"""Commands print what they should, on the right stream, and return the right exit status.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rest_fakes import FakeService, events

from watchfloor.api.cli import main as cli
from watchfloor.api.cli.terminal.progress import follow_load, format_progress, format_summary
from watchfloor.ingest.intake.load_result import FileResult, LoadProgress, LoadResult
from watchfloor.ingest.worker.load_start import LoadStart
from watchfloor.ingest.worker.pool import choose_workers
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.status import ServerStatus, StackStatus, TableStatus

RUN = [sys.executable, "-c", "import sys; from watchfloor.api.cli.main import main; sys.exit(main())"]
pytestmark = pytest.mark.usefixtures("fake_store")


def test_a_query_prints_events_and_says_the_rest(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(["query", "web.access", "--columns", "ts, path", "--limit", "5", "--scheme", "scan", "--w", "3"]) == 0
    )
    out, err = capsys.readouterr()
    assert [json.loads(text)["path"] for text in out.splitlines()] == [f"/{n}" for n in range(5)]
    assert err.startswith("5 rows in 1 batch, first after 4 ms, all after 12 ms\n  scheme ")
    request = service.asked[0]
    assert (request.columns, request.limit, request.scheme, request.w) == (("ts", "path"), 5, "scan", 3.0)
    assert service.results[0].closed.is_set()


def test_a_query_may_go_to_a_file(service: FakeService, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    assert cli.main(["query", "web.access", "--format", "csv", "--output", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert len(file.read_text().splitlines()) == 6


def test_a_query_that_breaks_midway_keeps_what_came(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    service.batches = [events(0, 2), StoreError("a tablet server is gone")]
    assert cli.main(["query", "web.access"]) == cli.OPERATOR
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert err == "watchfloor: a tablet server is gone\n"
    assert service.results[0].closed.is_set()


def test_explain_prints_the_plan_alone(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "web.access", "--explain"]) == 0
    assert capsys.readouterr().out == "scheme    batched-scan\naccess    scan of 5 events\n"


def test_counts(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    def out(*arguments: str) -> str:
        assert cli.main(list(arguments)) == 0
        return capsys.readouterr().out

    assert out("count", "web.access") == "5\n"
    assert out("count", "web.access", "--field", "status", "--value", "404") == "2\n"
    assert out("top", "web.access", "client", "--limit", "1") == '{"value":"192.0.2.1","count":3}\n'
    assert out("top", "web.access", "client", "--format", "table").splitlines()[1] == "192.0.2.1      3"
    assert out("timeline", "web.access").splitlines()[0] == '{"start":"2026-01-08T11:00:00.000000Z","count":1}'
    assert out("timeline", "web.access", "--format", "table").splitlines()[2].endswith("4  " + "█" * 40)
    assert cli.main(["count", "web.access", "--field", "status"]) == cli.USER
    assert cli.main(["top", "web.access", "path"]) == cli.USER
    assert cli.main(["top", "web.access", "client", "--limit", "0"]) == cli.USER


def test_generate(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    arguments = ["generate", "proxy.events", "--events", "1000", "--seed", "3"]
    assert cli.main(arguments) == 0
    out, err = capfdbinary.readouterr()
    assert len(out.splitlines()) == 1000
    assert b"rare      domain = drop.nightjar.example: 10 events" in err
    assert cli.main([*arguments, "--output", str(file)]) == 0
    assert capfdbinary.readouterr().out == b""
    assert file.read_bytes() == out
    assert cli.main([*arguments, "--out", "-"]) == 0
    assert capfdbinary.readouterr().out == out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--days", "-1"], "--days is -1"),
        (["--end", "later"], "'later' is no time"),
        (["--seed", "-3"], "--seed is -3"),
        (["--rate", "0"], "--rate is 0; it must lie above 0"),
        (["--rate", "nan"], "--rate is nan"),
        (["--rate", "0.0000001"], "--events 1000 at --rate 1e-07 take more than"),
        (["--rate", "5", "--days", "2"], "--days says when events were; with --rate they are now"),
        (["--rate", "5", "--output", "/nonexistent/file"], "cannot write /nonexistent/file"),
        (["--events", "-1"], "--events is -1"),
    ],
)
def test_generate_refuses_by_the_options_name(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["generate", "dns.events", "--events", "1000", *arguments]) == cli.USER
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("watchfloor: ") and message in err


def test_a_live_feed_that_is_interrupted_ends_with_a_whole_line() -> None:
    """Holds without Python's own buffer too, where a signal cuts a write to a full pipe short."""
    generate = subprocess.Popen(
        [*RUN, "generate", "dns.events", "--events", "1000000", "--rate", "200000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert generate.stdout is not None and generate.stderr is not None
    first = generate.stdout.readline()
    generate.send_signal(signal.SIGINT)
    lines = [first, *generate.stdout]
    assert generate.wait(20) == cli.INTERRUPTED
    assert all(json.loads(text) for text in lines) and lines[-1].endswith(b"}\n")
    said = generate.stderr.read().decode()
    assert said.startswith(f"{len(lines):,} events, ") and " ms late" in said
    assert f"popular   query = portal.harborline.example: {sum(b'portal.harborline' in t for t in lines):,}" in said


def test_definitions_are_checked_without_a_store(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    definition = {
        "name": "my.source",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "fields": [{"name": "ts", "type": "time"}],
    }
    good.write_text(json.dumps(definition))
    bad.write_text(json.dumps({**definition, "fields": [{"name": "ts", "type": "moment"}]}))
    assert cli.main(["sources", "check", str(good)]) == 0
    assert "my.source is fine" in capsys.readouterr().err
    assert cli.main(["sources", "check", str(bad)]) == cli.USER
    assert "fields[0].type" in capsys.readouterr().err
    bad.write_text(json.dumps({**definition, "parser": {"format": "jsn"}}))
    for action in ("check", "add"):
        assert cli.main(["sources", action, str(bad)]) == cli.USER
        said = capsys.readouterr().err
        assert ".parser.format: 'jsn' is not one of access_log, " in said and "; did you mean json?" in said
    assert cli.main(["sources", "check", str(tmp_path / "none.json")]) == cli.USER


def progress(phase: str, size: int, events: int, lag: int, problem: str = "") -> LoadProgress:
    return LoadProgress(phase, size, 4_000_000, events, 1, lag, 2.0, problem)


def result(*, quarantined: int = 0, failed: tuple[str, ...] = (), is_known: bool = False) -> LoadResult:
    return LoadResult((FileResult("a\x1b.log", 2, 4_000_000, 1000, quarantined, 9000, is_known, failed),), 2.0)


def test_progress_says_speed_lag_and_quarantined() -> None:
    assert format_progress(progress("loading", 1_000_000, 500, 1)) == (
        "loading: 500 events (250 events/s, 0.5 MB/s), 25 %, lag 1 item, 1 quarantined"
    )
    assert format_progress(progress("loading", 0, 0, 2, "the store\x1b is down")).endswith("; the store\\x1b is down")


def test_a_summary_adds_up_and_says_where_to_look() -> None:
    text = format_summary(result(quarantined=5, failed=("a.log: gone",)))
    assert "1,005 lines = 1,000 events + 5 quarantined, in 2.0 s (500 events/s, 2.0 MB/s)" in text
    assert "failed: a.log: gone" in text
    assert "watchfloor quarantine list" in text
    known = format_summary(result(quarantined=5, is_known=True))
    assert "0 lines = 0 events + 0 quarantined" in known and "1 of 1 files were loaded before" in known
    assert "watchfloor quarantine list" in known
    assert "hold no lines" not in text


def test_a_summary_counts_the_files_without_lines() -> None:
    files = (
        FileResult("empty.log", 1, 0, 0, 0, 0, False, ()),
        FileResult("headers.log", 1, 50, 0, 0, 0, False, ()),
        FileResult("before.log", 0, 0, 0, 0, 0, True, ()),
        FileResult("failed.log", 1, 50, 0, 0, 0, False, ("gone",)),
        FileResult("full.log", 1, 50, 3, 1, 9, False, ()),
    )
    lines = format_summary(LoadResult(files, 2.0)).splitlines()
    assert [line for line in lines if line.endswith(", no lines")] == [
        "  empty.log: 0 events, 0 quarantined, no lines",
        "  headers.log: 0 events, 0 quarantined, no lines",
    ]
    assert "2 of 5 files hold no lines: empty, blank or only headers" in lines[-2]


def test_a_summary_names_skipped_files_and_values_that_do_not_fit() -> None:
    counts = {("a.log", f"f{number:02}"): 100 - number for number in range(13)}
    files = (FileResult("a.log", 1, 50, 3, 0, 9, False, (), {("a.log", "f00"): 1000}),)
    files += (
        FileResult("b.log", 1, 50, 3, 0, 9, False, (), counts),
        FileResult("c.log", 1, 50, 3, 0, 9, True, (), counts),
    )
    lines = format_summary(LoadResult(files, 2.0, ("junk\x1b: not a log", "empty: is empty"))).splitlines()
    assert [line for line in lines if "skipped: " in line] == [
        "  skipped: junk\\x1b: not a log",
        "  skipped: empty: is empty",
    ]
    kept = [line for line in lines if "kept in extra" in line]
    assert kept[0] == "  kept in extra: 1,100 values of f00 in a.log, not of its type"
    assert kept[1].startswith("  kept in extra: 99 values of f01 in ")
    assert len(kept) == 11 and kept[10] == "  kept in extra: 267 values of 3 more fields"
    assert lines[-1].endswith("1 of 5 files were loaded before, 2 of 5 files were skipped, as their kind is not known")


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        (result(), 0),
        (result(quarantined=1), 1),
        (result(quarantined=1, is_known=True), 1),
        (result(failed=("gone",)), 1),
        (replace(result(), unread=("junk: not a log",)), 1),
    ],
)
def test_a_load_that_was_not_clean_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ended: LoadResult, status: int
) -> None:
    asked: list[Any] = []
    starts: list[Any] = []
    begun: list[int] = []

    class FakeStart(LoadStart):
        def begin(self) -> None:
            begun.append(len(self.pool._slots))

    class FakeLoad:
        result = ended

        def __init__(self, settings: Settings, paths: list[str], feed: str | None, **options: Any) -> None:
            starts.append(options.pop("start"))
            asked.append((paths, feed, options))

        def __iter__(self) -> Iterator[LoadProgress]:
            yield progress("done", 4_000_000, 1000, 0)

    monkeypatch.setattr("watchfloor.ingest.intake.load.Load", FakeLoad)
    monkeypatch.setattr("watchfloor.ingest.worker.load_start.LoadStart", FakeStart)
    assert cli.main(["load", "a.log", "b.log", "--source", "web.access", "--workers", "2", "--again"]) == status
    assert asked == [(["a.log", "b.log"], "web.access", {"workers": 2, "again": True, "is_strict": False})]
    assert cli.main(["load", "a.log", "--strict"]) == status
    assert asked[-1] == (["a.log"], None, {"workers": choose_workers(), "again": False, "is_strict": True})
    assert begun == [2, choose_workers()] and all(isinstance(start, FakeStart) for start in starts)
    assert capsys.readouterr().out == ""
    assert cli.main(["load", "a.log", "--workers", "0"]) == cli.USER


def test_workers_take_mode_and_delay_from_flags(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The BatchWriters get a tenth of the delay; their default is a tenth of the default delay."""
    asked: list[Settings] = []
    key = tmp_path / "queue.key"
    key.write_text("k" * 64)
    key.chmod(0o600)
    monkeypatch.setenv("WATCHFLOOR_QUEUE_KEY", str(key))

    class FakePool:
        def __init__(self, settings: Settings, workers: int) -> None:
            asked.append(settings)

        def run(self, stop: threading.Event) -> None:
            pass

    monkeypatch.setattr("watchfloor.ingest.worker.pool.WorkerPool", FakePool)
    for flags in ([], ["--max-delay", "2"], ["--mode", "bulk", "--max-delay", "0.5"]):
        assert cli.main(["worker", *flags]) == cli.OK
    found = [(settings.ingest_mode, settings.sink_latency_ms) for settings in asked]
    assert found == [("live", 200), ("live", 200), ("bulk", 50)]
    assert cli.main(["worker", "--max-delay", "0"]) == cli.USER
    assert "--max-delay is 0; it must lie between 0.1 and 3600 seconds" in capsys.readouterr().err


def test_a_bar_on_a_terminal_follows_the_load(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class FakeLoad:
        result = result()

        def __iter__(self) -> Iterator[LoadProgress]:
            yield progress("loading", 2_000_000, 500, 1, "[red]waits[/red]")
            yield progress("done", 4_000_000, 1000, 0)

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    load: Any = FakeLoad()
    assert follow_load(load) is FakeLoad.result
    out, err = capsys.readouterr()
    assert out == ""
    assert "lag 0" in err


@pytest.mark.parametrize(("problems", "code"), [((), 0), (("tserver1: died",), 3)])
def test_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problems: tuple[str, ...], code: int
) -> None:
    servers = (ServerStatus("tserver1", "running", {"tserver1": 9997}, 42, 300 << 20, 3700.0, heap=1024 << 20),)
    tables = (TableStatus("zeek_conn.event", True, 4, 4, 12_345, 10),)
    found = StackStatus("/home", servers, tables, 1, problems, sizes={"tserver_heap": "768m"})
    monkeypatch.setattr("watchfloor.store.stack.status.read_status", lambda settings, lag: found)
    assert cli.main(["status"]) == code
    text = capsys.readouterr().out
    assert "sizes: tserver_heap 768m; by the machine's" in text
    assert "300 MiB (heap 1,024)" in text and "1h01m" in text and "12,345" in text
    assert "queue: 1 work item waiting" in text
    assert all(f"problem: {problem}" in text for problem in problems)
    assert cli.main(["status", "--json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert (answer["healthy"], answer["lag"], answer["servers"][0]["memory"]) == (code == 0, 1, 300 << 20)


@pytest.mark.parametrize(
    ("arguments", "called"),
    [
        (["up"], (None, None, None, None)),
        (["up", "--tservers", "2"], (2, None, None, None)),
        (["up", "--security", "ssl"], (None, "ssl", None, None)),
        (["up", "--hdfs"], (None, None, 3, None)),
        (["up", "--hdfs", "--datanodes", "5"], (None, None, 5, None)),
        (["up", "--small"], (None, None, None, True)),
        (["up", "--no-small"], (None, None, None, False)),
        (["down"], "down"),
    ],
)
def test_up_and_down(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: list[str],
    called: object,
) -> None:
    calls: list[object] = []

    def up(settings: Settings, tservers: int | None, report: Any, *others: Any) -> None:
        calls.append((tservers, *others))

    def prepare(settings: Settings) -> None:
        calls.append("prepared")
        raise StoreError("the store sleeps")

    monkeypatch.setattr("watchfloor.ingest.queue.first_load.prepare_first_load", prepare)
    monkeypatch.setenv("WATCHFLOOR_HOME", str(tmp_path))
    monkeypatch.setattr("watchfloor.store.stack.stack.start_stack", up)
    monkeypatch.setattr("watchfloor.store.stack.stack.stop_stack", lambda settings, report: calls.append("down"))
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert out == "" and ("not ready for a load yet: the store sleeps" in err) == (called != "down")
    assert calls == ([called] if called == "down" else [called, "prepared"])
