"""Settings files that another user could have written are ignored or refused, and it is said why.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from watchfloor.schema.errors import SettingsError
from watchfloor.schema.settings import load
from watchfloor.schema.settings.load import describe_settings, load_settings, read_named_file
from watchfloor.schema.settings.ownership import find_foreign_writer
from watchfloor.schema.settings.settings import Settings

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@pytest.fixture(autouse=True)
def empty_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load._warn_once.cache_clear()
    for setting in describe_settings():
        monkeypatch.delenv(setting.variable, raising=False)


def plant(file: Path) -> None:
    """A file of another user, in a folder of the caller that once was open."""
    os.chown(file, NOBODY, NOBODY)


def open_file(file: Path) -> None:
    file.chmod(0o666)


def open_folder(file: Path) -> None:
    file.parent.chmod(0o777)


def share_folder(file: Path) -> None:
    os.chown(file.parent, -1, 100)
    file.parent.chmod(0o775)


def give_folder_away(file: Path) -> None:
    os.chown(file.parent, NOBODY, NOBODY)


def plant_link(file: Path) -> None:
    """Another user's link to a file of the caller."""
    file.rename(file.with_name("real.toml"))
    file.symlink_to(file.with_name("real.toml"))
    os.chown(file, NOBODY, NOBODY, follow_symlinks=False)


@needs_root
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (plant, "watchfloor.toml belongs to user nobody"),
        (open_file, "every user may write to .*watchfloor.toml"),
        (open_folder, "every user may write to .*work"),
        (share_folder, "a group of users may write to .*work"),
        (give_folder_away, "work belongs to user nobody"),
        (plant_link, "watchfloor.toml belongs to user nobody"),
    ],
)
@pytest.mark.parametrize("place", ["the working folder", "the stack's folder", "--config"])
def test_a_file_that_another_user_could_have_written_is_not_believed(
    change: Callable[[Path], None], reason: str, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path("work").absolute()
    folder.mkdir(mode=0o755)
    file = folder / "watchfloor.toml"
    file.write_text("shards = 9")
    file.chmod(0o644)
    if place == "the working folder":
        os.chdir(folder)
    home = folder if place == "the stack's folder" else None
    assert read_named_file(file) == {"shards": 9}
    assert load_settings(home).shards == (4 if place == "--config" else 9)
    change(file)
    if place == "--config":
        with pytest.raises(SettingsError, match=f"watchfloor.toml is not used: .*{reason}"):
            read_named_file(file)
    else:
        assert load_settings(home).shards == 4
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        assert record.getMessage().startswith(f"{file} is ignored: ")
        assert re.search(reason, record.getMessage())


GUARDED = {
    "home": "/elsewhere",
    "jars": "/tmp/planted",
    "client_properties": "/tmp/planted.properties",
    "kafka": "evil.example:9092",
    "kafka_protocol": "SASL_PLAINTEXT",
    "kafka_user": "planted",
    "kafka_password": "/etc/shadow",
    "kafka_authority": "/tmp/planted.pem",
    "ingest_keytab": "/etc/krb5.keytab",
    "query_keytab": "/etc/krb5.keytab",
    "kerberos_config": "/tmp/planted.conf",
    "hadoop_conf": "/tmp/planted",
    "zookeeper_user": "planted",
    "zookeeper_password": "/etc/shadow",
    "ingest_user": "planted",
    "ingest_password": "/etc/shadow",
    "query_user": "root",
    "query_password": "/etc/shadow",
    "queue_key": "/tmp/planted.key",
    "host": "0.0.0.0",
    "tls_certificate": "/tmp/planted.pem",
    "tls_key": "/tmp/planted.key",
}


def test_every_setting_that_is_no_number_and_no_choice_is_guarded() -> None:
    harmless = {"int", "bytes", "heap", "durability", "mode", "topic", "switch", "workers"}
    fields = [field for field in dataclasses.fields(Settings) if field.metadata["kind"] not in harmless]
    assert {field.metadata["name"] or field.name for field in fields} == set(GUARDED)


def test_a_file_of_the_working_folder_names_no_code_host_or_secret(caplog: pytest.LogCaptureFixture) -> None:
    usual = load_settings()
    Path("watchfloor.toml").write_text("".join(f"{k} = {v!r}\n" for k, v in GUARDED.items()) + "partitions = 7\n")
    settings = load_settings()
    assert settings.partitions == 7
    for field, value in vars(usual).items():
        assert field == "partitions" or getattr(settings, field) == value
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == len(GUARDED)
    assert all(any(f"watchfloor.toml, {name} is ignored" in line for line in said) for name in GUARDED)
    assert all("--config" in line for line in said)
    load_settings()
    assert len(caplog.records) == len(GUARDED), "what is ignored is said once"


def test_a_stack_that_lies_in_the_working_folder_names_nothing_either(tmp_path: Path) -> None:
    home = tmp_path / ".watchfloor"
    home.mkdir()
    (home / "watchfloor.toml").write_text("jars = '/tmp/planted'\nshards = 5\n")
    assert (load_settings().shards, load_settings().jars) == (5, load_settings("/nowhere").jars)
    assert load_settings(home).jars == Path("/tmp/planted")


def test_a_file_that_is_named_sets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine.toml").write_text("kafka = 'broker.example:9092'")
    assert read_named_file(Path("mine.toml")) == {"kafka": "broker.example:9092"}


def test_the_command_line_says_what_it_ignores() -> None:
    Path("watchfloor.toml").write_text("jars = '/tmp/planted'")
    done = subprocess.run(
        [sys.executable, "-m", "watchfloor.api.cli.main", "down"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "jars is ignored: a file of the working folder may not name paths, hosts or users" in done.stderr


@needs_root
def test_a_sticky_folder_and_a_group_of_ones_own_are_no_danger(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o664)
    tmp_path.chmod(0o1777)
    assert find_foreign_writer(file) is None
