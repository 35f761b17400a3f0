"""Every route and command answers a reader as if what the reader's labels do not let through did not exist.

The store is asked twice by the same tokens, without and with data that only another label shows. All answers must be
the same to the byte, durations aside. Routes and commands are found by looking: a new one is walked, or is an error.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from command_walk import ask_command, list_command_lines, query_user
from flask.testing import FlaskClient
from hidden_data import HIDDEN, NEARLY_HIDDEN, NEITHER, SECRET, SHOWN, STAFF, known_keys, write_hidden, write_shown
from ingest_support import RUN, load, own
from rest_fakes import check_problem
from route_walk import RouteRequest, Values, ask, list_requests, route_values

from watchfloor.api.records.seen_records import SeenRecords
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.route import Route, find_routes
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.tokens.token import Role
from watchfloor.api.tokens.token_file import TokenFile
from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.schema.lists.list_file import ListFormat, read_list
from watchfloor.schema.settings.settings import Settings
from watchfloor.store import store as store_module
from watchfloor.store.put_list import put_list
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

HOLDERS: dict[str, tuple[Role, tuple[str, ...]]] = {
    "nothing": ("analyst", ()),
    "staff": ("analyst", (STAFF,)),
    "operator": ("operator", (STAFF,)),
    "admin": ("admin", (STAFF,)),
}
"""The roles and labels of the tokens whose answers must not change."""
OPERATORS = ("operator", "admin")
SOURCES = (*SHOWN.values(), HIDDEN, NEARLY_HIDDEN, NEITHER)
FIELDS = ("who", "size", "sizes", "late")
SHOWN_LIST, HIDDEN_LIST = f"walked_{RUN}", f"hidden_{RUN}"
BAD_LINES = "{\n[]\n"
Answers = dict[str, str]


def walk_values(files: Sequence[Path] = (), lines: Sequence[str] = ()) -> Values:
    values = route_values(SOURCES, FIELDS, "who", "2024-02-29", "2024-03-01T00:10:30Z")
    # The IDs of a shown and of a hidden event, and the same of all other sources.
    ids = [f"{key}-{name}" for key in known_keys() for name in SOURCES]
    records = {"file": [str(path) for path in files], "line": lines}
    lists = {
        **records,
        "id": ids,
        "name": [SHOWN_LIST, HIDDEN_LIST],
        "where": [f"who in @{SHOWN_LIST}", f"who in @{HIDDEN_LIST}"],
    }
    return {**values, **{name: [*values[name], *more] for name, more in lists.items()}}


def list_data_routes() -> list[Route]:
    """Returns the routes that tell of data. Sessions tell of tokens alone, searches of what their owner has saved."""
    return [
        route for route in find_routes() if route.path.split("/")[-1] != "session" and "/searches" not in route.path
    ]


class Walk:
    """Asks the service over the real store, without a socket, by tokens with several roles and labels.

    ``values`` are those with which it asks.
    """

    def __init__(self, settings: Settings, secret: Path) -> None:
        self._settings, self._secret, self.values = settings, secret, walk_values()
        file = TokenFile(secret)
        self.tokens = {name: file.create_token(name, role, sees, None) for name, (role, sees) in HOLDERS.items()}
        self.tokens |= {
            "unknown": file.create_token("unknown", "analyst", [STAFF, "a-label-that-no-source-has"], None),
            "secret": file.create_token("secret", "analyst", [STAFF, SECRET], None),
            "no token": "",
        }

    def open_client(self) -> tuple[FlaskClient, Callable[[], None]]:
        services = StoreServices(self._settings)
        return create_app(services, TokensInForce(self._secret)).test_client(), services.close

    def ask_all(self, holders: tuple[str, ...], most_members: int = 100) -> dict[str, Answers]:
        """Returns the answers to all requests with at most ``most_members`` members, by holder and request.

        Only ``staff`` is asked with more than one.
        """
        client, close = self.open_client()
        walked = [r for r in list_requests(list_data_routes(), self.values) if is_harmless(r)]
        most = {name: most_members if name == "staff" else 1 for name in holders}
        try:
            return {
                name: {
                    str(r): ask(client, r, self.tokens[name])
                    for r in walked
                    if len(r.query) + len(r.body or ()) <= most[name]
                }
                for name in holders
            }
        finally:
            close()


def is_harmless(request: RouteRequest) -> bool:
    """Returns False for a retry of the lines of other tests, and for changes of the lists, which a test below asks."""
    if request.path.endswith("/retry"):
        return bool(request.body)
    return request.method not in ("PUT", "DELETE") or not request.path.endswith((SHOWN_LIST, HIDDEN_LIST))


@pytest.fixture(scope="module")
def walk(store_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Walk:
    return Walk(store_settings, tmp_path_factory.mktemp("secret"))


@pytest.fixture(scope="module")
def asked_twice(
    walk: Walk, store_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Answers], dict[str, Answers]]:
    """Returns the answers while the store has nothing hidden, and afterwards."""
    lines = list(list_command_lines((SHOWN["block"], HIDDEN, NEITHER), ("size",)))
    folder, queue = tmp_path_factory.mktemp("logs"), own(store_settings, "walk")
    files = {name: folder / f"{name}.log" for name in SOURCES}

    def ask_commands() -> Answers:
        return {" ".join(line): ask_command(store_settings, line) for line in lines}

    def reject_lines(name: str) -> None:
        files[name].write_text(f"{BAD_LINES}{name}\n")
        assert load(queue, files[name], feed=name).quarantined == 3

    with (
        Store.open(store_settings) as store,
        query_user(store.connection, STAFF, tmp_path_factory.mktemp("user")) as permit,
    ):
        write_shown(store)
        put_list(store, SHOWN_LIST, read_list(b"a", ListFormat()))
        permit(tuple(SHOWN.values()))
        reject_lines(SHOWN["block"])
        line = next(Quarantine(store).open_lines(str(files[SHOWN["block"]])))
        walk.values = walk_values(list(files.values()), [line.key, "0123456789abcdef:42"])
        before = {**walk.ask_all((*HOLDERS, "no token")), "commands": ask_commands()}
        write_hidden(store)
        put_list(store, HIDDEN_LIST, read_list(b"a", ListFormat()), SECRET)
        permit((*SHOWN.values(), HIDDEN, NEARLY_HIDDEN))
        reject_lines(HIDDEN)
        after = {**walk.ask_all((*HOLDERS, "no token", "unknown", "secret")), "commands": ask_commands()}
    return before, after


@pytest.fixture(scope="module")
def shown_alone(asked_twice: tuple[dict[str, Answers], dict[str, Answers]]) -> dict[str, Answers]:
    return asked_twice[0]


@pytest.fixture(scope="module")
def with_hidden(asked_twice: tuple[dict[str, Answers], dict[str, Answers]]) -> dict[str, Answers]:
    return asked_twice[1]


@pytest.mark.parametrize("holder", [*HOLDERS, "no token", "commands"])
def test_hidden_data_changes_no_answer(
    holder: str, shown_alone: dict[str, Answers], with_hidden: dict[str, Answers]
) -> None:
    before, after = shown_alone[holder], with_hidden[holder]
    assert before.keys() == after.keys()
    assert {request: after[request] for request in before if before[request] != after[request]} == {}


def test_the_walk_sees_data_and_errors(with_hidden: dict[str, Answers]) -> None:
    """Most requests about shown sources are answered, each route at least once, so that there is something to hide."""
    answers = {request: json.loads(answer) for request, answer in with_hidden["staff"].items()}
    routes = {request.partition(" {")[0] for request, (status, *_) in answers.items() if status == 200}
    walked = [route for route in list_data_routes() if route.role != "operator"]
    name = SHOWN["block"]
    variables = {"lists": SHOWN_LIST, "events": f"{known_keys()[0]}-{name}"}
    paths = {
        f"{route.method} {re.sub('<.*?>', variables.get(route.path.split('/')[3], name), route.path)}"
        for route in walked
        if route.path.count("/") >= 3 and "<job>" not in route.path  # the IDs of jobs are random
    }
    assert paths <= routes
    assert {200, 400, 404} <= {status for status, *_ in answers.values()} <= {200, 400, 403, 404}
    assert any("cursor" in str(lines) for _, _, lines in answers.values())


def test_the_walk_sees_the_records_of_ingest(with_hidden: dict[str, Answers]) -> None:
    """An operator gets something of each route for operators, so that there is something to hide."""
    for holder in OPERATORS:
        told = {request: json.loads(answer) for request, answer in with_hidden[holder].items()}
        routes = [r for r in list_data_routes() if r.role == "operator" and "/lists" not in r.path]
        answered = {request.partition(" {")[0] for request, (status, *_) in told.items() if status == 200}
        for route in routes:
            pattern = re.compile(f"{route.method} {re.sub('<.*?>', '[^/]+', route.path)}")
            assert any(map(pattern.fullmatch, answered)) is (route.path != "/metrics"), route.path
        (lines,) = told["GET /api/v1/quarantine {} null"][2]
        assert SHOWN["block"] in {line["feed"] for line in lines["lines"]}


def test_a_hidden_list_cannot_be_changed(walk: Walk, with_hidden: dict[str, Answers]) -> None:
    """Names are unique, so that one who puts a list can learn that a name is taken; what it names stays as it is."""
    client, close = walk.open_client()
    path, bearer = f"/api/v1/lists/{HIDDEN_LIST}", {"Authorization": f"Bearer {walk.tokens['operator']}"}
    refused = client.put(path, json={"text": "b"}, headers=bearer)
    assert "is taken" in check_problem(refused, "bad-request")["detail"] and SECRET not in refused.text
    hidden = check_problem(client.delete(path, headers=bearer), "unknown-list")
    absent = check_problem(client.delete(f"{path}_", headers=bearer), "unknown-list")
    # Then come lists of other tests, the names of which are near to the one that was asked for.
    said, also = (problem["detail"].partition("; ")[0] for problem in (hidden, absent))
    assert also.replace(f"{HIDDEN_LIST}_", HIDDEN_LIST) == said
    assert hidden["detail"].count(HIDDEN_LIST) == 1
    kept = client.get(path, headers={"Authorization": f"Bearer {walk.tokens['secret']}"}).json
    close()
    assert [entry["entry"] for entry in kept["entries"]] == ["a"]


def test_commands_are_answered_by_the_labels_of_the_query_user(with_hidden: dict[str, Answers]) -> None:
    answers = with_hidden["commands"]
    assert answers[f"count {SHOWN['block']}"].startswith("0\n600\n")
    for command in ("count", "query", "timeline", "sources show"):
        assert answers[f"{command} {HIDDEN}"].startswith("2\n\nwatchfloor: unknown source"), command
    assert answers[f"top {SHOWN['block']} size"].startswith("2\n\nwatchfloor: source")


def test_who_has_the_label_sees_what_it_hides(with_hidden: dict[str, Answers]) -> None:
    asked = f"GET /api/v1/count {json.dumps({'source': HIDDEN})} null"
    assert json.loads(with_hidden["secret"][asked])[2][0]["count"] == 50
    assert json.loads(with_hidden["staff"][asked])[0] == 404
    assert HIDDEN in with_hidden["secret"]["GET /api/v1/sources {} null"]
    listed = f"GET /api/v1/lists/{HIDDEN_LIST} {{}} null"
    assert [json.loads(with_hidden[holder][listed])[0] for holder in ("secret", "staff")] == [200, 404]
    differing = [r for r, answer in with_hidden["secret"].items() if answer != with_hidden["staff"][r]]
    assert len(differing) > 20


def test_a_label_that_no_source_has_shows_nothing_more(with_hidden: dict[str, Answers]) -> None:
    # A token's jobs are those that it has asked for.
    answers = {r: answer for r, answer in with_hidden["unknown"].items() if not r.startswith("GET /api/v1/jobs ")}
    assert len(answers) > 50 and answers == {request: with_hidden["staff"][request] for request in answers}


def test_a_hidden_source_is_answered_like_one_that_does_not_exist(with_hidden: dict[str, Answers]) -> None:
    for holder in HOLDERS:
        answers = with_hidden[holder]
        for hidden in (HIDDEN, NEARLY_HIDDEN):
            for request in answers:
                if hidden in request:
                    told = answers[request].replace(hidden, NEITHER)
                    assert _drop_hint(told) == _drop_hint(answers[request.replace(hidden, NEITHER)])
        assert SECRET not in "".join(answers.values())


def test_the_walk_would_see_a_leak(
    walk: Walk, with_hidden: dict[str, Answers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was before: the catalog shows every source and field to everybody."""
    monkeypatch.setattr(store_module, "restrict_sources", lambda sources, labels: dict(sources))
    leaking = walk.ask_all(("staff",), most_members=1)["staff"]
    changed = [request for request, answer in leaking.items() if answer != with_hidden["staff"][request]]
    for route in ("GET /api/v1/sources ", f"GET /api/v1/sources/{HIDDEN}", "POST /api/v1/query", "GET /api/v1/count"):
        assert any(request.startswith(route) for request in changed), route
    assert '"indexed_from": "2024-03-09' in leaking[f"GET /api/v1/sources/{HIDDEN} {{}} null"]


def test_the_walk_would_see_a_leak_of_records(
    walk: Walk, with_hidden: dict[str, Answers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was before: operators see all work items, and where all quarantined lines stand."""
    for name in ("shows_row", "shows_line"):
        monkeypatch.setattr(SeenRecords, name, lambda self, record: True)
    leaking = walk.ask_all(("operator",), most_members=1)["operator"]
    changed = {request for request, answer in leaking.items() if answer != with_hidden["operator"][request]}
    for route in ("GET /api/v1/ingest ", "GET /api/v1/ingest/items", "GET /api/v1/quarantine ", "POST /api/v1/quarant"):
        assert any(request.startswith(route) for request in changed), route


def test_a_route_that_the_walk_cannot_ask_is_an_error() -> None:
    schema = {"type": "object", "properties": {"source": {}, "color": {}}, "required": ["source"]}
    route = Route("GET", "/api/v1/new", "", lambda call: {}, {}, parameters=schema)
    with pytest.raises(LookupError, match="no values for color"):
        list(list_requests([route], walk_values()))
    assert len(list(list_requests(list_data_routes(), walk_values()))) > 300


def _drop_hint(answer: str) -> str:
    """Returns an answer without the similar names that an unknown source's error suggests: they depend on its name."""
    return answer.partition("; did you mean")[0].partition("; known are")[0]
