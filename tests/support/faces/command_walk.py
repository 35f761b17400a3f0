"""Asks all commands that read data with the rights of the query user, as a user with few labels.

A command that is neither in ``READING`` nor in ``OPERATING`` is an error: whoever adds it decides whose rights it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import jpype
import pytest
from command_line import list_commands, run_command

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import SOURCES_TABLE
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.encoding.keys import source_namespace

OPERATING = {
    *(
        "up",
        "down",
        "status",
        "iterators",
        "iterators check",
        "iterators install",
        "sources check",
        "sources infer",
        "sources try",
        "sources add",
        "sources index",
        "master",
        "worker",
        "load",
        "compact",
        "retention",
        "export",
        "import",
    ),
    *("items", "quarantine", "quarantine list", "quarantine show", "quarantine retry"),
    *("lists put", "lists remove", "metrics", "sigma", "sigma check", "sigma explain", "sigma watch"),
    *("serve", "token", "token list", "token create", "token rotate", "token revoke"),
    *("generate", "replay", "bench", "report", "compare", "calibrate", "demo"),
    *("continuous", "ycsb", "ycsb load", "ycsb run", "lookups", "lookups write", "lookups read"),
}
"""Commands that act with the rights of the ingest user, or on files alone."""
RULES = Path(__file__).parents[2] / "fixtures" / "sigma"
"""The folder of the tests' own Sigma rules."""
_DURATION = re.compile(r"[0-9.,]+ (s|ms|rows/s)\b")


def list_command_lines(sources: Sequence[str], fields: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yields command lines of each command that reads data. Raises ``LookupError`` for a command that is not known."""
    reading: dict[str, Callable[[str], Iterator[tuple[str, ...]]]] = {
        "sources show": lambda source: iter([(source,)]),
        "lists": lambda source: iter([()]),
        "lists show": lambda source: iter([(), (source,)]),
        "query": lambda source: (
            (source, *options)
            for field in fields
            for options in (
                (),
                ("--limit", "3"),
                ("--sort", f"-{field}", "--limit", "3"),
                ("--where", f"{field} = 3"),
                ("--columns", field),
                ("--own-columns",),
                ("--explain",),
                ("--stats", f"count(), min({field}), values({field}) by {field}"),
            )
        ),
        "count": lambda source: (
            (source, *value) for f in fields for value in ((), ("--field", f, "--value", "3"), ("--where", f"{f} = 3"))
        ),
        "top": lambda source: (
            (source, field, *some)
            for field in fields
            for some in ((), ("--ascending",), ("--where", f"exists {field}"))
        ),
        "find": lambda source: (
            (value, "--sources", pattern, *kind)
            for value in ("3", "a")
            for pattern in (source, "*")
            for kind in ((), ("--kind", "port"), ("--kind", "user"))
        ),
        "sigma run": lambda source: iter([(str(RULES),)]),
        "sigma hunt": lambda source: iter([(str(RULES), "--format", "ndjson")]),
        "timeline": lambda source: ((source, *v) for f in fields for v in ((), ("--field", f, "--value", "3"))),
    }
    yield ("sources",)
    for name, _ in list_commands():
        if name in reading:
            yield from dict.fromkeys(
                (*name.split(), *options) for source in sources for options in reading[name](source)
            )
        elif name not in ("", "sources") and name not in OPERATING:
            raise LookupError(f"{name}: say in command_walk.py whether it reads data or operates")


def ask_command(settings: Settings, line: Sequence[str]) -> str:
    """Returns the exit status and all output of a command, without the durations in it."""
    status, out, said = run_command(settings, *line)
    return _DURATION.sub("T", f"{status}\n{out}\n{said}")


@contextmanager
def query_user(connection: Connection, label: str, folder: Path) -> Iterator[Callable[[Sequence[str]], None]]:
    """Makes an Accumulo user with one label the query user of all commands in the ``with`` block.

    Yields a function that lets the user read the tables of sources, whatever their labels.
    """
    jclass = jpype.JClass
    security = connection.client.securityOperations()
    password = jclass("org.apache.accumulo.core.client.security.tokens.PasswordToken")("walk")
    security.createLocalUser(label, password)
    security.changeUserAuthorizations(label, jclass("org.apache.accumulo.core.security.Authorizations")(label))
    read = jclass("org.apache.accumulo.core.security.NamespacePermission").READ
    (folder / "walk.password").touch(0o600)
    (folder / "walk.password").write_text("walk")

    def permit(sources: Sequence[str]) -> None:
        for namespace in (SOURCES_TABLE.partition(".")[0], *map(source_namespace, sources)):
            security.grantNamespacePermission(label, namespace, read)

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("WATCHFLOOR_QUERY_USER", label)
        environment.setenv("WATCHFLOOR_QUERY_PASSWORD", str(folder / "walk.password"))
        yield permit
    security.dropLocalUser(label)
