"""The commands ``token create|list|rotate|revoke`` show a token once, and refuse what cannot be a label.

In `make test`: it only writes files.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run_command

from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(home=tmp_path)


def list_tokens(settings: Settings) -> list[dict[str, str]]:
    status, out, _ = run_command(settings, "token", "list")
    assert status == 0
    return [json.loads(line) for line in out.splitlines()]


def test_a_token_from_its_creation_to_its_end(settings: Settings) -> None:
    status, out, said = run_command(settings, "token", "create", "soc", "--labels", "a,b", "--expires", "90d")
    text = out.strip()
    assert (status, len(text)) == (0, 43)
    assert text not in said
    tokens = TokensInForce(settings.secret_folder)
    assert tokens.find_token(text) is not None
    said = run_command(settings, "token", "create", "ops", "--role", "operator", "--authorizations", "a,b")[2]
    assert "with --all-labels alone all" in said
    said = run_command(settings, "token", "create", "runs", "--role", "operator", "--all-labels")[2]
    assert "--all-labels" not in said
    run_command(settings, "token", "create", "zeek", "--role", "operator", "--sources", "zeek.*")
    run_command(settings, "token", "create", "all", "--all-labels")
    run_command(settings, "token", "create", "none")
    run_command(settings, "token", "create", "web", "--sources", "web.*,proxy,web.*")
    run_command(settings, "token", "create", "boss", "--role", "admin", "--labels", "a")
    listed = list_tokens(settings)
    assert [(row["name"], row["role"], row["authorizations"]) for row in listed] == [
        ("soc", "analyst", "a,b"),
        ("ops", "operator", "a,b"),
        ("runs", "operator", "all"),
        ("zeek", "operator", ""),
        ("all", "analyst", "all"),
        ("none", "analyst", ""),
        ("web", "analyst", ""),
        ("boss", "admin", "a"),
    ]
    assert [row["sources"] for row in listed] == ["all", "all", "all", "zeek.*", "all", "all", "web.*,proxy", "all"]
    assert all(row["state"] == "in force" for row in listed)
    assert text not in str(listed) and "digest" not in listed[0]
    status, newer, _ = run_command(settings, "token", "rotate", "soc")
    assert status == 0
    assert tokens.find_token(text) is None
    assert tokens.find_token(newer.strip()) is not None
    assert run_command(settings, "token", "revoke", "soc")[0] == 0
    assert tokens.find_token(newer.strip()) is None
    assert [row["name"] for row in list_tokens(settings)] == ["ops", "runs", "zeek", "all", "none", "web", "boss"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["create", "soc", "--labels", ""], "a label is"),
        (["create", "soc", "--labels", "a,,b"], "a label is"),
        (["create", "soc", "--labels", 'a"b'], "a label is"),
        (["create", "so c"], "name is"),
        (["create", "", "--all-labels"], "name is"),
        (["create", "soc", "--expires", "soon"], "no duration"),
        (["create", "soc", "--expires", "999999999999w"], "years 1 to 9999"),
        (["create", "soc", "--sources", ""], "a source of a token is"),
        (["create", "soc", "--sources", "a,,b"], "a source of a token is"),
        (["revoke", "soc"], "no token named"),
        (["rotate", "soc"], "no token named"),
    ],
)
def test_what_is_refused(settings: Settings, arguments: list[str], reason: str) -> None:
    status, out, said = run_command(settings, "token", *arguments)
    assert (status, out) == (2, "")
    assert reason in said
    assert list_tokens(settings) == []


def test_a_damaged_file_is_said_to_the_operator(settings: Settings) -> None:
    run_command(settings, "token", "create", "soc")
    (settings.secret_folder / "tokens.json").write_text("{")
    for arguments in (["list"], ["create", "other"], ["revoke", "soc"]):
        status, out, said = run_command(settings, "token", *arguments)
        assert (status, out) == (3, "")
        assert str(settings.secret_folder / "tokens.json") in said and "damaged" in said
    status, out, _ = run_command(settings, "status")
    assert status == 3
    assert f"problem: {settings.secret_folder / 'tokens.json'} is damaged: no JSON" in out
