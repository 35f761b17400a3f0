"""Filters that are meant to hurt are answered or refused in bounded time by real servers and through REST.

Each is either refused with an error for its writer, or gives the events that plain Python finds; nothing hangs, and the
servers are as well afterwards as before.

In `make soak`: a thousand hostile filters are asked in both layouts.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pytest
from drawn_filters import filters, pools_of
from flask.testing import FlaskClient
from hostile_events import hostile_events, hostile_source
from hostile_filters import hostile_forms, hostile_texts
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from loaded import LAYOUTS, Loaded, batch_of, in_layout
from oracle import Rows
from scan_sessions import assert_scans_end

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import BODY_BYTES
from watchfloor.api.rest.base.problems import problem_type
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.tokens.token import Token
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import FilterError, UserError
from watchfloor.schema.field import FieldType
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.print import to_text
from watchfloor.schema.filter.tree import Filter
from watchfloor.schema.filter.type_check import read_filter
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900), pytest.mark.soak]

T = TypeVar("T")
HANGS = 10
"""Seconds after which a query is taken to hang; it is to tell that from slow, on a busy machine too."""
TEXTS = hostile_texts()
PARTS = 12
"""Tests that the texts are shared out among."""
drawn = settings(suppress_health_check=list(HealthCheck), phases=[p for p in Phase if p is not Phase.explain])

_WORDS = """
name text count size ratio ok port ports src dst seen ts tags counts answers `and` `in` exists like number nothing
and or not in exists like startswith endswith contains AND Or nOT
( ) (( )) , = != < <= > >= ~ .. * ? # / // \\ ' " ` ; == && ||
a b '' "a" 'a*' "\\*" "\\x00" größe 😀 true f a*b *a* 10.0.0.1 10.0.0.0/8 ::1 ::/0 fe80::1%eth0 10.0.0.0/33
1 -1 0 404 9223372036854775807 9223372036854775808 1e999 -0 nan inf 0.1 500..599 1..2 now -4h 2016-03-01
/a/ /(a+)+$/i /a{1000}/ /[/ /é|^b/
+ - * lower( length( field( hour( entropy( registered_domain( foo( any `size`
"""
WORDS = [*_WORDS.split(), "\n", "\t", "\x00"]


class Worker:
    """A thread that does one thing after the other, and is left behind if one of them hangs."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        threading.Thread(target=_work, args=(self._calls, self._answers), daemon=True).start()

    def do(self, call: Callable[[], T]) -> T:
        """Returns what ``call`` returns or raises; raises ``queue.Empty`` if it hangs."""
        self._calls.put(call)
        try:
            answer, error = self._answers.get(timeout=HANGS)
        except queue.Empty:
            self._begin()
            raise
        if error is not None:
            raise error
        result: T = answer
        return result


def _work(calls: queue.SimpleQueue[Any], answers: queue.SimpleQueue[Any]) -> None:
    while True:
        call = calls.get()
        try:
            answers.put((call(), None))
        except BaseException as error:
            answers.put((None, error))


@pytest.fixture(scope="module")
def worker() -> Worker:
    return Worker()


@pytest.fixture(scope="module")
def stored(store_settings: Settings) -> dict[str, Loaded]:
    source, events = hostile_source(), hostile_events()
    with Store.open(store_settings) as store:
        return {name: in_layout(store, Loaded(source, events, batch_of(source, events)), name) for name in LAYOUTS}


@pytest.fixture(scope="module")
def rows() -> Rows:
    fields = hostile_source().fields
    addresses = {field.name for field in fields if field.scalar is FieldType.IP}
    return Rows([field.name for field in fields], hostile_events(), addresses)


class Tokens:
    """Lets everybody see all."""

    damage = None

    def find_token(self, text: str) -> Token | None:
        return Token("tests", "", "analyst", None, 0)

    def is_in_force(self, token: Token) -> bool:
        return True


@pytest.fixture(scope="module")
def rest(store_settings: Settings) -> Iterator[FlaskClient]:
    """The service's application over the real store, asked without a socket."""
    services = StoreServices(store_settings)
    yield create_app(services, Tokens()).test_client()
    services.close()


def check(where: Any, loaded: Loaded, rows: Rows, store: Store, worker: Worker) -> bool:
    """Asks one filter; whether it was let through."""
    source = loaded.source

    def run() -> np.ndarray:
        result = QueryService(store).run(QueryRequest(source.name, where=where, columns=("number",)))
        numbers: np.ndarray = pa.Table.from_batches(result, result.schema).column("number").to_numpy()
        assert result.summary["status"] == "complete"
        return numbers

    try:
        found = worker.do(run)
    except UserError as error:
        if isinstance(where, str):
            assert isinstance(error, FilterError), f"{shown(where)}: {error!r}"
            assert error.text == where and 0 <= error.position <= len(where), shown(where)
        assert len(str(error)) < 2_000, shown(where)
        return False
    except queue.Empty:
        pytest.fail(f"hangs: {shown(where)}")
    except Exception as error:
        raise AssertionError(f"neither refused nor answered: {shown(where)}") from error
    tree = read_filter(where, source)
    expected = np.arange(len(loaded.events)) if tree is None else np.flatnonzero(rows.holding(tree))
    assert sorted(found) == expected.tolist(), shown(where)
    return True


def shown(where: Any) -> str:
    if isinstance(where, str):
        return f"{where[:200]!r}, {len(where):,} characters"
    try:
        return repr(where)[:200]
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        return f"{type(where)}, {len(where)} members"


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_hostile_texts(
    layout: str, part: int, stored: dict[str, Loaded], rows: Rows, query_store: Store, worker: Worker
) -> None:
    answers = [check(text, stored[layout], rows, query_store, worker) for text in TEXTS[part::PARTS]]
    assert {True, False} == set(answers)


def test_there_are_enough_of_them() -> None:
    assert len(set(TEXTS)) >= 1_000
    assert max(map(len, TEXTS)) == 1_000_000


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hostile_json(layout: str, stored: dict[str, Loaded], rows: Rows, query_store: Store, worker: Worker) -> None:
    answers = [check(form, stored[layout], rows, query_store, worker) for form in hostile_forms() if form != ""]
    assert 30 < sum(answers) < len(answers) - 100


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_words(layout: str, stored: dict[str, Loaded], rows: Rows, query_store: Store, worker: Worker) -> None:
    @given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=30))
    @settings(drawn, max_examples=80)
    def ask(text: str) -> None:
        check(text, stored[layout], rows, query_store, worker)

    ask()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_trees(layout: str, stored: dict[str, Loaded], rows: Rows, query_store: Store, worker: Worker) -> None:
    loaded = stored[layout]
    short = [{k: v[:50] if isinstance(v, str) else v for k, v in event.items()} for event in loaded.events]

    @given(filters(loaded.source, pools_of(loaded.source, short), max_leaves=20))
    @settings(drawn, max_examples=40)
    def ask(tree: Filter) -> None:
        assert check(to_json(tree), loaded, rows, query_store, worker)
        assert check(to_text(tree), loaded, rows, query_store, worker)

    ask()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hostile_requests(
    layout: str, stored: dict[str, Loaded], rows: Rows, rest: FlaskClient, worker: Worker
) -> None:
    source = stored[layout].source
    statuses = set()
    for where in [*TEXTS[::9], *list(hostile_forms())[::5], "x" * BODY_BYTES]:
        try:
            body = json.dumps({"source": source.name, "where": where, "columns": ["number"]})
        except (RecursionError, ValueError):  # what JSON cannot say
            continue
        response = worker.do(lambda body=body: answer(rest, body))
        statuses.add(response[0])
        if response[0] == 200:
            *events, last = [json.loads(line) for line in response[1].splitlines()]
            tree = read_filter(where, source)
            expected = np.arange(len(stored[layout].events)) if tree is None else np.flatnonzero(rows.holding(tree))
            assert sorted(event["number"] for event in events) == expected.tolist(), shown(where)
            assert last["summary"]["status"] == "complete"
            continue
        problem = json.loads(response[1])
        assert response[0] in (400, 413), f"{shown(where)}: {problem}"
        kinds = {413: ("too-large",), 400: ("bad-filter", "unknown-field", "bad-body")}
        assert problem["type"] in map(problem_type, kinds[response[0]]), f"{shown(where)}: {problem}"
        assert (response[0] == 413) == (len(body) > BODY_BYTES)
        if isinstance(where, str) and problem["type"] != problem_type("bad-body"):
            assert response[0] == 413 or 0 <= problem["position"] <= len(where)
    assert statuses == {200, 400, 413}


def answer(rest: FlaskClient, body: str) -> tuple[int, bytes]:
    headers: Mapping[str, str] = {"Authorization": "Bearer token", "Content-Type": "application/json"}
    with rest.post("/api/v1/query", data=body, headers=headers) as response:
        return response.status_code, response.get_data()


def test_the_servers_are_well(store_settings: Settings, stored: dict[str, Loaded], query_store: Store) -> None:
    """Last: after all of the above every server answers, and none works at a scan that nobody waits for."""
    with Store.open(store_settings) as store:
        for loaded in stored.values():
            assert_scans_end(store.connection, event_table(loaded.source))
            result = QueryService(query_store).run(QueryRequest(loaded.source.name, where="exists ts"))
            assert sum(len(batch) for batch in result) == len(loaded.events)
