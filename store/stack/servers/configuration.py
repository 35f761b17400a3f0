"""The configuration of the local stack's servers and of their clients, written anew at each start."""

from __future__ import annotations

from pathlib import Path

from watchfloor.schema.settings.parse_setting import parse_size
from watchfloor.schema.settings.settings import LOCAL_KAFKA_AUTHORITY, Settings
from watchfloor.store.runtime.core_site import format_core_site
from watchfloor.store.runtime.metrics_port import targets_folder
from watchfloor.store.runtime.private_files import write_private
from watchfloor.store.stack.accounts.kafka_accounts import account_properties
from watchfloor.store.stack.accounts.zookeeper_login import format_login_file, login_file
from watchfloor.store.stack.hdfs.hdfs_site import VOLUME, common_properties, hdfs_uri, select_core
from watchfloor.store.stack.hdfs.write_hdfs import write_hdfs_files
from watchfloor.store.stack.home.checks import LOOPBACK
from watchfloor.store.stack.home.server_sizes import apply_sizes, choose_caches, count_cores
from watchfloor.store.stack.home.stack_state import StackState
from watchfloor.store.stack.security.certificates import authority_file
from watchfloor.store.stack.security.properties import (
    accumulo_security,
    client_security,
    kafka_security,
    login_properties,
)

INSTANCE = "watchfloor"


def write_configuration(settings: Settings, state: StackState, native: Path | None) -> None:
    """Writes the configuration of every server and of clients.

    ``native`` is the folder of the native map's library. If it is None, the tablet servers use the Java map.
    """
    settings = apply_sizes(settings, state.sizes)
    conf, data, ports = settings.conf_folder, settings.home / "data", state.ports
    zookeepers = f"{LOOPBACK}:{ports['zookeeper']}"
    timeout = settings.zookeeper_timeout
    secret = (settings.secret_folder / "instance.secret").read_text().strip()
    write_private(conf / "zoo.cfg", _format_properties(_zookeeper_properties(data, ports["zookeeper"], timeout)))
    accumulo = _accumulo_properties(settings, zookeepers, secret, native is not None)
    accumulo |= accumulo_security(settings, state.flavour) | login_properties(settings, state.flavour)
    if state.flavour.has_hdfs:
        accumulo |= {"instance.volumes": hdfs_uri(state) + VOLUME, "manager.lease.recovery.interval": "1s"}
        # HDFS fences a log itself, by its lease.
        del accumulo["manager.wal.closer.implementation"]
    write_private(conf / "accumulo.properties", _format_properties(accumulo))
    client: dict[str, object] = {
        "instance.name": INSTANCE,
        "instance.zookeepers": zookeepers,
        "instance.zookeepers.timeout": f"{timeout}s",
        **client_security(settings, state.flavour),
    }
    write_private(conf / "accumulo-client.properties", _format_properties(client))
    kafka = _kafka_properties(settings, data, ports) | kafka_security(settings, state.flavour)
    write_private(conf / "kafka.properties", _format_properties(kafka))
    _write_kafka_authority(settings, state)
    write_private(login_file(settings), format_login_file(settings))
    write_private(
        conf / "core-site.xml", format_core_site(state.flavour.has_kdc, select_core(common_properties(settings, state)))
    )
    write_hdfs_files(settings, state)
    write_private(conf / "log4j2.properties", LOGGING)


def _write_kafka_authority(settings: Settings, state: StackState) -> None:
    """Leaves the certificate by which clients check Kafka where they look for it; none if Kafka has no TLS."""
    path = settings.conf_folder / LOCAL_KAFKA_AUTHORITY
    if state.flavour.is_secured:
        write_private(path, authority_file(settings).read_bytes())
    else:
        path.unlink(missing_ok=True)


def _format_properties(properties: dict[str, object]) -> str:
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def _zookeeper_properties(data: Path, port: int, timeout: int) -> dict[str, object]:
    return {
        "dataDir": data / "zookeeper",
        "clientPort": port,
        "clientPortAddress": LOOPBACK,
        "tickTime": 1000,
        "maxSessionTimeout": max(timeout, 20) * 1000,
        "maxClientCnxns": 0,
        "admin.enableServer": "false",
        # All that is answered without authentication: whether the server runs.
        "4lw.commands.whitelist": "srvr",
        "authProvider.sasl": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
        "sessionRequireClientSASLAuth": "true",
        "autopurge.snapRetainCount": 3,
        "autopurge.purgeInterval": 1,
    }


def _accumulo_properties(settings: Settings, zookeepers: str, secret: str, native: bool) -> dict[str, object]:
    heap, maps = parse_size(settings.tserver_heap), parse_size(settings.tserver_maps)
    data_cache, index_cache = choose_caches(heap)
    # The Java map is in the heap beside the caches, so it gets a quarter of the heap.
    maps = maps if native else min(maps, heap // 4)
    return {
        "instance.volumes": f"file://{settings.home}/data/accumulo",
        "instance.zookeeper.host": zookeepers,
        "instance.zookeeper.timeout": f"{settings.zookeeper_timeout}s",
        "instance.secret": secret,
        # A server that was stopped for so long that its log is recovered could otherwise acknowledge further writes.
        "manager.wal.closer.implementation": "watchfloor.stack.files.LocalLogCloser",
        # The log of a killed server can be read at once, because it is a local file without a lease.
        "manager.recovery.delay": "500ms",
        # By default the answer that a log is not sorted yet is cached for 15 s.
        "manager.recovery.wal.cache.time": "500ms",
        "manager.tablet.watcher.interval": "5s",
        # A flush that waits for a dead server's metadata holds the connection on which the manager then asks the server
        # to take that metadata over; both wait until a request between servers times out, by default after 120 s.
        "general.rpc.timeout": "20s",
        "tserver.memory.maps.native.enabled": str(native).lower(),
        "tserver.memory.maps.max": maps,
        # The rule: logs.threshold (3) * wal.max.size >= maps.max, or logs force flushes before memory does.
        "tserver.wal.max.size": max(maps // 2, 64 << 20),
        "tserver.cache.data.size": data_cache,
        "tserver.cache.index.size": index_cache,
        "tserver.wal.sort.buffer.size": min(maps, heap // 6),
        # Few threads and short scans first: a long filter scan then cannot starve look-ups of an analyst.
        "tserver.scan.executors.default.threads": max(4, 2 * count_cores()),
        "tserver.scan.executors.default.prioritizer": "watchfloor.stack.ShortScansFirst",
        # A scan that is closed while the server reads ahead releases its files at the next check of sessions, which is
        # after half of this time. If a reader pauses longer, its scan is begun again at the place that it has reached.
        "tserver.session.idle.max": "2s",
        "table.durability": settings.durability,
        **(_metrics_properties(settings) if settings.has_metrics else {}),
    }


def _metrics_properties(settings: Settings) -> dict[str, object]:
    """Returns the properties by which each server of Accumulo serves its metrics."""
    return {
        "general.micrometer.enabled": "true",
        "general.micrometer.jvm.metrics.enabled": "true",
        "general.micrometer.factory": "watchfloor.stack.PrometheusMetrics",
        "general.custom.metrics.opts.targets": targets_folder(settings),
    }


def _kafka_properties(settings: Settings, data: Path, ports: dict[str, int]) -> dict[str, object]:
    broker, controller = f"{LOOPBACK}:{ports['kafka']}", f"{LOOPBACK}:{ports['kafka_controller']}"
    one = dict.fromkeys(
        (
            "offsets.topic.replication.factor",
            "transaction.state.log.replication.factor",
            "transaction.state.log.min.isr",
            "share.coordinator.state.topic.replication.factor",
            "share.coordinator.state.topic.min.isr",
            "transaction.state.log.num.partitions",
            "offsets.topic.num.partitions",
        ),
        1,
    )
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"CLIENT://{broker},CONTROLLER://{controller}",
        "advertised.listeners": f"CLIENT://{broker}",
        "inter.broker.listener.name": "CLIENT",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "log.dirs": data / "kafka",
        "num.partitions": settings.partitions,
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 2,
        # A broker that was killed can register again only after this time.
        "broker.session.timeout.ms": 3000,
        "broker.heartbeat.interval.ms": 500,
        "log.cleaner.dedupe.buffer.size": 16 << 20,
        # How many records may wait for the disk when they are acknowledged. Kafka otherwise leaves it to the system.
        **({"log.flush.interval.messages": 1} if settings.durability == "sync" else {}),
        **account_properties(settings),
        **one,
    }


# Logs roll over at 20 MB and two old ones are kept; a JVM's output before logging works goes to NAME.out. Accumulo's
# audit writes two lines for each scan, with its ranges and so with values of filters: only what fails is written.
LOGGING = """status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ${sys:watchfloor.log}
appender.file.filePattern = ${sys:watchfloor.log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{ISO8601} %-5p [%c{2}] %m%n
appender.file.policies.type = SizeBasedTriggeringPolicy
appender.file.policies.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
logger.zookeeper.name = org.apache.zookeeper
logger.zookeeper.level = warn
logger.kafka.name = org.apache.kafka
logger.kafka.level = warn
logger.broker.name = kafka
logger.broker.level = warn
logger.audit.name = org.apache.accumulo.audit
logger.audit.level = warn
"""
