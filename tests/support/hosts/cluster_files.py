"""The configuration of the servers of a cluster of hosts, and of its clients, as its operator writes it."""

from __future__ import annotations

import secrets
from pathlib import Path

from cluster_kerberos import INGEST_USER, REALM, ClusterKerberos

from watchfloor.store.runtime.private_files import make_private_folder, write_private
from watchfloor.store.stack.servers.configuration import LOGGING

INSTANCE = "testbed"
ZOOKEEPER, KAFKA, CONTROLLER = 2181, 9092, 9093
SECRETS = ("root", "query", "kafka", "zookeeper-server", "zookeeper-client", "queue", "instance", "kdc")
_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class ClusterFiles:
    """The files below one folder. ``head`` is the address of the host with ZooKeeper, Kafka and the manager."""

    def __init__(self, folder: Path, head: str) -> None:
        self.folder, self._head = folder, head

    def secret(self, name: str) -> Path:
        return self.folder / "secret" / name

    def write(self, volume: str) -> None:
        """Draws the secrets, and writes what servers but those of HDFS read. ``volume`` is Accumulo's."""
        for name in ("secret", "conf", "log", "tmp", "data"):
            make_private_folder(self.folder / name)
        for name in SECRETS:
            write_private(self.secret(name), secrets.token_hex(32))
        conf = self.folder / "conf"
        write_private(conf / "log4j2.properties", LOGGING)
        write_private(conf / "zoo.cfg", _format(self._zookeeper()))
        write_private(conf / "kafka.properties", _format(self._kafka()))
        write_private(conf / "accumulo.properties", _format(self._accumulo(volume)))
        write_private(conf / "login", self._login())
        write_private(conf / "accumulo-client.properties", _format(self._client()))
        accounts = f"--add-scram\nSCRAM-SHA-512=[name=kafka,password={self.secret('kafka').read_text()}]\n"
        write_private(self.secret("kafka-accounts"), accounts)

    def write_client(self, host: str, kerberos: ClusterKerberos) -> Path:
        """Writes the settings of a host that runs parts of Watchfloor, and returns its folder."""
        home = self.folder / "hosts" / host
        make_private_folder(home)
        values: dict[str, object] = {
            "client_properties": self.folder / "conf" / "accumulo-client.properties",
            "zookeeper_user": "client",
            "zookeeper_password": self.secret("zookeeper-client"),
            "kafka": f"{self._head}:{KAFKA}",
            "kafka_user": "kafka",
            "kafka_password": self.secret("kafka"),
            "kafka_protocol": "SASL_PLAINTEXT",
            "ingest_user": INGEST_USER,
            "ingest_password": self.secret("root"),
            "ingest_keytab": kerberos.keytab("ingest"),
            "kerberos_config": kerberos.config,
            "hadoop_conf": self.folder / "conf",
            "query_user": "query",
            "query_password": self.secret("query"),
            "queue_key": self.secret("queue"),
            "item_bytes": 64 << 10,
            "chunk_bytes": 64 << 10,
            "partitions": 4,
        }
        lines = (
            f"{name} = {value if isinstance(value, int) else repr(str(value))}\n" for name, value in values.items()
        )
        write_private(home / "watchfloor.toml", "".join(lines))
        return home

    def _zookeeper(self) -> dict[str, object]:
        return {
            "dataDir": self.folder / "data/zookeeper",
            "clientPort": ZOOKEEPER,
            "clientPortAddress": self._head,
            "tickTime": 1000,
            "maxSessionTimeout": 20_000,
            "maxClientCnxns": 0,
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "srvr",
            "authProvider.sasl": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
            "sessionRequireClientSASLAuth": "true",
        }

    def _login(self) -> str:
        server, client = (self.secret(f"zookeeper-{name}").read_text() for name in ("server", "client"))
        return (
            f'Server {{ {_MODULE} required user_server="{server}" user_client="{client}"; }};\n'
            f'Client {{ {_MODULE} required username="server" password="{server}"; }};\n'
        )

    def _kafka(self) -> dict[str, object]:
        broker, controller = f"CLIENT://{self._head}:{KAFKA}", f"{self._head}:{CONTROLLER}"
        login = f'required username="kafka" password="{self.secret("kafka").read_text()}"'
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"{broker},CONTROLLER://{controller}",
            "advertised.listeners": broker,
            "inter.broker.listener.name": "CLIENT",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
            "listener.name.client.scram-sha-512.sasl.jaas.config": f"{_SCRAM} {login};",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": f"{_PLAIN} {login} user_kafka="
            f'"{self.secret("kafka").read_text()}";',
            "log.dirs": self.folder / "data/kafka",
            "auto.create.topics.enable": "false",
            "group.initial.rebalance.delay.ms": 0,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
        }

    def _accumulo(self, volume: str) -> dict[str, object]:
        return {
            "instance.volumes": volume,
            "general.kerberos.principal": f"accumulo/_HOST@{REALM}",
            "general.kerberos.keytab": self.secret("accumulo.keytab"),
            "instance.zookeeper.host": f"{self._head}:{ZOOKEEPER}",
            "instance.zookeeper.timeout": "8s",
            "instance.secret": self.secret("instance").read_text(),
            "manager.lease.recovery.interval": "1s",
            "manager.recovery.delay": "500ms",
            "manager.recovery.wal.cache.time": "500ms",
            "manager.tablet.watcher.interval": "5s",
            "general.rpc.timeout": "20s",
            "tserver.memory.maps.native.enabled": "false",
            "tserver.memory.maps.max": "48M",
            "tserver.wal.max.size": "64M",
            "tserver.cache.data.size": "32M",
            "tserver.cache.index.size": "16M",
            "tserver.wal.sort.buffer.size": "32M",
            "tserver.session.idle.max": "2s",
            "tserver.scan.executors.default.prioritizer": "watchfloor.stack.ShortScansFirst",
            "table.durability": "flush",
        }

    def _client(self) -> dict[str, object]:
        return {
            "instance.name": INSTANCE,
            "instance.zookeepers": f"{self._head}:{ZOOKEEPER}",
            "instance.zookeepers.timeout": "8s",
        }


def _format(properties: dict[str, object]) -> str:
    return "".join(f"{name}={value}\n" for name, value in properties.items())
