"""Settings come from their sources in order, and a bad value is reported with its place.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from watchfloor.schema.errors import SettingsError
from watchfloor.schema.settings.credentials import Credentials
from watchfloor.schema.settings.load import describe_settings, load_settings
from watchfloor.schema.settings.parse_setting import parse_size
from watchfloor.schema.settings.settings import Settings


@pytest.fixture(autouse=True)
def empty_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for setting in describe_settings():
        monkeypatch.delenv(setting.variable, raising=False)


def test_flags_win_over_environment_over_file_over_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().shards == 4
    Path("watchfloor.toml").write_text('shards = 5\npartitions = 6\ntopic = "of-the-file"\n')
    monkeypatch.setenv("WATCHFLOOR_PARTITIONS", "7")
    monkeypatch.setenv("WATCHFLOOR_TOPIC", "of-the-environment")
    settings = load_settings(overrides={"topic": "of-a-flag", "group": None})
    assert (settings.shards, settings.partitions, settings.topic) == (5, 7, "of-a-flag")
    assert settings.group == "watchfloor"


def test_the_file_in_the_stacks_folder_counts_when_there_is_none_here(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "watchfloor.toml").write_text("shards = 8")
    assert load_settings(home).shards == 8
    Path("watchfloor.toml").write_text("shards = 9")
    assert load_settings(home).shards == 9


def test_home_comes_from_its_variable_and_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().home == tmp_path / ".watchfloor"
    monkeypatch.setenv("WATCHFLOOR_HOME", "elsewhere")
    assert load_settings().home == tmp_path / "elsewhere"
    assert load_settings("here").home == tmp_path / "here"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("shards = 0", "shards: 0 is outside 1 to 9999"),
        ('shards = "many"', "shards: 'many' is not a whole number"),
        ("shards = true", "not a whole number"),
        ("shard = 3", "did you mean shards"),
        ('tserver_heap = "lots"', "'lots' is not a size such as 256m"),
        ('tserver_heap = "1m"', "too small for a heap"),
        ('durability = "none"', "neither flush nor sync"),
        ('topic = "a/b"', "letters, digits"),
        ("topic = 3", "should be text"),
        ("shards = ", "cannot be read"),
        ('ingest_mode = "fast"', "'fast' is neither live nor bulk"),
    ],
)
def test_a_bad_value_in_a_file_is_named_with_the_file(text: str, words: str) -> None:
    Path("watchfloor.toml").write_text(text)
    with pytest.raises(SettingsError) as error:
        load_settings()
    assert words in str(error.value)
    assert "watchfloor.toml" in str(error.value)


def test_a_bad_variable_and_a_bad_flag_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="a flag, port: 70000 is outside 0 to 65535"):
        load_settings(overrides={"port": 70000})
    with pytest.raises(SettingsError, match="a flag, jars: '' is not a path"):
        load_settings(overrides={"jars": ""})
    monkeypatch.setenv("WATCHFLOOR_PORT", "http")
    with pytest.raises(SettingsError, match="WATCHFLOOR_PORT: 'http' is not a whole number"):
        load_settings()


def test_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [parse_size(t) for t in ("12", "1k", "2M", "3MiB", "1 gb")] == [12, 1024, 2 << 20, 3 << 20, 1 << 30]
    monkeypatch.setenv("WATCHFLOOR_ITEM_BYTES", "8MiB")
    monkeypatch.setenv("WATCHFLOOR_KAFKA_HEAP", "1 GiB")
    assert load_settings().item_bytes == 8 << 20
    assert load_settings().kafka_heap == "1024m"


def test_credentials_are_read_from_private_files_only(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with pytest.raises(SettingsError, match=r"query\.password is missing; run `watchfloor up`"):
        settings.read_credentials("query")
    settings.secret_folder.mkdir()
    path = settings.password_file("query")
    path.write_text("s3cret\n")
    path.chmod(0o644)
    with pytest.raises(SettingsError, match="chmod 600"):
        settings.read_credentials("query")
    path.chmod(0o600)
    assert settings.read_credentials("query") == Credentials("watchfloor_query", "s3cret")
    assert "s3cret" not in repr(settings.read_credentials("query"))
    path.write_text("\n")
    with pytest.raises(SettingsError, match="empty"):
        settings.read_credentials("query")


def test_the_account_at_kafka_is_the_stacks_or_the_one_that_is_set(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"kafka\.password is missing; run `watchfloor up`"):
        Settings(home=tmp_path).read_kafka_credentials()
    theirs = Settings(home=tmp_path, kafka_bootstrap="k1:9093")
    assert theirs.read_kafka_credentials() is None
    with pytest.raises(SettingsError, match="no password of ingest: set `kafka_password`"):
        replace(theirs, kafka_user="ingest").read_kafka_credentials()
    path = tmp_path / "password"
    path.write_text("s3cret\n")
    path.chmod(0o600)
    named = replace(theirs, kafka_user="ingest", kafka_password=path)
    assert named.read_kafka_credentials() == Credentials("ingest", "s3cret")
    with pytest.raises(SettingsError, match="neither SASL_SSL nor SASL_PLAINTEXT"):
        load_settings(overrides={"kafka_protocol": "PLAINTEXT"})


def test_the_account_at_zookeeper_is_the_stacks_or_the_one_that_is_set(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"zookeeper-client\.password is missing; run `watchfloor up`"):
        Settings(home=tmp_path).read_zookeeper_credentials()
    theirs = Settings(home=tmp_path, cluster_properties=tmp_path / "client.properties")
    assert theirs.read_zookeeper_credentials() is None
    with pytest.raises(SettingsError, match="no password of reader: set `zookeeper_password`"):
        replace(theirs, zookeeper_user="reader").read_zookeeper_credentials()
    path = tmp_path / "password"
    path.touch(0o600)
    path.write_text("s3cret\n")
    named = replace(theirs, zookeeper_user="reader", zookeeper_password=path)
    assert named.read_zookeeper_credentials() == Credentials("reader", "s3cret")


def test_a_cluster_is_named_by_two_settings(tmp_path: Path) -> None:
    local = Settings(home=tmp_path)
    assert local.is_accumulo_local
    assert local.client_properties == tmp_path / "conf/accumulo-client.properties"
    with pytest.raises(SettingsError, match="run `watchfloor up`, or set `kafka`"):
        _ = local.bootstrap_servers
    theirs = load_settings(
        overrides={"kafka": "k1:9092,k2:9092", "client_properties": "/etc/accumulo-client.properties"}
    )
    assert not theirs.is_accumulo_local
    assert not theirs.is_kafka_local
    assert theirs.bootstrap_servers == "k1:9092,k2:9092"
    assert theirs.client_properties == Path("/etc/accumulo-client.properties")


def test_kafkas_address_is_that_of_the_stack(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    settings.conf_folder.mkdir()
    (settings.conf_folder / "stack.json").write_text('{"ports": {"kafka": 23456}}')
    assert settings.bootstrap_servers == "127.0.0.1:23456"
    (settings.conf_folder / "stack.json").write_text("{")
    with pytest.raises(SettingsError, match="damaged"):
        _ = settings.bootstrap_servers


def test_every_setting_is_described() -> None:
    for setting in describe_settings():
        assert setting.variable == "WATCHFLOOR_" + setting.name.upper()
        assert 10 < len(setting.doc) < 100


def test_the_manual_lists_every_setting_as_it_is() -> None:
    manual = (Path(__file__).parents[2] / "docs/using/operations.md").read_text()
    for setting in describe_settings():
        default = f"`{setting.default}`" if setting.default else ""
        assert f"| `{setting.name}` | {default} | {setting.doc} |" in manual
