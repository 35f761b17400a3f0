"""What set-up installs is what was recorded: a file that differs is refused.

In `make test`: one test asks pip for one small package, the others read files.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = ROOT / ".ci/requirements.txt"
RECORD = ROOT / "store/java/artifacts.sha256"
JARS = ROOT / "store/java/target/jars"
YCSB_JARS = ROOT / "store/java/target/ycsb"
SMALL = "iniconfig"


def pinned() -> dict[str, str]:
    """Each requirement of the lock by the package's name: its lines, with hashes."""
    entries = re.findall(r"^([a-z0-9-]+)==.*?(?=^[a-z]|\Z)", LOCK.read_text(), flags=re.M | re.S)
    texts = re.findall(r"^[a-z0-9-]+==.*?(?=^[a-z]|\Z)", LOCK.read_text(), flags=re.M | re.S)
    return dict(zip(entries, texts, strict=True))


def name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-").replace(".", "-")


def test_every_package_is_pinned_with_the_hashes_of_its_files() -> None:
    assert len(pinned()) > 40
    for name, text in pinned().items():
        assert re.match(rf"{name}==\S+", text)
        assert text.count("--hash=sha256:") >= 1, name
    assert not re.search(r"https?://|index-url|find-links", LOCK.read_text())


def test_the_lock_has_all_that_the_project_wants() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["dev"]
    missing = {name_of(text) for text in wanted + project["build-system"]["requires"]} - set(pinned())
    assert missing == set(), "run `make lock`"


def test_the_jars_with_known_holes_are_those_that_are_used() -> None:
    table = (ROOT / "SECURITY.md").read_text().partition("## Versions with known holes")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")][1:]
    jars = [jar.split() for cell in cells for jar in cell.split(",")]
    assert len(jars) >= 6
    recorded = RECORD.read_text()
    for name, version in jars:
        assert re.search(rf"/{name}[^/]*/{re.escape(version)}[^/]*/", recorded), (
            f"{name} {version}: bring SECURITY.md up"
        )


def install(lock: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    return subprocess.run([*command, "--target", target, "-r", lock], capture_output=True, text=True, timeout=120)


def test_a_package_with_another_hash_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(pinned()[SMALL])
    whole = install(lock, tmp_path / "whole")
    if "ConnectionError" in whole.stderr or "No matching distribution" in whole.stderr:
        pytest.skip("no package registry can be reached")
    assert whole.returncode == 0, whole.stderr
    lock.write_text(re.sub(r"sha256:[0-9a-f]{8}", "sha256:00000000", pinned()[SMALL]))
    tampered = install(lock, tmp_path / "tampered")
    assert tampered.returncode != 0
    assert "DO NOT MATCH THE HASHES" in tampered.stderr
    assert not (tmp_path / "tampered" / SMALL).exists()


def check(*folders: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / ".ci/artifacts.py", "check", *folders]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A Maven repository with three of the recorded artifacts, and one that is not recorded."""
    for line in RECORD.read_text().splitlines():
        path = Path(line.split("  ")[1])
        if path.name.startswith(("kafka-clients-", "zookeeper-3", "re2j-")) and (JARS / path.name).exists():
            (tmp_path / path).parent.mkdir(parents=True)
            shutil.copy(JARS / path.name, tmp_path / path)
    (tmp_path / "another.jar").write_bytes(b"of another project")
    return tmp_path


def test_a_changed_artifact_in_mavens_repository_is_refused(repository: Path) -> None:
    assert check(repository).returncode == 0
    jar = next(repository.rglob("kafka-clients-*.jar"))
    content = bytearray(jar.read_bytes())
    content[len(content) // 2] ^= 1
    jar.write_bytes(content)
    refused = check(repository)
    assert refused.returncode == 1
    assert refused.stderr == f"{jar} is not the artifact that store/java/artifacts.sha256 records: remove it\n"


def test_a_jar_that_is_not_recorded_is_refused(repository: Path, tmp_path: Path) -> None:
    assert check(repository, JARS, YCSB_JARS).returncode == 0
    jars = tmp_path / "jars"
    jars.mkdir()
    shutil.copy(next(JARS.glob("zookeeper-3*.jar")), jars)
    (jars / "watchfloor-accumulo-0.1.0.jar").write_bytes(b"built here")
    assert check(repository, jars).returncode == 0
    (jars / "planted.jar").write_bytes(b"")
    assert f"{jars / 'planted.jar'} is not the artifact" in check(repository, JARS, jars).stderr


def test_the_jars_of_ycsb_are_apart_from_those_of_servers_and_clients() -> None:
    """YCSB needs an older HdrHistogram than Accumulo, and nothing else of the project needs YCSB."""
    theirs, ours = ({path.name for path in folder.glob("*.jar")} for folder in (YCSB_JARS, JARS))
    assert {name.rpartition("-")[0] for name in theirs} >= {"core", "HdrHistogram"} and len(theirs) == 5
    assert not theirs & ours
    assert len([name for name in theirs | ours if name.startswith("HdrHistogram-")]) == 2


def test_setup_installs_by_hash_and_checks_artifacts_before_and_after_the_build() -> None:
    setup = (ROOT / ".ci/setup.sh").read_text()
    assert "--require-hashes -r .ci/requirements.txt" in setup
    assert (
        len(
            re.findall(
                r"artifacts\.py check .*?mvn .*?artifacts\.py check \S+ \$target/jars \$target/ycsb \$target/hdfs",
                setup,
                re.S,
            )
        )
        == 1
    )
    assert "$pip --no-deps --no-build-isolation -e ." in setup
