"""A token that is revoked or expires ends its streams and watches within two seconds, on a real server and store.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from ingest_support import RUN
from loaded import batch_of, write
from scan_sessions import assert_scans_end
from served import serve_app

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import WATCHES_PER_QUERY, RestLimits
from watchfloor.api.rest.base.problems import problem_type
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.tokens.token_file import TokenFile
from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

LIMITS = RestLimits(queries=1, queries_per_token=1, wait_seconds=5, stalled_seconds=60)
WATCHES = WATCHES_PER_QUERY * LIMITS.queries
EVENTS = 60_000
START = datetime(2024, 3, 1, tzinfo=UTC)
SOURCE = parse_definition(
    {
        "name": f"ended{RUN}.tokens",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts"},
        "shards": 1,
        "fields": [{"name": "ts", "type": "time"}, {"name": "text", "type": "string"}],
    }
)


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    text = "x" * 300
    with Store.open(store_settings) as store:
        store.catalog.register(SOURCE)
        rows = [{"ts": START + timedelta(milliseconds=n), "text": text} for n in range(EVENTS)]
        with store.sink() as sink:
            write(sink, SOURCE, 0, batch_of(SOURCE, rows), block_rows=1000)
            sink.flush()
        yield store


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> TokenFile:
    folder: Path = tmp_path_factory.mktemp("secret")
    file = TokenFile(folder)
    file.make_first()
    return file


@pytest.fixture(scope="module")
def port(store: Store, store_settings: Settings, file: TokenFile) -> Iterator[int]:
    services = StoreServices(store_settings)
    with serve_app(create_app(services, TokensInForce(file.path.parent), LIMITS), LIMITS) as port:
        yield port
    services.close()


class SmallWindow(http.client.HTTPConnection):
    """A connection whose client takes little before it reads, so that a long answer waits in the server."""

    def connect(self) -> None:
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        self.sock.settimeout(self.timeout)
        self.sock.connect((self.host, self.port))


def ask(port: int, token: str, path: str = "query", **body: Any) -> http.client.HTTPResponse:
    connection = SmallWindow("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", f"/api/v1/{path}", json.dumps({"source": SOURCE.name, **body}), headers)
    return connection.getresponse()


def open_get(port: int, token: str, path: str, **parameters: Any) -> http.client.HTTPResponse:
    connection = SmallWindow("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/api/v1/{path}?{urlencode(parameters)}", headers={"Authorization": f"Bearer {token}"})
    return connection.getresponse()


def check_last(record: bytes) -> dict[str, Any]:
    """Checks that a last record says why the answer is not whole, and returns the summary."""
    summary: dict[str, Any] = json.loads(record)["summary"]
    assert summary["status"] == "failed"
    assert summary["problem"]["type"] == problem_type("unauthorized")
    assert "revoked" in summary["problem"]["detail"]
    return summary


def test_watches_of_a_revoked_token_end_and_give_their_slots_back(port: int, file: TokenFile, store: Store) -> None:
    token = file.create_token("watcher", "analyst", [], None)
    since = START.timestamp() + EVENTS / 1000 - 0.5
    watches = [ask(port, token, watch=True, since=since) for _ in range(WATCHES)]
    for watch in watches:
        assert json.loads(watch.readline())["text"]
    assert ask(port, token, watch=True).status == 429
    assert ask(port, token, limit=1).status == 200
    file.revoke_token("watcher")
    began = time.monotonic()
    for watch in watches:
        check_last(watch.read().splitlines()[-1])
    assert time.monotonic() - began < 2
    assert ask(port, token, limit=1).status == 401
    other = file.create_token("other", "analyst", [], None)
    for watch in [ask(port, other, watch=True, since=since) for _ in range(WATCHES)]:
        assert watch.status == 200
        watch.close()
    assert_scans_end(store.connection, event_table(SOURCE))


def test_a_slow_stream_of_a_rotated_token_ends_at_once(port: int, file: TokenFile, store: Store) -> None:
    response = ask(port, file.create_token("slow", "analyst", [], None))
    for _ in range(50):
        assert json.loads(response.readline())["text"]
        time.sleep(0.01)
    file.rotate_token("slow")
    # What follows is read at full speed, so the stream must have ended before.
    time.sleep(2)
    rest = response.read().splitlines()
    assert 50 + len(rest) < EVENTS
    assert check_last(rest[-1])["rows"] >= 49 + len(rest)


def test_a_stream_that_is_not_read_gives_back_what_it_holds(port: int, file: TokenFile, store: Store) -> None:
    response = ask(port, file.create_token("stalled", "analyst", [], None))
    time.sleep(0.5)
    file.revoke_token("stalled")
    time.sleep(1)
    assert_scans_end(store.connection, event_table(SOURCE))
    whole = ask(port, file.create_token("whole", "analyst", [], None), limit=EVENTS).read().splitlines()
    assert json.loads(whole[-1])["summary"]["rows"] == EVENTS
    check_last(response.read().splitlines()[-1])


@pytest.mark.parametrize("form", ["csv", "arrow"])
def test_an_export_of_a_revoked_token_ends_and_says_so(port: int, file: TokenFile, store: Store, form: str) -> None:
    response = ask(port, file.create_token(form, "analyst", [], None), path=f"query?format={form}")
    begun = response.read(1000)
    file.revoke_token(form)
    # What follows is read at full speed, so the stream must have ended before.
    time.sleep(2)
    began, end = time.monotonic(), begun
    with suppress(http.client.IncompleteRead):
        while part := response.read(1 << 16):
            end = end[-4096:] + part
    assert time.monotonic() - began < 2
    if form == "csv":
        assert end.splitlines()[-1].startswith(b"# status=failed")
    else:
        assert not end.endswith(b"\xff\xff\xff\xff\x00\x00\x00\x00")
    assert_scans_end(store.connection, event_table(SOURCE))


def test_a_live_tail_of_a_revoked_token_ends(port: int, file: TokenFile, store: Store) -> None:
    token = file.create_token("tail", "analyst", [], None)
    tail = open_get(port, token, "tail", source=SOURCE.name, since=START.timestamp() + EVENTS / 1000 - 0.5)
    assert tail.status == 200 and tail.readline()
    file.revoke_token("tail")
    began = time.monotonic()
    rest = tail.read()
    assert time.monotonic() - began < 2
    assert b"revoked" in rest
    assert_scans_end(store.connection, event_table(SOURCE))


def test_a_token_that_expires_ends_its_watch(port: int, file: TokenFile) -> None:
    expires = time.time() + 1.5
    watch = ask(port, file.create_token("short", "analyst", [], int(expires * 1e6)), watch=True)
    check_last(watch.read().splitlines()[-1])
    assert 0 <= time.time() - expires < 2
