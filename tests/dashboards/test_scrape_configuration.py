"""``watchfloor metrics`` prints a scrape configuration that Prometheus takes, and says what is missing for it.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_line import run_command
from prometheus import find_program

from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a stack that does not run, in a folder where commands look for no others."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name in ("WATCHFLOOR_METRICS", "WATCHFLOOR_HOST", "WATCHFLOOR_PORT")]:
        monkeypatch.delenv(name)
    (tmp_path / "secret").mkdir()
    return load_settings(home=tmp_path)


def test_it_finds_the_service_and_the_processes_of_the_stack(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHFLOOR_METRICS", "on")
    monkeypatch.setenv("WATCHFLOOR_PORT", "9999")
    (token := tmp_path / "secret/metrics.token").touch()
    status, printed, said = run_command(settings, "metrics")
    assert (status, said) == (0, "")
    stack, service = json.loads(printed)["scrape_configs"]
    assert stack["file_sd_configs"][0]["files"] == [f"{tmp_path}/run/metrics/*.json"]
    assert service["static_configs"] == [{"targets": ["127.0.0.1:9999"], "labels": {"process": "service"}}]
    assert (service["scheme"], service["authorization"]) == ("http", {"credentials_file": str(token)})


def test_it_says_what_is_missing(settings: Settings) -> None:
    status, printed, said = run_command(settings, "metrics")
    assert status == 0 and len(json.loads(printed)["scrape_configs"]) == 2
    assert "metrics.token is missing: watchfloor token create metrics --role operator --all-labels > " in said
    assert "the setting `metrics` is off" in said


def test_another_file_may_have_the_token(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    _, printed, said = run_command(settings, "metrics", "--token-file", "mine")
    assert json.loads(printed)["scrape_configs"][1]["authorization"] == {"credentials_file": str(tmp_path / "mine")}
    assert "is missing" not in said


def test_prometheus_takes_what_it_prints(settings: Settings, tmp_path: Path) -> None:
    promtool = find_program("promtool")
    (tmp_path / "secret/metrics.token").touch()
    (tmp_path / "prometheus.yml").write_text(run_command(settings, "metrics")[1])
    done = subprocess.run([promtool, "check", "config", "prometheus.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
