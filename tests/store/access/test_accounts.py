"""ZooKeeper and Kafka of a stack let in accounts alone, whose passwords are nowhere where others can see them.

In `make test`: it asks the servers of the shared stack.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ingest_support import own
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from kafka.errors import KafkaError
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoAuthError
from kazoo.handlers.threading import KazooTimeoutError

from watchfloor.ingest.queue.work_queue import make_topic, queue_lag
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.metrics_port import targets_folder
from watchfloor.store.stack.accounts.kafka_accounts import MECHANISM

pytestmark = pytest.mark.stack
WRONG = {"sasl_mechanism": MECHANISM, "sasl_plain_username": "watchfloor", "sasl_plain_password": "a guess"}


@pytest.fixture(scope="module")
def settings(store_settings: Settings) -> Settings:
    settings = own(store_settings, "accounts")
    make_topic(settings)
    return settings


def kafka_options(settings: Settings, login: dict[str, str]) -> dict[str, Any]:
    protocol = "SASL_PLAINTEXT" if login else "PLAINTEXT"
    times = {"bootstrap_timeout_ms": 1_000, "request_timeout_ms": 2_000}
    return {"bootstrap_servers": settings.bootstrap_servers, "security_protocol": protocol, **times, **login}


def produce(settings: Settings, options: dict[str, Any]) -> None:
    with contextlib.closing(KafkaProducer(**options, max_block_ms=1_000)) as producer:
        producer.send(settings.topic, b"{}", partition=0).get(timeout=2)


def consume(settings: Settings, options: dict[str, Any]) -> None:
    with contextlib.closing(KafkaConsumer(**options)) as consumer:
        consumer.assign([TopicPartition(settings.topic, 0)])
        consumer.seek_to_beginning()
        consumer.poll(1_000)
        consumer.end_offsets([TopicPartition(settings.topic, 0)])


def list_topics(settings: Settings, options: dict[str, Any]) -> None:
    with contextlib.closing(KafkaAdminClient(**options)) as admin:
        admin.list_topics()


def delete_records(settings: Settings, options: dict[str, Any]) -> None:
    with contextlib.closing(KafkaAdminClient(**options)) as admin:
        admin.delete_records({TopicPartition(settings.topic, 0): 0})


@pytest.mark.parametrize("login", [{}, WRONG], ids=["no password", "a wrong password"])
@pytest.mark.parametrize("act", [produce, consume, list_topics, delete_records])
def test_kafka_lets_nobody_in_without_its_password(
    settings: Settings, act: Callable[[Settings, dict[str, Any]], None], login: dict[str, str]
) -> None:
    with pytest.raises(KafkaError):
        act(settings, kafka_options(settings, login))
    assert queue_lag(settings) == 0


def test_the_account_of_ingest_may_use_queues_of_work_items_only(settings: Settings) -> None:
    credentials = settings.read_kafka_credentials()
    assert credentials
    login = {**WRONG, "sasl_plain_username": credentials.user, "sasl_plain_password": credentials.password}
    options = kafka_options(settings, login)
    with contextlib.closing(KafkaAdminClient(**options)) as admin:
        assert settings.topic in admin.list_topics()
        for name in ("someone.elses", "__consumer_offsets"):
            with pytest.raises(KafkaError, match="AuthorizationFailed"):
                admin.create_topics({name: {"num_partitions": 1, "replication_factor": -1}})
            assert name not in admin.list_topics()
        more = ACL("User:*", "*", ACLOperation.ALL, ACLPermissionType.ALLOW, ResourcePattern(ResourceType.TOPIC, "*"))
        assert "AuthorizationFailed" in str(admin.create_acls([more])["failed"])


@contextlib.contextmanager
def zookeeper(settings: Settings, login: dict[str, str] | None) -> Iterator[KazooClient]:
    ports = json.loads((settings.conf_folder / "stack.json").read_text())["ports"]
    often = {"max_tries": 5, "delay": 0.1}
    client = KazooClient(
        hosts=f"127.0.0.1:{ports['zookeeper']}",
        timeout=10,
        sasl_options=login,
        connection_retry=often,
        command_retry=often,
    )
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.stop()
            client.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("password", [None, "a guess"])
@pytest.mark.parametrize(
    "act",
    [
        lambda client: client.get_children("/"),
        lambda client: client.create("/planted", b""),
        lambda client: client.delete("/accumulo", recursive=True),
    ],
    ids=["read", "create", "delete"],
)
def test_zookeeper_lets_nobody_in_without_its_password(
    settings: Settings, act: Callable[[KazooClient], object], password: str | None
) -> None:
    login = password and {"mechanism": "DIGEST-MD5", "username": "client", "password": password}
    # A client whose session is closed by the server may also try again until its time is over.
    refusals = (KazooException, KazooTimeoutError, OSError)
    with zookeeper(settings, login or None) as client, pytest.raises(refusals):
        client.start(30)
        act(client)
    with zookeeper(settings, clients_login(settings)) as client:
        client.start(30)
        assert set(client.get_children("/")) == {"accumulo", "zookeeper"}


def clients_login(settings: Settings) -> dict[str, str]:
    credentials = settings.read_zookeeper_credentials()
    assert credentials
    return {"mechanism": "DIGEST-MD5", "username": credentials.user, "password": credentials.password}


def test_the_account_of_clients_changes_nothing_in_zookeeper(settings: Settings) -> None:
    with zookeeper(settings, clients_login(settings)) as client:
        client.start(30)
        (instance,) = (name for name in client.get_children("/accumulo") if name != "instances")
        below = client.get_children(f"/accumulo/{instance}")
        assert {"tservers", "tables", "users"} <= set(below)
        for folder in (
            "/",
            "/accumulo",
            "/accumulo/instances",
            "/zookeeper",
            "/zookeeper/quota",
            *(f"/accumulo/{instance}/{name}" for name in below),
        ):
            with pytest.raises(NoAuthError):
                client.create(f"{folder.rstrip('/')}/planted", b"")
        with pytest.raises(NoAuthError):
            client.get_children(f"/accumulo/{instance}/users/root")
            client.get(f"/accumulo/{instance}/users/root")
        with pytest.raises(NoAuthError):
            client.delete(f"/accumulo/{instance}/tservers", recursive=False)


def secrets_of(settings: Settings) -> dict[str, str]:
    suffixes = (".password", ".secret", ".token", ".key")
    files = [path for path in settings.secret_folder.iterdir() if path.suffix in suffixes]
    return {path.name: path.read_text().strip() for path in files}


def test_no_secret_stands_in_an_argument(settings: Settings) -> None:
    known = secrets_of(settings)
    assert {"root.password", "instance.secret", "kafka.password", "zookeeper-server.password"} <= set(known)
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert any(str(settings.home).encode() in command for command in commands)
    assert [name for name, value in known.items() if any(value.encode() in command for command in commands)] == []


def test_no_secret_stands_in_a_log(settings: Settings) -> None:
    texts = [path.read_bytes() for path in (settings.home / "log").iterdir()]
    assert sum(map(len, texts)) > 0
    assert [name for name, value in secrets_of(settings).items() if any(value.encode() in text for text in texts)] == []


def test_servers_listen_on_the_loopback_address_and_on_known_ports_only(settings: Settings) -> None:
    pid_files = {path.stem: path for path in (settings.home / "run").glob("*.json")}
    found = {
        (connection.laddr.ip, connection.laddr.port): name
        for name, path in pid_files.items()
        for connection in psutil.Process(json.loads(path.read_text())["pid"]).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    known = set(json.loads((settings.conf_folder / "stack.json").read_text())["ports"].values())
    # Another test may have left a second tablet server, which serves its metrics too.
    for name in pid_files.keys() - {"zookeeper", "kafka", "supervisor"}:
        [group] = json.loads((targets_folder(settings) / f"{name}.json").read_text())
        known.add(int(group["targets"][0].rpartition(":")[2]))
    assert {at: name for at, name in found.items() if at[0] != "127.0.0.1" or at[1] not in known} == {}
    assert {port for _, port in found} == known
