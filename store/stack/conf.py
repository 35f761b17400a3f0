"""The local stack's files under ``home``: what is remembered between starts, passwords, and servers' configuration.

conf/    stack.json (ports, what was set up), and a file per server, written anew at each ``up``
secret/  root.password, query.password, instance.secret: made once, mode 0600
data/    zookeeper, accumulo, kafka      log/  a log per server      run/  a pid file per server
tmp/     what Java leaves in its temporary folder; emptied by `down`
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.parse_setting import parse_size
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.core_site import CORE_SITE

from .checks import find_free_ports

LOOPBACK = "127.0.0.1"
INSTANCE = "watchfloor"
_FIXED = ("zookeeper", "manager", "gc", "kafka", "kafka_controller")


@dataclass(frozen=True)
class StackState:
    """``conf/stack.json``. ``initialised``: Accumulo's instance exists; ``prepared``: the query user does too."""

    ports: dict[str, int] = field(default_factory=dict)
    tservers: int = 1
    kafka_id: str = ""
    formatted: bool = False
    initialised: bool = False
    prepared: bool = False


def load_state(settings: Settings) -> StackState | None:
    """The stack that was made in this home, None if there is none. StackError when its file is damaged."""
    path = settings.conf_folder / "stack.json"
    try:
        return StackState(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise StackError(f"{path} is damaged ({error}): restore it, or remove {settings.home} to begin anew") from error


def save_state(settings: Settings, state: StackState) -> StackState:
    """Writes ``state`` in one step, so that a reader never sees half of it."""
    write_file(settings.conf_folder / "stack.json", json.dumps(dataclasses.asdict(state), indent=1) + "\n")
    return state


def grow_state(state: StackState | None, tservers: int) -> StackState:
    """``state`` with a port for each server and ``tservers`` tablet servers; known ports stay as they are."""
    state = state or StackState(kafka_id=str(uuid.uuid4()))
    missing = [name for name in (*_FIXED, *tserver_names(tservers)) if name not in state.ports]
    ports = dict(zip(missing, find_free_ports(len(missing), taken=set(state.ports.values())), strict=True))
    return dataclasses.replace(state, ports=state.ports | ports, tservers=tservers)


def tserver_names(count: int) -> list[str]:
    """``tserver1`` … of ``count`` tablet servers."""
    return [f"tserver{n}" for n in range(1, count + 1)]


def write_file(path: Path, text: str, mode: int = 0o644) -> None:
    """Replaces a file in one step; never readable by more than ``mode``, not even for a moment."""
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
    temporary.replace(path)


def make_folders(settings: Settings) -> None:
    """All folders of a stack. StackError when one cannot be made or written."""
    try:
        for name in ("conf", "data", "log", "run", "secret", "tmp"):
            folder = settings.home / name
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / ".writable"
            probe.touch()
            probe.unlink()
        settings.secret_folder.chmod(0o700)
    except OSError as error:
        raise StackError(
            f"the stack's folder {settings.home} cannot be written: {error}; choose another --home"
        ) from error


def make_secrets(settings: Settings) -> None:
    """Random passwords and instance secret, each made once."""
    for name in ("root.password", "query.password", "instance.secret"):
        path = settings.secret_folder / name
        if not path.exists():
            write_file(path, secrets.token_urlsafe(24) + "\n", mode=0o600)


def write_configuration(settings: Settings, state: StackState, native: Path | None) -> None:
    """Every server's configuration. ``native``: the folder of the native map library, None for the Java map."""
    conf, data, ports = settings.conf_folder, settings.home / "data", state.ports
    zookeepers = f"{LOOPBACK}:{ports['zookeeper']}"
    timeout = settings.zookeeper_timeout
    secret = (settings.secret_folder / "instance.secret").read_text().strip()
    write_file(conf / "zoo.cfg", _format_properties(_zookeeper_properties(data, ports["zookeeper"], timeout)))
    accumulo = _accumulo_properties(settings, zookeepers, secret, native is not None)
    write_file(conf / "accumulo.properties", _format_properties(accumulo), mode=0o600)
    client: dict[str, object] = {
        "instance.name": INSTANCE,
        "instance.zookeepers": zookeepers,
        "instance.zookeepers.timeout": f"{timeout}s",
    }
    write_file(conf / "accumulo-client.properties", _format_properties(client))
    write_file(conf / "kafka.properties", _format_properties(_kafka_properties(settings, data, ports)))
    write_file(conf / "core-site.xml", CORE_SITE)
    write_file(conf / "log4j2.properties", LOGGING)


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
        "4lw.commands.whitelist": "srvr",
        "autopurge.snapRetainCount": 3,
        "autopurge.purgeInterval": 1,
    }


def _accumulo_properties(settings: Settings, zookeepers: str, secret: str, native: bool) -> dict[str, object]:
    heap, maps, cores = parse_size(settings.tserver_heap), parse_size(settings.tserver_maps), os.cpu_count() or 1
    # The Java map lives in the heap, beside the caches: it gets a quarter of it.
    maps = maps if native else min(maps, heap // 4)
    return {
        "instance.volumes": f"file://{settings.home}/data/accumulo",
        "instance.zookeeper.host": zookeepers,
        "instance.zookeeper.timeout": f"{settings.zookeeper_timeout}s",
        "instance.secret": secret,
        # A killed server's log can be read at once: it is a local file, there is no lease to wait for.
        "manager.recovery.delay": "500ms",
        # And that the log is sorted is seen when it is, not when a cached "not yet" has grown old (15 s).
        "manager.recovery.wal.cache.time": "500ms",
        "manager.tablet.watcher.interval": "5s",
        "tserver.memory.maps.native.enabled": str(native).lower(),
        "tserver.memory.maps.max": maps,
        # The rule: logs.threshold (3) * wal.max.size >= maps.max, or logs force flushes before memory does.
        "tserver.wal.max.size": max(maps // 2, 64 << 20),
        "tserver.cache.data.size": heap * 2 // 9,
        "tserver.cache.index.size": heap // 9,
        "tserver.wal.sort.buffer.size": min(maps, heap // 6),
        # Few threads and short scans first: a long filter scan then cannot starve look-ups of an analyst.
        "tserver.scan.executors.default.threads": max(4, 2 * cores),
        "tserver.scan.executors.default.prioritizer": "watchfloor.stack.ShortScansFirst",
        # A scan closed while the server reads ahead for it lets go of its files when sessions are next looked through,
        # which is after half of this; a reader that pauses longer has its scan begun anew where it stands.
        "tserver.session.idle.max": "2s",
        "table.durability": settings.durability,
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
        "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{broker}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": data / "kafka",
        "num.partitions": settings.partitions,
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 2,
        # A broker that was killed is let in again after this time only.
        "broker.session.timeout.ms": 3000,
        "broker.heartbeat.interval.ms": 500,
        "log.cleaner.dedupe.buffer.size": 16 << 20,
        **one,
    }


# Logs roll over at 20 MB and two old ones are kept; what a JVM prints before logging works goes to NAME.out.
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
"""
