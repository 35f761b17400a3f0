"""The container and compose files that ship: their commands and settings are ones of Watchfloor.

In `make test`: it only reads files, as no container runs here.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from watchfloor.api.cli.main import CommandLine, find_groups
from watchfloor.schema.settings.load import describe_settings, read_named_file

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
CONTAINER = (ROOT / "deploy/Containerfile").read_text()
GUIDE = (ROOT / "docs/cluster/cluster.md").read_text()
VARIABLES = {setting.variable for setting in describe_settings()}
INSTRUCTIONS = {"FROM", "RUN", "COPY", "USER", "WORKDIR", "ENV", "ENTRYPOINT", "CMD"}


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_service_runs_a_command_with_settings_that_exist(name: str) -> None:
    service = COMPOSE["services"][name]
    assert CommandLine(find_groups()).parse(service["command"]).command == name
    assert set(service["environment"]) <= VARIABLES
    mounted = [volume.split(":") for volume in service["volumes"]]
    targets = [target for _, target, *_ in mounted]
    for value in service["environment"].values():
        assert not value.startswith("/") or any(value.startswith(target) for target in targets), value
    assert {source for source, *_ in mounted if "/" not in source} == set(COMPOSE["volumes"])
    assert all(mode == ["ro"] for source, _, *mode in mounted if "/" in source)


def test_nothing_is_published_beyond_the_loopback_address() -> None:
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_container_file_has_known_instructions_and_no_secret() -> None:
    logical = re.sub(r"\\\n", " ", CONTAINER)
    lines = [line for line in logical.splitlines() if line and not line.startswith("#")]
    assert {line.split()[0] for line in lines} <= INSTRUCTIONS
    assert re.search(r"^COPY dist/watchfloor-\*\.whl ", CONTAINER, re.M), "what `make dist` builds"
    names = re.findall(r"^ENV (\w+)=", CONTAINER, re.M)
    assert names and set(names) <= VARIABLES
    user = re.search(r"^USER (\w+)$", CONTAINER, re.M)
    assert user and user[1] != "root"
    assert logical.index("\nUSER ") < logical.index("\nENTRYPOINT ")
    assert "password" not in CONTAINER.lower()


def test_the_settings_of_the_guide_are_settings(tmp_path: Path) -> None:
    block = re.search(r"^## Settings\n((?:    .*\n)+)", GUIDE, re.M)
    assert block
    path = tmp_path / "watchfloor.toml"
    path.write_text(re.sub(r"^    ", "", block[1], flags=re.M))
    path.chmod(0o600)
    assert set(read_named_file(path)) == set(tomllib.loads(path.read_text()))
    for name in read_named_file(path):
        assert f"WATCHFLOOR_{name.upper()}" in VARIABLES
