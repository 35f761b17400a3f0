"""The version of the servers' iterators is checked when a client connects, and a command puts the jar on a cluster.

In `make test`: a stack of its own runs on a jar of an older version.
"""

from __future__ import annotations

import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version as project_version
from pathlib import Path

import pytest
from command_line import run_command
from jvm_support import start_jvm
from loaded import load
from own_stack import stack_folder

from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Role, Settings
from watchfloor.store.admin import server_iterators
from watchfloor.store.bridge.connection import Connection
from watchfloor.store.runtime.jars import find_own_jar
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
ZEEK = "#separator \\x09\n#path\tinstalled\n#fields\tts\thost\tbytes\n#types\ttime\tstring\tcount\n"


def make_older_jar(jar: Path, older: Path) -> None:
    """Copies our jar with another version in the class that tells it."""
    version, other = (f"\x05{text}".encode() for text in (project_version("watchfloor"), "0.0.8"))
    with zipfile.ZipFile(jar) as source, zipfile.ZipFile(older, "w") as copy:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("/VersionIterator.class"):
                assert content.count(version) == 1
                content = content.replace(version, other)
            copy.writestr(name, content)


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A stack whose servers run on an older jar, in the way that a client sees a cluster; clients run on ours."""
    with stack_folder() as settings:
        start_jvm()
        jars = tmp_path_factory.mktemp("older") / "jars"
        jars.mkdir()
        own = find_own_jar(settings.jars)
        for jar in settings.jars.glob("*.jar"):
            if jar != own:
                (jars / jar.name).symlink_to(jar)
        make_older_jar(own, jars / own.name)
        start_stack(replace(settings, jars=jars))
        yield settings


def as_cluster(settings: Settings) -> Settings:
    """The same stack as a cluster that somebody else runs."""
    secrets = settings.secret_folder
    return replace(
        settings,
        cluster_properties=settings.client_properties,
        zookeeper_user="client",
        zookeeper_password=secrets / "zookeeper-client.password",
        ingest_password=secrets / "root.password",
        query_password=secrets / "query.password",
    )


def test_an_older_version_is_refused_until_ours_is_installed(older: Settings, tmp_path: Path) -> None:
    version = server_iterators.client_version()
    said = f"the tablet servers have iterators 0.0.8, this client needs {version}: "
    roles: tuple[Role, ...] = ("ingest", "query")
    for role in roles:
        with pytest.raises(StoreError) as refused:
            Store.open(older, role=role)
        assert str(refused.value) == f"{said}`watchfloor down`, then `watchfloor up` starts them with this version's"
        with pytest.raises(StoreError, match="an administrator runs `watchfloor iterators install`, or puts"):
            Store.open(as_cluster(older), role=role)
    status, _, error = run_command(older, "iterators")
    assert (status, error.partition(": ")[2].startswith(said)) == (3, True)

    status, _, error = run_command(older, "iterators", "install")
    assert status == 0, error
    assert f"the tablet servers have iterators {version}, from file:" in error
    installed = list((older.home / "data/accumulo/watchfloor-iterators").iterdir())
    assert [path.name.startswith("watchfloor-accumulo-") for path in installed] == [True]

    # The tables of a new source have the iterators too, in each way of reading.
    log = tmp_path / "installed.log"
    log.write_text(ZEEK + "".join(f"{1_772_323_200 + i}.0\thost{i % 3}\t{i}\n" for i in range(50)))
    assert load(older, log).events == 50
    source = "zeek.installed"
    since = ("--since", "2026-01-01T00:00:00Z")
    for options in (
        ("--where", "bytes >= 20"),
        ("--stats", "sum(bytes) by host"),
        ("--sort", "-bytes", "--limit", "9"),
    ):
        status, out, error = run_command(older, "query", source, *since, *options, "--format", "ndjson")
        assert status == 0, error
        assert len(out.splitlines()) >= 3
    status, _, error = run_command(older, "iterators", "check")
    assert (status, error.strip()) == (0, f"the tablet servers have iterators {version}")
    assert run_command(older, "iterators", "install")[0] == 0
    assert list((older.home / "data/accumulo/watchfloor-iterators").iterdir()) == installed


def test_the_iterators_have_the_projects_version() -> None:
    pom = (Path(__file__).parents[3] / "store/java/pom.xml").read_text()
    start_jvm()
    assert f"<version>{server_iterators.client_version()}</version>\n  <packaging>" in pom
    assert server_iterators.client_version() == project_version("watchfloor")


def test_servers_without_iterators_are_refused(store_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(store_settings).close()
    monkeypatch.setattr(server_iterators, "_CLASS_ON_SERVERS", "watchfloor.iterators.OfAnotherTime")
    began = time.monotonic()
    with pytest.raises(StoreError, match="the tablet servers have no iterators of Watchfloor, this client needs"):
        Store.open(store_settings)
    assert time.monotonic() - began < 5


def test_the_check_costs_a_client_a_few_milliseconds(store_settings: Settings) -> None:
    Store.open(store_settings).close()  # the tables are there from now on, so that servers are asked
    with Connection.open(store_settings, store_settings.read_credentials("query")) as connection:
        assert server_iterators.read_versions(connection, "watchfloor.sources")
        samples = []
        for _ in range(20):
            began = time.perf_counter()
            server_iterators.check_iterators(store_settings, connection)
            samples.append(time.perf_counter() - began)
    assert min(samples) < 0.02, samples


def test_only_an_administrator_installs(store_settings: Settings) -> None:
    Store.open(store_settings).close()  # the tables are there from now on
    with (
        Connection.open(store_settings, store_settings.read_credentials("query")) as connection,
        pytest.raises(StoreError, match=r"needs the permission System\.SYSTEM: run this command as an administrator"),
    ):
        server_iterators.install_iterators(store_settings, connection)
