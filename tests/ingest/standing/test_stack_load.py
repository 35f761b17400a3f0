"""A command and a standing worker over their socket: what is asked, refused, told, and done when the worker is lost.

In `make test`: the loads are made up, and it needs no servers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from ingest_support import wait_for

from watchfloor.ingest.intake import load as load_module
from watchfloor.ingest.intake.load_result import FileResult, LoadProgress, LoadResult
from watchfloor.ingest.standing import load_server, stack_load
from watchfloor.ingest.standing.load_server import LoadServer
from watchfloor.ingest.standing.stack_load import StackLoad, ask_for_load, keep_apart
from watchfloor.ingest.worker import load_start, pool
from watchfloor.schema.errors import InputFileError, InternalError, StoreError, UserError, WatchfloorError
from watchfloor.schema.files.code_state import CodeState
from watchfloor.schema.settings.purposes import digest_ingest
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.local_socket import list_worker_sockets
from watchfloor.store.runtime.private_files import make_private_folder

FILE = FileResult(
    "/logs/a\udcff.log", 2, 30, 4, 1, 9, False, ("gone",), {("web.access", "size"): 3}, left_out=("b.png: no log",)
)
RESULT = LoadResult((FILE,), 5.0, ("c: not a log",))
LOADING = LoadProgress("loading", 10, 30, 2, 1, 1, 0.5, "the disk is full")


class MadeUpLoad:
    """Takes the place of ``Load``: yields steps, and raises those that are errors."""

    steps: ClassVar[list[Any]]
    """Progress, errors, and what is called in between."""
    asked: ClassVar[list[dict[str, Any]]]

    def __init__(self, settings: Settings, paths: Any, feed: Any, **options: Any) -> None:
        options.pop("start", None)
        self.asked.append({"paths": tuple(paths), "feed": feed, **options})
        self.result = RESULT

    def count_since(self, since: float) -> None:
        assert time.time() - 300 < since < time.time()

    def __iter__(self) -> Iterator[LoadProgress]:
        for step in self.steps:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, LoadProgress):
                yield step
            else:
                step()


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> type[MadeUpLoad]:
    """The load that a standing worker does."""

    class InWorker(MadeUpLoad):
        steps: ClassVar[list[Any]] = [LOADING]
        asked: ClassVar[list[dict[str, Any]]] = []

    monkeypatch.setattr(load_server, "Load", InWorker)
    return InWorker


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> type[MadeUpLoad]:
    """The load that the command does itself, without servers or workers."""

    class InCommand(MadeUpLoad):
        steps: ClassVar[list[Any]] = [replace(LOADING, events=77)]
        asked: ClassVar[list[dict[str, Any]]] = []

    class NoStart:
        def __init__(self, *_: object) -> None:
            pass

        def __enter__(self) -> NoStart:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(load_module, "Load", InCommand)
    monkeypatch.setattr(load_start, "LoadStart", NoStart)
    monkeypatch.setattr(stack_load, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(stack_load, "_RESTART_SECONDS", 0.05)
    return InCommand


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    make_private_folder(tmp_path / "run")
    return Settings(home=tmp_path)


@contextmanager
def serving(settings: Settings, name: str = "worker1") -> Iterator[LoadServer]:
    with LoadServer(settings, name, digest_ingest(settings)) as server:
        server.open()
        yield server


def ask(settings: Settings, *paths: str) -> StackLoad | None:
    return ask_for_load(settings, paths or ("/logs/a.log",), "web.access", again=True, is_strict=False)


def test_a_worker_does_what_a_command_asks_and_tells_all_of_it(
    settings: Settings, made_up: type[MadeUpLoad], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(settings):
        load = ask(settings, "/logs/a\udcff.log", "b/*.log")
        assert load is not None
        with pytest.raises(InternalError):
            _ = load.result
        (progress,) = load
    assert replace(progress, seconds=0.5) == LOADING
    assert replace(load.result, seconds=5.0) == RESULT
    paths = ("/logs/a\udcff.log", f"{tmp_path}/b/*.log")
    assert made_up.asked == [{"paths": paths, "feed": "web.access", "workers": 0, "again": True, "is_strict": False}]
    assert not list_worker_sockets(settings.home)


@pytest.mark.parametrize(
    ("error", "family"),
    [
        (InputFileError("a: not a log"), UserError),
        (StoreError("down"), WatchfloorError),
        (KeyError("x"), InternalError),
    ],
)
def test_an_error_of_the_load_is_raised_by_the_command(
    settings: Settings, made_up: type[MadeUpLoad], error: Exception, family: type[Exception]
) -> None:
    made_up.steps = [LOADING, error]
    with serving(settings):
        load = ask(settings)
        assert load is not None
        with pytest.raises(family, match=str(error)):
            list(load)


@pytest.mark.usefixtures("made_up")
def test_only_a_worker_that_would_do_the_same_is_left_the_load(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(settings) is None and keep_apart(settings) == settings
    with serving(settings):
        assert ask(replace(settings, tservers=3, small="on", standing_workers="2", port=1)) is not None
        assert ask(replace(settings, chunk_bytes=4096)) is None
        assert ask(replace(settings, topic="other")) is None
        assert ask(replace(settings, ingest_mode="bulk")) is None
        assert ask(replace(settings, kafka_bootstrap="elsewhere:9092")) is None
        assert ask(settings, "/logs/a.log", "s3://bucket/key") is None
        apart = keep_apart(settings)
        assert (apart.topic, apart.group) == ("watchfloor.loads.watchfloor.items", "watchfloor.loads.watchfloor")
        monkeypatch.setattr(CodeState, "is_old", True)
        assert ask(settings) is None


def test_a_worker_does_so_many_loads_at_once(
    settings: Settings, made_up: type[MadeUpLoad], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_server, "_MOST_LOADS", 1)
    held = threading.Event()
    made_up.steps = [lambda: held.wait(10), LOADING]
    with serving(settings):
        first = ask(settings)
        assert first is not None and ask(settings) is None
        held.set()
        assert len(list(first)) == 1


def test_the_load_of_a_command_that_is_gone_ends(settings: Settings, made_up: type[MadeUpLoad]) -> None:
    ended, asked = threading.Event(), threading.Event()

    def wait() -> None:
        asked.wait(10)

    class Endless(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            try:
                while True:
                    yield LOADING
                    yield wait
            finally:
                ended.set()

    made_up.steps = Endless()
    with serving(settings):
        load = ask(settings)
        assert load is not None
        load._opened.close()
        asked.set()
        assert ended.wait(10)


def test_a_load_whose_worker_is_lost_goes_on_with_another(
    settings: Settings, made_up: type[MadeUpLoad], own: type[MadeUpLoad], caplog: pytest.LogCaptureFixture
) -> None:
    with serving(settings), serving(settings, "worker2"):
        load = ask(settings)
        assert load is not None
        steps = iter(load)
        # As if the worker had been killed.
        load._asked._lines.close()
        (progress,) = steps
        wait_for(lambda: len(made_up.asked) == 2)  # the first one may begin only now
    assert progress.events == LOADING.events and not own.asked
    assert any("the stack's worker was lost" in message for message in caplog.messages)


def test_without_another_the_command_does_the_load_itself_once_the_stack_runs(
    settings: Settings, made_up: type[MadeUpLoad], own: type[MadeUpLoad]
) -> None:
    made_up.steps = [LOADING, (settings.home / "run" / "worker1.sock").unlink, LOADING]
    failing = [StoreError("the stack is down"), replace(LOADING, events=77)]

    class Recovering(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            yield failing.pop(0)

    own.steps = Recovering()
    with serving(settings):
        load = ask(settings)
        assert load is not None
        steps = iter(load)
        next(steps), next(steps)
        load._asked._lines.close()
        rest = list(steps)
    assert "the stack is down; trying again" in {step.problem for step in rest}
    assert rest[-1].events == 77 and rest[-1].phase == "loading"
    assert {step.phase for step in rest[:-1]} == {"waiting"}
    assert own.asked[0]["paths"] == ("/logs/a.log",) and own.asked[0]["again"]


def test_a_silent_worker_is_not_waited_for(
    settings: Settings, made_up: type[MadeUpLoad], own: type[MadeUpLoad], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_load, "_SILENT_SECONDS", 0.3)
    monkeypatch.setattr(load_server, "BEAT_SECONDS", 60)
    held = threading.Event()
    made_up.steps = [lambda: held.wait(20)]
    with serving(settings):
        load = ask(settings)
        assert load is not None
        monkeypatch.setattr(CodeState, "is_old", True)  # it takes no other
        assert list(load)[-1].events == 77
        held.set()
    assert own.asked


def test_a_load_of_which_nothing_is_read_gets_workers_of_its_own(
    settings: Settings, made_up: type[MadeUpLoad], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    class NoPool:
        def __init__(self, *_: object) -> None:
            started.append("pool")

        def __enter__(self) -> NoPool:
            return self

        def __exit__(self, *_: object) -> None:
            started.append("stopped")

        def restart_dead(self) -> None:
            pass

    monkeypatch.setattr(pool, "WorkerPool", NoPool)
    monkeypatch.setattr(stack_load, "_STUCK_SECONDS", -1.0)
    idle = replace(LOADING, problem="")
    made_up.steps = [idle, idle, idle, idle]
    with serving(settings):
        load = ask(settings)
        assert load is not None and len(list(load)) == 4
    assert started == ["pool", "stopped"]
