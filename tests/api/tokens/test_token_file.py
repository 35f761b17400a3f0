"""The file of tokens is changed in one durable step, and while it is damaged its last good state stays in force.

In `make test`: it only writes files.
"""

from __future__ import annotations

import json
import logging
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from watchfloor.api.rest.serve import open_tokens
from watchfloor.api.tokens.token import hash_token
from watchfloor.api.tokens.token_file import TokenFile
from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.schema.errors import SettingsError, UserError

SECRET = "a-secret-that-was-pasted-into-the-file"
OLD = {
    "authorizations": ["tlp_amber"],
    "name": "the SOC",
}


def write(folder: Path, content: Any, mode: int = 0o600) -> Path:
    path = folder / "tokens.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)
    return path


def entry(**members: Any) -> dict[str, Any]:
    good = {
        "name": "soc", "digest": hash_token("x"), "role": "analyst", "authorizations": [],
        "created": "2026-01-08T12:00:00.000000Z", "expires": None,
    }  # fmt: skip
    return {"version": 3, "tokens": [{"sources": None, **good, **members}]}


def test_the_first_token_is_made_once_and_private(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    tokens = open_tokens(secret, print)
    text = (secret / "rest.token").read_text().strip()
    token = tokens.find_token(text)
    assert token is not None
    assert (token.name, token.role, token.authorizations) == ("first", "admin", None)
    for name in ("tokens.json", "rest.token"):
        assert stat.S_IMODE((secret / name).stat().st_mode) == 0o600
    assert text not in (secret / "tokens.json").read_text()
    assert open_tokens(secret, print).find_token(text) == token
    assert tokens.find_token(text + "x") is None
    assert tokens.find_token("") is None


def test_a_token_is_created_rotated_and_revoked(tmp_path: Path) -> None:
    file = TokenFile(tmp_path)
    text = file.create_token("soc", "analyst", ["a", "b", "a"], None)
    tokens = TokensInForce(tmp_path)
    token = tokens.find_token(text)
    assert token is not None and (token.name, token.authorizations) == ("soc", ("a", "b"))
    with pytest.raises(UserError, match="already"):
        file.create_token("soc", "analyst", [], None)
    newer = file.rotate_token("soc")
    assert tokens.find_token(text) is None
    assert not tokens.is_in_force(token)
    rotated = tokens.find_token(newer)
    assert rotated is not None and (rotated.name, rotated.authorizations) == ("soc", ("a", "b"))
    file.revoke_token("soc")
    assert tokens.find_token(newer) is None
    for change in (file.revoke_token, file.rotate_token):
        with pytest.raises(UserError, match="no token named 'soc'"):
            change("soc")


def test_a_token_expires(tmp_path: Path) -> None:
    soon = time.time_ns() // 1000 + 200_000
    text = TokenFile(tmp_path).create_token("soc", "analyst", [], soon)
    tokens = TokensInForce(tmp_path)
    token = tokens.find_token(text)
    assert token is not None and tokens.is_in_force(token)
    time.sleep(0.25)
    assert tokens.find_token(text) is None
    assert not tokens.is_in_force(token)


def test_the_kept_first_token_goes_when_it_ends(tmp_path: Path) -> None:
    open_tokens(tmp_path, print)
    TokenFile(tmp_path).rotate_token("first")
    assert not (tmp_path / "rest.token").exists()


def test_a_file_without_sources_is_still_read(tmp_path: Path) -> None:
    content = {**entry(), "version": 2}
    del content["tokens"][0]["sources"]
    write(tmp_path, content)
    said: list[str] = []
    token = open_tokens(tmp_path, said.append).find_token("x")
    assert token is not None and (token.name, token.sources) == ("soc", None)
    assert json.loads((tmp_path / "tokens.json").read_text()) == {**entry(), "tokens": [token.to_json()]}
    assert "present form" in said[0]


@pytest.mark.parametrize("label", ["", " ", "a b", 'a"b', "a|b", "a&b", "ä", "a\n", "x" * 201])
def test_labels_that_no_source_can_have_are_refused(tmp_path: Path, label: str) -> None:
    with pytest.raises(UserError, match="letters, digits"):
        TokenFile(tmp_path).create_token("soc", "analyst", ["good", label], None)
    assert not (tmp_path / "tokens.json").exists()
    write(tmp_path, entry(authorizations=["good", label]))
    with pytest.raises(SettingsError, match="damaged: entry 1"):
        TokensInForce(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        f'{{"version": 2, "tokens": [{{"name": "{SECRET}"',
        {SECRET: {}},
        {"00": OLD},
        {hash_token("x"): {**OLD, "authorizations": [""]}},
        {"version": 4, "tokens": []},
        {"version": "3", "tokens": []},
        {"version": 2, "tokens": [SECRET]},
        entry(digest=SECRET),
        entry(name=f"{SECRET} "),
        entry(role=SECRET),
        entry(role=None),
        entry(authorizations=SECRET),
        entry(authorizations=[1]),
        entry(expires=SECRET),
        entry(expires=1),
        entry(sources=SECRET),
        entry(sources=[1]),
        entry(sources=[]),
        entry(sources=[""]),
        entry(sources=["a,b"]),
        {"version": 2, "tokens": entry()["tokens"] * 2},
    ],
)
def test_a_damaged_file_keeps_the_last_good_state(
    tmp_path: Path, content: Any, caplog: pytest.LogCaptureFixture
) -> None:
    text = TokenFile(tmp_path).create_token("soc", "analyst", [], None)
    tokens = TokensInForce(tmp_path)
    good = (tmp_path / "tokens.json").read_text()
    write(tmp_path, content)
    with caplog.at_level(logging.ERROR):
        assert all(tokens.find_token(text) is not None for _ in range(3))
    assert len(caplog.records) == 1, "the damage is logged once"
    assert tokens.damage and str(tmp_path / "tokens.json") in tokens.damage and tokens.damage in caplog.text
    assert SECRET not in caplog.text
    for read in (TokenFile(tmp_path).read_tokens, lambda: TokensInForce(tmp_path)):
        with pytest.raises(SettingsError, match=r"tokens\.json is damaged") as error:
            read()
        assert SECRET not in str(error.value)
    with pytest.raises(SettingsError, match="damaged"):
        TokenFile(tmp_path).revoke_token("soc")
    write(tmp_path, good)
    TokenFile(tmp_path).revoke_token("soc")
    assert tokens.find_token(text) is None
    assert tokens.damage is None


def test_a_missing_file_and_one_that_others_can_read_keep_the_last_good_state(tmp_path: Path) -> None:
    text = TokenFile(tmp_path).create_token("soc", "analyst", [], None)
    tokens = TokensInForce(tmp_path)
    path = tmp_path / "tokens.json"
    path.chmod(0o644)
    assert tokens.find_token(text) is not None
    assert tokens.damage is not None and "chmod 600" in tokens.damage
    path.rename(tmp_path / "away")
    assert tokens.find_token(text) is not None
    assert tokens.damage is not None and "cannot be read" in tokens.damage


def test_a_file_of_version_1_is_brought_to_the_present_form(tmp_path: Path) -> None:
    names = ("the SOC", "the-SOC", "ö")
    write(tmp_path, {hash_token(name).upper(): {**OLD, "name": name} for name in names})
    before = [TokensInForce(tmp_path).find_token(name) for name in names]
    said: list[str] = []
    tokens = open_tokens(tmp_path, said.append)
    assert [token.name for name in names if (token := tokens.find_token(name))] == ["the-SOC", "the-SOC-2", "token"]
    assert [t and t.authorizations for t in before] == [("tlp_amber",)] * 3
    assert len(said) == 1
    assert json.loads((tmp_path / "tokens.json").read_text())["version"] == 3
    open_tokens(tmp_path, said.append)
    assert len(said) == 1


def test_readers_never_see_a_half_written_file(tmp_path: Path) -> None:
    file = TokenFile(tmp_path)
    text = file.create_token("kept", "analyst", [], None)
    tokens = TokensInForce(tmp_path)
    done = threading.Event()

    def look() -> bool:
        while not done.is_set():
            if tokens.find_token(text) is None or tokens.damage:
                return False
        return True

    with ThreadPoolExecutor(6) as pool:
        looking = [pool.submit(look) for _ in range(2)]
        changing = [pool.submit(file.create_token, f"t{n}", "analyst", [], None) for n in range(24)]
        created = [change.result() for change in changing]
        done.set()
        assert all(reading.result() for reading in looking)
    assert all(tokens.find_token(text) is not None for text in created), "a change was lost"
