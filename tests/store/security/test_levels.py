"""A stack goes through the levels of security: its data stay, its users change, and what passes is read or is not.

One stack of this file's own. Commands run as processes of their own, because a JVM is one principal. Without MIT
Kerberos the file is skipped, which fails in continuous integration.

In `make soak`: its stack is stopped and started for each level, for minutes in all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from missing import require_kerberos
from own_stack import stack_folder
from wire import Wire

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.flavour import SECURITY_LEVELS
from watchfloor.store.stack.home.stack_state import load_state
from watchfloor.store.stack.security.kerberos import find_program
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.stack.stack import start_stack

pytestmark = [pytest.mark.stack, pytest.mark.soak]
SOURCE = {
    "name": "secured.events",
    "title": "Events of the test of security",
    "timestamp": {"field": "ts", "format": "epoch"},
    "parser": {"format": "json"},
    "fields": [{"name": "ts", "type": "time"}, {"name": "word", "type": "string", "indexed": True}],
    "visibility": "secured",
}
READABLE = {"none": True, "ssl": False, "auth": True, "auth-int": True, "auth-conf": False}
SMALL = {"tserver_heap": "256m", "tserver_maps": "64m", "manager_heap": "128m", "kafka_heap": "256m"}


@dataclass
class Stack:
    """The stack, and the words of all events that were loaded into it."""

    settings: Settings
    folder: Path
    words: list[str]

    def start(self, level: str) -> None:
        """Has all servers run at a level. The first call makes the stack, at that level, and the source."""
        is_new = load_state(self.settings) is None
        start_stack(self.settings, security=level)
        if is_new:
            definition = self.folder / "source.json"
            definition.write_text(json.dumps(SOURCE))
            done = self.run("sources", "add", str(definition))
            assert done.returncode == 0, done.stderr

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of the command line, with settings as variables."""
        command = [sys.executable, "-m", "watchfloor.api.cli.main", "--home", str(self.settings.home), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, env=os.environ | environment, cwd=self.folder
        )

    def load_words(self, level: str) -> list[str]:
        """Loads a file of three events with words of their own, and returns these."""
        words = [f"needle-{level}-{number}-{os.urandom(8).hex()}" for number in range(3)]
        lines = [json.dumps({"ts": 1_700_000_000 + len(self.words) + n, "word": word}) for n, word in enumerate(words)]
        file = self.folder / f"{level}.json"
        file.write_text("\n".join(lines) + "\n")
        done = self.run("load", str(file), "--source", SOURCE["name"])
        assert done.returncode == 0, done.stderr
        self.words += words
        return words

    def ask_words(self, *arguments: str, **environment: str) -> list[str]:
        done = self.run("query", SOURCE["name"], "--format", "ndjson", *arguments, **environment)
        assert done.returncode == 0, done.stderr
        return [json.loads(line)["word"] for line in done.stdout.splitlines()]

    def as_cluster(self) -> dict[str, str]:
        """Returns the settings by which a client reaches this stack as if it were a cluster, but for its users."""
        conf, secret = self.settings.conf_folder, self.settings.secret_folder
        named = {
            "client_properties": conf / "accumulo-client.properties",
            "zookeeper_user": "client",
            "zookeeper_password": secret / "zookeeper-client.password",
            "kerberos_config": conf / "krb5.conf",
            "query_user": "watchfloor_query@WATCHFLOOR.LOCAL",
        }
        return {f"WATCHFLOOR_{name.upper()}": str(value) for name, value in named.items()}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    require_kerberos()
    with stack_folder() as settings:
        yield Stack(replace(settings, **SMALL), tmp_path_factory.mktemp("secured"), [])  # type: ignore[arg-type]


def check_level(stack: Stack, level: str) -> None:
    stack.start(level)
    state = load_state(stack.settings)
    assert state is not None and state.security == level
    ports = [port for name, port in state.ports.items() if name.startswith("tserver")]
    with Wire([*ports, state.ports["kafka"]]) as wire:
        before = list(stack.words)
        words = stack.load_words(level)
        assert sorted(stack.ask_words()) == sorted(before + words)
        assert stack.ask_words("--where", f"word = {words[1]}") == [words[1]]
    assert wire.bytes_seen > 10_000
    seen = {word: wire.count(word.encode()) for word in words}
    assert all(seen.values()) if READABLE[level] else not any(seen.values()), seen
    status = stack.run("status")
    assert status.returncode == 0, status.stdout
    assert f"security {level}" in status.stdout.splitlines()[0]


@pytest.mark.parametrize("level", SECURITY_LEVELS[:2])
def test_a_level_keeps_the_data_and_shows_on_the_wire_what_it_says(stack: Stack, level: str) -> None:
    check_level(stack, level)


def test_without_a_certificate_nobody_comes_in(stack: Stack) -> None:
    stack.start("ssl")
    conf = stack.settings.conf_folder / "accumulo-client.properties"
    bare = stack.folder / "bare.properties"
    bare.write_text("\n".join(line for line in conf.read_text().splitlines() if not line.startswith("ssl.keystore")))
    asked = stack.as_cluster() | {
        "WATCHFLOOR_CLIENT_PROPERTIES": str(bare),
        "WATCHFLOOR_QUERY_USER": "watchfloor_query",
        "WATCHFLOOR_QUERY_PASSWORD": str(stack.settings.secret_folder / "query.password"),
    }
    refused = stack.run("query", str(SOURCE["name"]), **asked)
    assert refused.returncode and "Traceback" not in refused.stderr, refused.stderr
    bare.write_text(conf.read_text())
    assert sorted(stack.ask_words(**asked)) == sorted(stack.words)


@pytest.mark.parametrize("level", SECURITY_LEVELS[2:])
def test_a_level_of_kerberos_does_so_too(stack: Stack, level: str) -> None:
    check_level(stack, level)


def test_both_users_live_in_one_service(stack: Stack) -> None:
    stack.start("auth-conf")
    code = (
        "import sys\n"
        "from watchfloor.schema.settings.load import load_settings\n"
        "from watchfloor.store.store import Store\n"
        "settings = load_settings(sys.argv[1])\n"
        "with Store.open(settings, role='query') as reader, Store.open(settings) as writer:\n"
        "    print(reader.user, reader.connection.is_ending, writer.user, writer.connection.is_ending)\n"
        "    print(sorted(reader.catalog.read_sources()), sorted(writer.catalog.read_sources()))\n"
        "    writer.put('watchfloor.searches', [(b'r', b'f', b'q', b'v')])\n"
        "    try:\n"
        "        reader.put('watchfloor.searches', [(b'r', b'f', b'q', b'w')])\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(stack.settings.home)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "watchfloor_query@WATCHFLOOR.LOCAL False root@WATCHFLOOR.LOCAL False",
        f"['{SOURCE['name']}'] ['{SOURCE['name']}']",
        "StoreError",
    ]


def test_a_ticket_lets_in_until_it_expires(stack: Stack) -> None:
    stack.start("auth-conf")
    cache = f"FILE:{stack.folder}/tickets"
    asked = stack.as_cluster() | {"KRB5CCNAME": cache}
    refused = stack.run("query", str(SOURCE["name"]), **asked)
    assert refused.returncode and "kinit watchfloor_query@WATCHFLOOR.LOCAL" in refused.stderr
    keytab = stack.settings.secret_folder / "query.keytab"
    kinit = [find_program("kinit"), "-l", "20s", "-k", "-t", str(keytab), "watchfloor_query@WATCHFLOOR.LOCAL"]
    config = {"KRB5_CONFIG": str(stack.settings.conf_folder / "krb5.conf"), "KRB5CCNAME": cache}
    subprocess.run(kinit, env=os.environ | config, check=True, timeout=20)
    end = time.time() + 20
    assert sorted(stack.ask_words(**asked)) == sorted(stack.words)
    other = stack.run("query", str(SOURCE["name"]), **(asked | {"WATCHFLOOR_QUERY_USER": "root@WATCHFLOOR.LOCAL"}))
    assert "the ticket is one of watchfloor_query@WATCHFLOOR.LOCAL" in other.stderr
    # The clocks of a stack may differ by 10 s.
    time.sleep(max(0.0, end + 11 - time.time()))
    late = stack.run("query", str(SOURCE["name"]), **asked)
    assert late.returncode and "expired: run kinit watchfloor_query@WATCHFLOOR.LOCAL" in late.stderr
    assert "Traceback" not in late.stderr + other.stderr + refused.stderr


def test_a_wrong_keytab_or_realm_is_named(stack: Stack) -> None:
    stack.start("auth-conf")
    name = str(SOURCE["name"])
    others = stack.settings.secret_folder / "ingest.keytab"
    wrong = stack.run("query", name, **stack.as_cluster(), WATCHFLOOR_QUERY_KEYTAB=str(others))
    assert wrong.returncode and "does not let watchfloor_query@WATCHFLOOR.LOCAL in" in wrong.stderr
    assert str(others) in wrong.stderr
    no_realm = stack.run("query", name, **(stack.as_cluster() | {"WATCHFLOOR_QUERY_USER": "watchfloor_query"}))
    assert no_realm.returncode and "`query_user` needs its realm" in no_realm.stderr
    open_key = stack.folder / "open.keytab"
    open_key.write_bytes(others.read_bytes())
    open_key.chmod(0o644)
    opened = stack.run("query", name, **stack.as_cluster(), WATCHFLOOR_QUERY_KEYTAB=str(open_key))
    assert opened.returncode and "others can read it: chmod 600 it" in opened.stderr
    assert not any("Traceback" in done.stderr for done in (wrong, no_realm, opened))


def test_a_killed_manager_and_kdc_come_back(stack: Stack) -> None:
    stack.start("auth-conf")
    run = stack.settings.home / "run"
    for name in ("manager", "kdc"):
        process = find_process(run / f"{name}.json")
        assert process is not None
        process.kill()
    deadline = time.monotonic() + 60
    while stack.run("status").returncode and time.monotonic() < deadline:
        time.sleep(1)
    assert stack.run("status").returncode == 0
    assert sorted(stack.ask_words()) == sorted(stack.words)


def test_passwords_come_back(stack: Stack) -> None:
    stack.start("none")
    assert sorted(stack.ask_words()) == sorted(stack.words)
    words = stack.load_words("passwords")
    assert stack.ask_words("--where", f"word = {words[0]}") == [words[0]]
