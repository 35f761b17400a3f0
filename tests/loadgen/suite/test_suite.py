"""``bench all`` runs one experiment after another, can be interrupted and resumed, and leaves nothing running.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from runs import RATE, experiment

from watchfloor.api.cli import main as cli
from watchfloor.loadgen.harness.experiment import Experiment, InputFile
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.suite import bench, child_process, suite
from watchfloor.loadgen.suite.progress import SuiteProgress, format_clock
from watchfloor.schema.errors import InputFileError, UserError

pytest.importorskip("matplotlib", reason="reports need matplotlib: pip install 'watchfloor[bench]'")

NAMES = ("asking", "loading", "third")


def pretend(name: str, **more: Any) -> Experiment:
    """An experiment that is never run."""
    options: dict[str, Any] = {"quick_options": ("--events", "10"), "quick_seconds": 1, **more}
    return Experiment(name, name, (), add_options=print, run=lambda session, options: [], **options)


class Rehearsal:
    """Experiments that are scripts, on a stack that is none. ``breaks``: which exit with 3; ``ran``: which have run."""

    def __init__(self) -> None:
        self.breaks: set[str] = set()
        self.ran: list[tuple[str, bool]] = []
        self.stacks = 0
        self.experiments = {name: pretend(name, own_stack=name == "third") for name in NAMES}

    def command(self, name: str, arguments: list[str], stack: object) -> tuple[list[str], dict[str, str]]:
        self.ran.append((name, stack is not None))
        written = json.dumps(experiment(name, [Figure(RATE, (1.0, 2.0))]).to_json())
        script = (
            f"import sys; print('halfway', file=sys.stderr); open(sys.argv[1], 'w').write({written!r}); print('end')"
        )
        if name in self.breaks:
            script += "; sys.exit('watchfloor: no more horses')"
        assert arguments[0] == "--json"
        return [sys.executable, "-c", script, arguments[1]], dict(os.environ)

    @contextmanager
    def stack(self, home: str | None, sharing: list[object]) -> Iterator[object]:
        self.stacks += bool(sharing)
        yield object() if sharing else None


@pytest.fixture
def rehearsal(monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    made = Rehearsal()
    monkeypatch.setattr(suite, "list_names", lambda: list(NAMES))
    monkeypatch.setattr(suite, "load_experiment", made.experiments.__getitem__)
    monkeypatch.setattr(suite, "_make_command", made.command)
    monkeypatch.setattr(suite, "_open_stack", made.stack)
    return made


def run(*arguments: str) -> int:
    parser = ArgumentParser()
    suite.add_options(parser, [])
    return suite.run_all(parser.parse_args(arguments))


def test_all_run_and_a_second_time_none(
    rehearsal: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run("--quick", "--out", str(out)) == 0
    assert rehearsal.ran == [("asking", True), ("loading", True), ("third", False)]
    told = capsys.readouterr()
    assert told.out == f"{out / 'report.html'}\n"
    for line in (
        "[1/3 asking, 0:00, about 0:03 left] begins",
        "[1/3 asking, 0:00, about 0:03 left] halfway",
        "[3/3 third, 0:0",
        "left] halfway",
    ):
        assert line in told.err
    record = json.loads((out / "run.json").read_text())
    assert record["quick"] and record["seed"] == 1 and record["machine"]["cores"] and record["versions"]["python"]
    asked = {name: entry["options"] for name, entry in record["experiments"].items()}
    assert asked == {name: ["--events", "10"] for name in NAMES}
    assert sorted((out / "log" / "asking.log").read_text().splitlines()) == ["end", "halfway"]
    before = (out / "report.html").read_bytes()
    assert run("--quick", "--out", str(out)) == 0
    assert len(rehearsal.ran) == 3 and rehearsal.stacks == 1
    assert "asking has run already" in capsys.readouterr().err
    assert (out / "report.html").read_bytes() == before


def test_one_that_fails_is_named_and_run_again(
    rehearsal: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    rehearsal.breaks = {"loading"}
    assert run("--out", str(out)) == 1
    told = capsys.readouterr()
    assert "loading FAILED" in told.err and "no more horses" in told.err and "third FAILED" not in told.err
    assert "no more horses" in (out / "report.html").read_text()
    assert not (out / "loading.json").exists()
    rehearsal.breaks = set()
    assert run("--out", str(out)) == 0
    assert [name for name, _ in rehearsal.ran] == [*NAMES, "loading"]
    assert "no more horses" not in (out / "report.html").read_text()


def test_some_can_be_chosen_and_others_follow(rehearsal: Rehearsal, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    assert run("--quick", "--out", out, "--only", "third") == 0
    assert rehearsal.stacks == 0
    assert run("--quick", "--out", out, "--only", "loading, asking") == 0
    assert [name for name, _ in rehearsal.ran] == ["third", "asking", "loading"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--seed", "1"], "quick = True, not False"),
        (["--quick", "--seed", "2"], "seed = 1, not 2"),
        (["--quick", "--only", "horses"], "no such experiment"),
    ],
)
def test_a_run_goes_on_only_as_it_began(
    arguments: list[str],
    told: str,
    rehearsal: Rehearsal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--quick", "--out", str(tmp_path / "run"), "--only", "asking") == 0
    monkeypatch.setattr(bench, "list_names", list)
    assert cli.main(["bench", "all", "--out", str(tmp_path / "run"), *arguments]) == cli.USER
    assert told in capsys.readouterr().err
    assert len(rehearsal.ran) == 1


def test_options_that_have_changed_since_are_refused(
    rehearsal: Rehearsal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run("--quick", "--out", str(out), "--only", "asking") == 0
    monkeypatch.setattr(bench, "list_names", list)
    rehearsal.experiments["asking"] = pretend("asking", quick_options=("--events", "11"))
    arguments = ["bench", "all", "--quick", "--out", str(out)]
    assert cli.main(arguments) == cli.USER
    assert "was measured with --events 10, not --events 11" in capsys.readouterr().err
    rehearsal.experiments["asking"] = pretend("asking")
    (out / "asking.json").write_text("{}")
    assert cli.main(arguments) == cli.USER
    (out / "run.json").unlink()
    assert cli.main(arguments) == cli.USER
    assert "holds asking.json and no run.json" in capsys.readouterr().err
    assert cli.main([*arguments[:3], "--out", str(out / "asking.json")]) == cli.USER


def test_a_file_is_checked_first_and_passed_on_to_the_experiment_that_takes_it() -> None:
    checked: list[Path] = []
    taking = pretend("asking", input_files=(InputFile("paper", "values", checked.append),))
    args = Namespace(quick=True, paper=Path("/values.json"))
    assert suite._make_options(taking, args) == ("--events", "10", "--paper", "/values.json")
    assert suite._make_options(taking, Namespace(quick=False, paper=None)) == ()
    assert suite._make_options(pretend("loading"), args) == ("--events", "10")


def test_a_file_that_is_not_right_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="cannot be read"):
        bench.main(["all", "--out", str(tmp_path / "run"), "--paper", str(tmp_path / "none.json")])
    assert not (tmp_path / "run").exists()


def test_remaining_time_is_what_it_took_before_or_a_guess() -> None:
    names = ["a", "b", "c", "d"]
    assert SuiteProgress(names, {}, {}).estimate_left(0, 5) is None
    progress = SuiteProgress(names, {"b": 10.0, "c": 30.0}, {})
    assert progress.estimate_left(0, 0) == 20 + 10 + 30 + 20
    assert progress.estimate_left(2, 12) == 18 + 20
    assert progress.estimate_left(3, 100) == 0
    usual = dict.fromkeys(names, 5.0)
    assert SuiteProgress(names, {}, usual).estimate_left(0, 1) == 4 + 5 + 5 + 5
    assert SuiteProgress(names, {"a": 10.0}, usual).estimate_left(1, 0) == 3 * 10  # this machine takes twice as long
    assert (format_clock(5), format_clock(65.4), format_clock(3_725)) == ("0:05", "1:05", "1:02:05")


CHILD = """
import sys, time
try:
    print("up", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.1)  # a signal just before a long sleep would be noticed after it
finally:
    open(sys.argv[1], "w").write("tidy")
"""


def test_an_interrupt_ends_the_child_in_order(tmp_path: Path) -> None:
    """The signal comes while the child runs, and once more while it tidies up."""
    tidy, log = tmp_path / "tidy", tmp_path / "log"
    before = signal.getsignal(signal.SIGTERM)

    def heard(line: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt), child_process.interrupted_once():
        try:
            child_process.run_child([sys.executable, "-c", CHILD, str(tidy)], os.environ, log, heard)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            assert tidy.read_text() == "tidy"
    assert signal.getsignal(signal.SIGTERM) == before
    assert "KeyboardInterrupt" in log.read_text()


def test_the_largest_tablet_server_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(suite, "start_stack", lambda settings, report: started.append(settings))
    monkeypatch.setattr(suite, "discard_stack", lambda settings: None)
    sharing = [pretend("asking", tserver_heap=heap) for heap in (None, "3g", "1500m")]
    with suite._open_stack(None, sharing) as stack:
        assert stack is not None and stack.tserver_heap == "3072m"
        command, env = suite._make_command("readers", ["--seed", "1"], stack)
        assert command[-4:] == ["--seed", "1", "--home", str(stack.home)]
        assert env["WATCHFLOOR_TSERVER_HEAP"] == "3072m"
    with suite._open_stack(None, sharing[:1]) as stack:
        assert stack is not None and stack.tserver_heap == ""
    with suite._open_stack("/elsewhere", sharing) as stack:
        assert stack is not None and stack.home == Path("/elsewhere") and len(started) == 2
    monkeypatch.setenv("WATCHFLOOR_HOME", "/elsewhere")
    command, env = suite._make_command("ingest", [], None)
    assert "--home" not in command and "WATCHFLOOR_HOME" not in env


def test_what_changes_the_stack_never_runs_on_one_that_is_there(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "list_names", lambda: ["third"])
    monkeypatch.setattr(bench, "load_experiment", rehearsal.experiments.__getitem__)
    with pytest.raises(UserError, match="on a stack of its own only"):
        bench.main(["third", "--home", "/somewhere"])


def test_bench_all_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["all", "--help"])
    assert "--quick" in capsys.readouterr().out
    assert isinstance(bench._make_parser().parse_args(["all", "--out", "x"]), Namespace)
