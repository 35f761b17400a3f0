"""Searches are saved in the store by owner and name, whole, and nobody sees those of others.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from ingest_support import RUN
from rest_fakes import check_problem

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.tokens.token import Token
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.saved import searches

pytestmark = pytest.mark.stack

SEARCH = {"source": "zeek.*", "where": 'port = 22 # "odd"\n', "columns": ["ts", "größe"], "view": {"n": [1.5]}}
NAMES = ["odd ports", "größe ☃", "a%2Fb", "..", "a.b?c#d&e", '"quoted"']


class OwnTokens:
    """Accepts any token, and takes it for its holder's name. Those of other runs are others'."""

    damage = None

    def find_token(self, text: str) -> Token | None:
        return Token(f"{text}-{RUN}", "", "analyst", (), 0)

    def is_in_force(self, token: Token) -> bool:
        return True


@pytest.fixture
def client(store_settings: Settings) -> Iterator[FlaskClient]:
    services = StoreServices(store_settings)
    yield create_app(services, OwnTokens()).test_client()
    services.close()


def ask(client: FlaskClient, method: str, name: str = "", owner: str = "ann", body: Any = None) -> Any:
    path = f"/api/v1/searches/{quote(name, safe='')}" if name else "/api/v1/searches"
    return client.open(path, method=method, json=body, headers={"Authorization": f"Bearer {owner}"})


def list_names(client: FlaskClient, owner: str = "ann") -> list[str]:
    return [found["name"] for found in ask(client, "GET", owner=owner).json["searches"]]


def test_a_search_comes_back_as_it_was_saved(client: FlaskClient) -> None:
    for name in NAMES:
        assert ask(client, "PUT", name, body=SEARCH).json["search"] == SEARCH
        found = ask(client, "GET", name).json
        assert (found["name"], found["search"]) == (name, SEARCH) and found["saved"].endswith("Z")
    assert list_names(client) == sorted(NAMES)
    changed = {"stats": "count()", "note": "counts"}
    assert ask(client, "PUT", NAMES[0], body=changed).status_code == 200
    assert ask(client, "GET", NAMES[0]).json["search"] == changed
    for name in NAMES:
        assert ask(client, "DELETE", name).json == {"removed": name}
        check_problem(ask(client, "GET", name), "unknown-search")
        check_problem(ask(client, "DELETE", name), "unknown-search")
    assert list_names(client) == []


def test_nobody_sees_the_searches_of_others(client: FlaskClient) -> None:
    ask(client, "PUT", "mine", body=SEARCH)
    # Names that begin alike are told apart.
    for other in ("bob", "an", "ann2"):
        assert list_names(client, other) == []
        check_problem(ask(client, "GET", "mine", other), "unknown-search")
        check_problem(ask(client, "DELETE", "mine", other), "unknown-search")
    assert list_names(client) == ["mine"]


def test_a_saved_search_is_there_after_a_restart(client: FlaskClient, store_settings: Settings) -> None:
    ask(client, "PUT", "kept", "carl", SEARCH)
    services = StoreServices(store_settings)
    try:
        other = create_app(services, OwnTokens()).test_client()
        assert ask(other, "GET", "kept", "carl").json["search"] == SEARCH
    finally:
        services.close()


def test_what_is_kept_is_bounded(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    check_problem(ask(client, "PUT", "large", "dora", {"view": {"x": "x" * searches.MAX_BYTES}}), "bad-request")
    monkeypatch.setattr(searches, "MAX_SEARCHES", 2)
    for name in ("a", "b"):
        assert ask(client, "PUT", name, "dora", SEARCH).status_code == 200
    check_problem(ask(client, "PUT", "c", "dora", SEARCH), "bad-request")
    assert ask(client, "PUT", "b", "dora", {}).status_code == 200, "one of them may change"
    assert list_names(client, "dora") == ["a", "b"]


@pytest.mark.parametrize("body", [{"colour": 1}, {"columns": "a"}, {"where": 5}, {"view": []}, []])
def test_what_is_no_search_is_refused(client: FlaskClient, body: Any) -> None:
    check_problem(ask(client, "PUT", "bad", body=body), "bad-body")


@pytest.mark.parametrize("name", ["a\n", "\x00", "x" * 101, "a\x7f"])
def test_a_name_that_is_none_is_refused(client: FlaskClient, name: str) -> None:
    check_problem(ask(client, "PUT", name, body={}), "bad-parameter")


def test_a_slash_is_no_part_of_a_name(client: FlaskClient) -> None:
    check_problem(ask(client, "PUT", "a/b", body={}), "not-found")
