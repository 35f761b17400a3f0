"""``query --watch`` gives each arriving event once while a worker ingests.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command_line import run_command
from hypothesis import given
from hypothesis import strategies as st
from ingest_support import own, source, wait_for, worker_here
from rest_fakes import SOURCE
from served import AnyToken, serve_app

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.ingest.intake.load import Load
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.query.watch import WINDOW_SECONDS, Watch, find_unseen
from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

FILES = 8
LINES = 40


def file_of(path: Path, number: int) -> Path:
    """Events of now, one two minutes late, one too late for any window, and one ahead of the clock; all told apart."""
    now = time.time()
    ages = {0: 120.0, 1: WINDOW_SECONDS + 600, 2: -30.0}
    with path.open("w") as out:
        for n in range(LINES):
            # Many in one microsecond.
            event = {"ts": int(now) - ages.get(n, n // 20), "host": f"h{n % 2}", "n": n, "text": f"{number}.{n}"}
            out.write(json.dumps(event) + "\n")
    return path


@contextmanager
def watching(watch: Watch, rows: list[dict[str, Any]]) -> Iterator[None]:
    """Collects the rows that come; a poll's together must be in their order."""
    failed: list[BaseException] = []

    def collect() -> None:
        try:
            for batch in watch:
                rows.extend(batch.to_pylist())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=collect)
    thread.start()
    try:
        yield
    finally:
        watch.close()
        thread.join(60)
        assert not thread.is_alive() and not failed, failed


@pytest.fixture
def ingest(
    layout: str, store_settings: Settings, tmp_path: Path
) -> Iterator[tuple[str, Store, Callable[[int], set[str]]]]:
    """A source's name, the analysts' store, and what loads a file of events and says which can be seen."""
    settings = own(store_settings, f"tail{layout}")
    with Store.open(store_settings) as writer:
        kind = writer.catalog.register(source(f"tail{len(list(tmp_path.parent.iterdir()))}", layout=layout))

    def load(number: int) -> set[str]:
        path = file_of(tmp_path / f"{number}.log", number)
        running = Load(settings, [path], kind.name, workers=0)
        for _ in running:
            pass
        assert running.result.events == LINES
        return {f"{number}.{n}" for n in range(LINES) if n != 1}

    with worker_here(settings), Store.open(store_settings, role="query") as store:
        yield kind.name, store, load


@pytest.mark.stack
@pytest.mark.parametrize("where", [None, "host = h1"])
def test_each_event_is_shown_once_as_it_arrives(
    where: str | None, ingest: tuple[str, Store, Callable[[int], set[str]]]
) -> None:
    name, store, load = ingest
    rows: list[dict[str, Any]] = []
    expected = load(0)  # before the watch began, and within its window
    watch = QueryService(store).watch(QueryRequest(name, where=where))
    with watching(watch, rows):
        for number in range(1, FILES):
            expected |= load(number)
        if where is not None:
            expected = {text for text in expected if int(text.partition(".")[2]) % 2}
        wait_for(lambda: len(rows) >= len(expected))
        time.sleep(1.5)  # a poll or two more, that find nothing new
    assert Counter(row["text"] for row in rows) == Counter(expected)
    summary = watch.summary
    assert (summary["status"], summary["rows"]) == ("cancelled", len(rows)) and summary["polls"] > 2


@pytest.mark.stack
def test_what_a_poll_finds_comes_oldest_first(ingest: tuple[str, Store, Callable[[int], set[str]]]) -> None:
    name, store, load = ingest
    load(0)
    batches = iter(watch := QueryService(store).watch(QueryRequest(name, columns=("ts",), limit=LINES - 1)))
    times = [row["ts"] for batch in batches for row in batch.to_pylist()]
    assert times == sorted(times) and len(times) == LINES - 1
    assert watch.summary["status"] == "limit"


@pytest.mark.stack
def test_since_bounds_what_is_shown_and_widens_the_window(
    ingest: tuple[str, Store, Callable[[int], set[str]]],
) -> None:
    name, store, load = ingest
    load(0)
    now = time.time_ns() // 1000
    for seconds, shown in ((60, LINES - 2), (WINDOW_SECONDS + 1000, LINES)):
        watch = QueryService(store).watch(QueryRequest(name, now - int(seconds * 1e6), deadline=2))
        assert sum(len(batch) for batch in watch) == shown
        assert watch.summary["status"] == "deadline"
        assert watch.summary["window_seconds"] >= max(seconds, WINDOW_SECONDS)


@pytest.mark.stack
def test_the_command_line_watches(
    ingest: tuple[str, Store, Callable[[int], set[str]]], store_settings: Settings
) -> None:
    name, _, load = ingest
    shown = load(0)
    status, out, err = run_command(store_settings, "query", name, "--watch", "--deadline", "1.5", "--columns", "text")
    assert status == 0 and {json.loads(line)["text"] for line in out.splitlines()} == shown
    assert err.startswith(f"{LINES - 1} rows in ") and "watched for" in err
    status, out, _ = run_command(store_settings, "query", name, "--watch", "--limit", "2", "--format", "table")
    assert status == 0 and len(out.splitlines()) == 3
    assert run_command(store_settings, "query", name, "--watch", "--until", "now")[0] == 2
    assert run_command(store_settings, "query", name, "--watch", "--cursor", "x")[0] == 2


@pytest.mark.stack
def test_ctrl_c_is_the_way_to_end_it(store_settings: Settings, tmp_path: Path) -> None:
    settings = own(store_settings, "tailc")
    kind = source("tailc")
    with Store.open(store_settings) as writer:
        writer.catalog.register(kind)
    with worker_here(settings):
        for _ in Load(settings, [file_of(tmp_path / "one.log", 0)], kind.name, workers=0):
            pass
    command = [
        sys.executable,
        "-c",
        "from watchfloor.api.cli.main import main; main()",
        "--home",
        str(store_settings.home),
    ]
    with subprocess.Popen(
        [*command, "query", kind.name, "--watch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert json.loads(process.stdout.readline())["text"].startswith("0.")
        process.send_signal(signal.SIGINT)
        rest, said = process.stdout.read(), process.stderr.read()
        assert process.wait(30) == 0, said
    assert len(rest.splitlines()) == LINES - 2 and said.startswith(f"{LINES - 1} rows in ")


@pytest.mark.stack
def test_the_service_streams_a_watch_until_its_client_leaves(
    ingest: tuple[str, Store, Callable[[int], set[str]]], store_settings: Settings
) -> None:
    import http.client

    name, _, load = ingest
    services = StoreServices(store_settings)
    limits = RestLimits(queries=1, queries_per_token=1)
    with closing(services), serve_app(create_app(services, AnyToken(), limits), limits) as port:
        headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}

        def ask(**more: Any) -> http.client.HTTPResponse:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", "/api/v1/query", json.dumps({"source": name, **more}), headers)
            return connection.getresponse()

        shown = load(0)
        response = ask(watch=True, columns=["text"])
        assert response.status == 200
        assert {json.loads(response.readline())["text"] for _ in shown} == shown
        shown = load(1)
        assert {json.loads(response.readline())["text"] for _ in shown} == shown
        assert ask(limit=1).status == 200, "a watch takes no other query's turn"
        other = ask(watch=True)
        assert (other.status, ask(watch=True).status) == (200, 429), "one token has two watches at most"
        other.close()
        response.close()
        ended: list[bytes] = []

        def watched_to_its_end() -> bool:
            answer = ask(watch=True, deadline=1)
            ended.append(answer.read())
            return answer.status == 200

        wait_for(watched_to_its_end)
        last = json.loads(ended[-1].splitlines()[-1])["summary"]
        assert (last["status"], last["rows"]) == ("deadline", 2 * (LINES - 1))
        assert ask(watch=True, until="now").status == 400


def test_a_watch_is_of_the_future() -> None:
    for more in ({"until": 5}, {"cursor": "x"}):
        with pytest.raises(UserError, match="does not go with watch"):
            QueryService(SimpleNamespace()).watch(QueryRequest(SOURCE.name, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [{"where": "nobody = 1"}, {"columns": ("nobody",)}, {"limit": 0}])
def test_a_watch_that_does_not_fit_its_source_is_refused_before_it_polls(more: dict[str, Any]) -> None:
    store: Any = SimpleNamespace(catalog=SimpleNamespace(find_source=lambda name: SOURCE))
    with pytest.raises(UserError):
        QueryService(store).watch(QueryRequest(SOURCE.name, **more))


keys = st.lists(st.binary(min_size=2, max_size=2), unique=True).map(sorted)


@given(keys, keys)
def test_keys_are_unseen_if_they_are_not_among_the_seen(some: list[bytes], seen: list[bytes]) -> None:
    def array(of: list[bytes]) -> np.ndarray:
        return np.array([np.frombuffer(key, "S2")[0] for key in of], "S2")

    assert find_unseen(array(some), array(seen)).tolist() == [key not in seen for key in some]
