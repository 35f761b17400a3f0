"""On a cluster users with few permissions do all that Watchfloor does: docs/cluster/cluster.md names them.

In `make test`: a stack of its own, on which an administrator has made two users.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import jpype
import pytest
from command_line import run_command
from own_stack import stack_folder

from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("loads_here")]
GUIDE = Path(__file__).parents[3] / "docs/cluster/cluster.md"
INGEST, QUERY = "ingestor", "analyst"
SYSTEM_PERMISSIONS = ("CREATE_NAMESPACE",)
"""All permissions of the ingest user; the query user has none."""
BULK_PERMISSION = "SYSTEM"
"""What bulk mode needs beside it: Accumulo's own client reads the instance's settings for an import."""
ZEEK = "#separator \\x09\n#path\tleast\n#fields\tts\thost\tbytes\n#types\ttime\tstring\tcount\n"
LABELLED = """{"name": "least.labelled", "parser": {"format": "json"}, "timestamp": {"field": "ts"},
 "visibility": "secret", "fields": [{"name": "ts", "type": "time"}, {"name": "host", "type": "string"}]}"""
SINCE = ("--since", "2026-01-01T00:00:00Z", "--format", "csv")


@pytest.fixture(scope="module")
def administrator() -> Iterator[Settings]:
    with stack_folder() as settings:
        start_stack(settings)
        with Connection.open(settings, settings.read_credentials("ingest")) as connection:
            security = connection.client.securityOperations()
            token = jpype.JClass("org.apache.accumulo.core.client.security.tokens.PasswordToken")
            permission = jpype.JClass("org.apache.accumulo.core.security.SystemPermission")
            for user in (INGEST, QUERY):
                password = settings.secret_folder / f"{user}.password"
                password.touch(0o600)
                password.write_text(f"{user} s3cret")
                security.createLocalUser(user, token(f"{user} s3cret"))
            for name in SYSTEM_PERMISSIONS:
                security.grantSystemPermission(INGEST, permission.valueOf(name))
        yield settings


@pytest.fixture
def least(administrator: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of the two users; commands in this process and their workers get them too."""
    secrets = administrator.secret_folder
    for role, user in (("ingest", INGEST), ("query", QUERY)):
        monkeypatch.setenv(f"WATCHFLOOR_{role.upper()}_USER", user)
        monkeypatch.setenv(f"WATCHFLOOR_{role.upper()}_PASSWORD", str(secrets / f"{user}.password"))
    return replace(
        administrator,
        ingest_user=INGEST,
        ingest_password=secrets / f"{INGEST}.password",
        query_user=QUERY,
        query_password=secrets / f"{QUERY}.password",
    )


def run(settings: Settings, *arguments: str) -> str:
    status, out, error = run_command(settings, *arguments)
    assert status == 0, error
    return out


def grant(settings: Settings, users: Sequence[str], label: str) -> None:
    authorizations = jpype.JClass("org.apache.accumulo.core.security.Authorizations")
    with Connection.open(settings, settings.read_credentials("ingest")) as connection:
        for user in users:
            connection.client.securityOperations().changeUserAuthorizations(user, authorizations(label))


def test_two_users_do_everything(administrator: Settings, least: Settings, tmp_path: Path) -> None:
    log, values = tmp_path / "least.log", tmp_path / "values.txt"
    log.write_text(ZEEK + "".join(f"{1_772_323_200 + i}.0\thost{i}\t{i}\n" for i in range(7)))
    values.write_text("host3\nhost4\n")
    run(least, "load", str(log))
    run(least, "lists", "put", "hosts", str(values))
    run(least, "sources", "index", "zeek.least", "host")
    run(least, "compact", "zeek.least")
    assert len(run(least, "query", "zeek.least", *SINCE, "--where", "host in @hosts").splitlines()) == 3
    assert run(least, "count", "zeek.least") == "7\n"
    assert len(run(least, "items", "--format", "ndjson").splitlines()) == 1
    run(least, "status")
    run(least, "iterators")

    # Labels are granted by the administrator, as who may grant them could take every account over.
    definition, line = tmp_path / "labelled.json", tmp_path / "line.json"
    definition.write_text(LABELLED)
    line.write_text('{"ts": "2026-03-01T00:00:00Z", "host": "a"}\n')
    status, _, error = run_command(least, "sources", "add", str(definition))
    assert status == 3
    assert f"{INGEST} may not grant labels: an administrator grants secret to {INGEST} and {QUERY}" in error
    grant(administrator, (INGEST, QUERY), "secret")
    run(least, "sources", "add", str(definition))
    run(least, "load", str(line), "--source", "least.labelled")
    assert len(run(least, "query", "least.labelled", *SINCE).splitlines()) == 2
    grant(administrator, (QUERY,), "other")
    assert run_command(least, "query", "least.labelled", *SINCE)[1] == ""


def test_bulk_mode_needs_one_permission_more(administrator: Settings, least: Settings, tmp_path: Path) -> None:
    log = tmp_path / "bulk.log"
    log.write_text(ZEEK.replace("least", "bulk") + "1772323200.0\thost\t1\n")
    permission = jpype.JClass("org.apache.accumulo.core.security.SystemPermission").valueOf(BULK_PERMISSION)
    with Connection.open(administrator, administrator.read_credentials("ingest")) as connection:
        connection.client.securityOperations().grantSystemPermission(INGEST, permission)
        run(least, "load", "--mode", "bulk", str(log))
        connection.client.securityOperations().revokeSystemPermission(INGEST, permission)
    assert run(least, "count", "zeek.bulk") == "1\n"


def test_an_administrator_installs_the_iterators(administrator: Settings) -> None:
    run(administrator, "iterators", "install")
    with Connection.open(administrator, administrator.read_credentials("ingest")) as connection:
        namespaces = connection.client.namespaceOperations()
        for name in ("watchfloor", "zeek_least", "least_labelled"):
            assert str(namespaces.getNamespaceProperties(name).get("table.class.loader.context")) == "watchfloor"


def test_a_source_that_is_made_later_has_the_iterators(least: Settings, tmp_path: Path) -> None:
    log = tmp_path / "later.log"
    log.write_text(ZEEK.replace("least", "later") + "1772323200.0\thost\t1\n")
    run(least, "load", str(log))
    assert len(run(least, "query", "zeek.later", *SINCE).splitlines()) == 2
    with Connection.open(least, least.read_credentials("ingest")) as connection:
        properties = connection.client.namespaceOperations().getNamespaceProperties("zeek_later")
        assert str(properties.get("table.class.loader.context")) == "watchfloor"


def test_the_query_user_changes_nothing(least: Settings, tmp_path: Path) -> None:
    log = tmp_path / "more.log"
    log.write_text(ZEEK.replace("least", "more") + "1772323200.0\thost\t1\n")
    reader = replace(least, ingest_user=QUERY, ingest_password=least.query_password)
    with pytest.raises(StoreError), Store.open(reader) as store:
        store.put("watchfloor.sources", [(b"row", b"", b"", b"value")])
    with Connection.open(least, least.read_credentials("query")) as connection:
        refused = jpype.JClass("org.apache.accumulo.core.client.AccumuloSecurityException")
        for act in (
            lambda: connection.client.tableOperations().delete("watchfloor.sources"),
            lambda: connection.client.tableOperations().create("mine"),
            lambda: connection.client.namespaceOperations().create("mine"),
            lambda: connection.client.instanceOperations().setProperty("table.durability", "none"),
        ):
            with pytest.raises(refused):
                act()


def test_the_guide_names_these_permissions() -> None:
    guide = GUIDE.read_text()
    for user in (INGEST, QUERY):
        assert f"createuser {user}" in guide
    granted = [line.split()[1] for line in guide.splitlines() if line.strip().startswith("grant ")]
    assert granted == [f"System.{name}" for name in SYSTEM_PERMISSIONS]
    assert f"bulk mode System.{BULK_PERMISSION}" in guide
