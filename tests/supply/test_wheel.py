"""The wheel that `make dist` builds is all that a client host needs: it works against a cluster by configuration alone.

In `make test`: it builds the wheel twice, and installs it into an environment that has nothing of this clone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from watchfloor.schema.settings.settings import Settings

pytestmark = pytest.mark.stack
ROOT = Path(__file__).parents[2]


def build(folder: Path, **environment: str) -> Path:
    command = [ROOT / "deploy/dist.sh", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    assert done.stdout.strip() == str(wheel)
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("host")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    python = folder / "bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-index", "--no-deps", "--no-compile", wheel], check=True, timeout=120)
    # The dependencies are this environment's. What its own .pth files name, such as this clone, is not followed.
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    theirs = subprocess.run([python, "-c", find], check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    ours = subprocess.run([sys.executable, "-c", find], check=True, capture_output=True, text=True, timeout=60).stdout
    (Path(theirs) / "dependencies.pth").write_text(ours)
    return folder / "bin"


def run(installed: Path, folder: Path, environment: Mapping[str, str], *arguments: str) -> str:
    """Returns what a command prints that is run in a folder outside of this clone."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WATCHFLOOR_", "PYTHON"))}
    done = subprocess.run(
        [installed / "watchfloor", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**clean, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_sources_give_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        again = build(tmp_path)
    finally:
        os.umask(before)
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_the_wheel_has_jars_and_page_and_nothing_of_the_build(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    jars = {path.name for path in (ROOT / "store/java/target/jars").glob("*.jar")}
    assert {Path(name).name for name in names if "/java/target/jars/" in name} == jars
    assert {f"watchfloor/api/rest/static/{name}" for name in ("index.html", "app.js", "app.css")} <= names
    sources = {path.relative_to(ROOT) for room in ("schema", "api", "loadgen") for path in (ROOT / room).rglob("*.py")}
    assert {f"watchfloor/{path}" for path in sources} <= names
    assert not [name for name in names if "__pycache__" in name or "/api/web/" in name or name.startswith("tests")]
    assert max(info.file_size for info in zipfile.ZipFile(wheel).infolist()) < 40 << 20
    assert wheel.stat().st_size < 160 << 20


def test_an_installed_client_loads_and_queries_a_cluster(
    installed: Path, store_settings: Settings, tmp_path: Path
) -> None:
    assert run(installed, tmp_path, {}, "--version") == f"watchfloor {version('watchfloor')}\n"
    head = ["#separator \\x09", "#path\twheel", "#fields\tts\thost\tbytes", "#types\ttime\tstring\tcount"]
    lines = [*head, *(f"{1_772_323_200 + i}.0\thost{i}\t{i}" for i in range(7))]
    (tmp_path / "wheel.log").write_text("\n".join(lines) + "\n")
    secrets = store_settings.secret_folder
    cluster = {
        "WATCHFLOOR_HOME": str(tmp_path / "none"),
        "WATCHFLOOR_CLIENT_PROPERTIES": str(store_settings.client_properties),
        "WATCHFLOOR_ZOOKEEPER_USER": "client",
        "WATCHFLOOR_ZOOKEEPER_PASSWORD": str(secrets / "zookeeper-client.password"),
        "WATCHFLOOR_KAFKA": store_settings.bootstrap_servers,
        "WATCHFLOOR_KAFKA_USER": "watchfloor",
        "WATCHFLOOR_KAFKA_PASSWORD": str(secrets / "kafka.password"),
        "WATCHFLOOR_KAFKA_PROTOCOL": "SASL_PLAINTEXT",
        "WATCHFLOOR_QUEUE_KEY": str(secrets / "queue.key"),
        "WATCHFLOOR_INGEST_PASSWORD": str(secrets / "root.password"),
        "WATCHFLOOR_QUERY_PASSWORD": str(secrets / "query.password"),
    }
    run(installed, tmp_path, cluster, "load", "wheel.log")
    since = ("--since", "2026-01-01T00:00:00Z")
    rows = run(installed, tmp_path, cluster, "query", "zeek.wheel", *since, "--where", "bytes >= 3", "--format", "csv")
    assert sorted(row.split(",")[1].strip('"') for row in rows.splitlines()[1:]) == ["host3", "host4", "host5", "host6"]
    assert [path.name for path in (tmp_path / "none").iterdir()] == ["log"], "a client makes no stack of its own"
