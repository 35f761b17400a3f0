"""The servers of a local stack and the command line of each."""

from __future__ import annotations

import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from watchfloor.schema.settings.parse_setting import parse_size
from watchfloor.schema.settings.settings import Role, Settings
from watchfloor.store.runtime.jars import ZSTD_OPTION, find_native_library, server_class_path
from watchfloor.store.runtime.java_home import find_java
from watchfloor.store.stack.accounts.zookeeper_login import login_file, login_option
from watchfloor.store.stack.home.flavour import Flavour
from watchfloor.store.stack.home.server_sizes import apply_sizes
from watchfloor.store.stack.home.stack_state import StackState, load_state, tserver_names
from watchfloor.store.stack.security.kerberos import hdfs_keytab, hdfs_principal, kdc_command, kerberos_option

from .hdfs_servers import make_hdfs_servers
from .process import Server, ask_port, is_listening
from .standing_workers import make_standing_workers

# Kafka's ApiVersions request, version 0, correlation 1, no client: the first request that a broker answers.
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
# One collector thread and quickly compiled code: small servers start faster and do not compete for two cores.
_SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1")
# The thread that receives a request also answers it. With a handful of clients, handing each request to another thread
# costs a third of ZooKeeper's processor time.
_ONE_READER = ("-Dzookeeper.nio.numSelectorThreads=1", "-Dzookeeper.nio.numWorkerThreads=0")
_KDC_BYTES = 16 << 20
_COMMON = (
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    "-Djava.net.preferIPv4Stack=true",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dzookeeper.admin.enableServer=false",
)


@dataclass(frozen=True)
class StackServers:
    """All servers of a stack."""

    zookeeper: Server
    kafka: Server
    manager: Server
    gc: Server
    tservers: tuple[Server, ...]
    kdc: Server | None = None
    hdfs: tuple[Server, ...] = ()
    """The NameNode and the DataNodes."""
    workers: tuple[Server, ...] = ()

    @property
    def accumulo(self) -> tuple[Server, ...]:
        """The servers of Accumulo, in the order in which they are started."""
        return (self.manager, *self.tservers, self.gc)

    @property
    def all(self) -> tuple[Server, ...]:
        first = () if self.kdc is None else (self.kdc,)
        return (*first, self.zookeeper, *self.hdfs, *self.accumulo, self.kafka, *self.workers)


def make_servers(settings: Settings, state: StackState) -> StackServers:
    """Returns the servers that ``state`` names, ready to be started. Raises StackError if Java or jars are missing."""
    workers = make_standing_workers(settings, state.workers)
    settings = apply_sizes(settings, state.sizes)
    flavour, conf = state.flavour, settings.conf_folder
    java = _java_command(settings)
    native, login = find_native_library(settings), login_option(settings)

    def list_ports(name: str) -> dict[str, int]:
        return {part: port for part, port in state.ports.items() if part == name or part.startswith(name + "_")}

    def make_server(name: str, heap: str, is_ready: Callable[[int], bool], *command: str, extra: int = 0) -> Server:
        log = f"-Dwatchfloor.log={settings.home / 'log' / (name + '.log')}"
        return Server(
            name=name,
            command=(*java, f"-Xmx{heap}", log, f"-Dwatchfloor.server={name}", *command),
            home=settings.home,
            ports=list_ports(name),
            is_ready=is_ready,
            memory=parse_size(heap) + extra,
        )

    def make_accumulo_server(
        name: str, kind: str, heap: str, flags: tuple[str, ...], port: str, extra: int = 0
    ) -> Server:
        main = (*_accumulo_flags(settings, flavour), "org.apache.accumulo.start.Main", kind)
        return make_server(
            name, heap, is_listening, login, *flags, *main, "-a", flavour.host,
            "-o", f"{port}={state.ports[name]}", extra=extra,
        )  # fmt: skip

    maps = (f"-Daccumulo.native.lib.path={native}",) if native else ()
    tserver_flags = ("-XX:+UseG1GC", f"-Xms{settings.tserver_heap}", *maps)
    return StackServers(
        zookeeper=make_server(
            "zookeeper", settings.zookeeper_heap, _is_zookeeper_ready, login, *_SMALL, *_ONE_READER,
            "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(conf / "zoo.cfg"),
        ),
        kafka=make_server(
            "kafka", settings.kafka_heap, partial(_is_kafka_ready, settings), *_SMALL,
            "kafka.Kafka", str(conf / "kafka.properties"),
        ),
        manager=make_accumulo_server("manager", "manager", settings.manager_heap, _SMALL, "manager.port.client"),
        gc=make_accumulo_server("gc", "gc", settings.gc_heap, _SMALL, "gc.port.client"),
        tservers=tuple(
            make_accumulo_server(
                name, "tserver", settings.tserver_heap, tserver_flags, "tserver.port.client",
                extra=parse_size(settings.tserver_maps) if native else 0,
            )
            for name in tserver_names(state.tservers)
        ),
        kdc=Server("kdc", kdc_command(settings), settings.home, list_ports("kdc"), is_listening, _KDC_BYTES)
        if flavour.has_kdc
        else None,
        hdfs=make_hdfs_servers(settings, state),
        workers=workers,
    )  # fmt: skip


def admin_command(settings: Settings, *arguments: str | Path) -> list[str]:
    """Returns the command line of one administrative task (``watchfloor.stack.AdminCommand``)."""
    flags = ["-Xmx96m", *_SMALL, f"-Dwatchfloor.log={settings.home / 'log' / 'admin.log'}"]
    flavour = _read_flavour(settings)
    login = _zookeeper_login(settings)
    return [
        *_java_command(settings),
        *flags,
        *login,
        *_accumulo_flags(settings, flavour),
        "watchfloor.stack.AdminCommand",
        *map(str, arguments),
    ]


def _zookeeper_login(settings: Settings) -> list[str]:
    """Returns the JVM options with which an administrative task logs in at ZooKeeper; none if it asks for no login."""
    if settings.is_accumulo_local:
        # A stack of an older version has no accounts until it is started again.
        return [login_option(settings)] if login_file(settings).exists() else []
    if settings.read_zookeeper_credentials() is None:
        return []
    names = {"user": settings.zookeeper_user, "password.file": settings.zookeeper_password}
    return [f"-Dwatchfloor.zookeeper.{name}={value}" for name, value in names.items()]


def hdfs_command(settings: Settings, *arguments: str | int) -> list[str]:
    """Returns the command line of one administrative task of HDFS (``watchfloor.stack.hdfs.HdfsCommand``)."""
    flags = ["-Xmx96m", *_SMALL, f"-Dwatchfloor.log={settings.home / 'log' / 'hdfs-admin.log'}"]
    login = (hdfs_principal(), hdfs_keytab(settings))
    main = ("watchfloor.stack.hdfs.HdfsCommand", *login, *arguments)
    return [*_java_command(settings), *flags, kerberos_option(settings), *map(str, main)]


def user_with_file(settings: Settings, role: Role) -> tuple[str, str]:
    """Returns a role's user and the file with its password or key, as ``AdminCommand`` takes them."""
    state = load_state(settings) if settings.is_accumulo_local else None
    if state.flavour.has_sasl if state else settings.has_kerberos:
        return settings.find_principal(role), str(settings.keytab_file(role) or "-")
    user = settings.ingest_user if role == "ingest" else settings.query_user
    return user, str(settings.password_file(role))


def kafka_format_command(settings: Settings, kafka_id: str, accounts: str) -> list[str]:
    """Returns the command that makes Kafka's empty data folder. ``accounts`` names a file with further arguments."""
    flags = ["-Xmx128m", *_SMALL, f"-Dwatchfloor.log={settings.home / 'log' / 'kafka-format.log'}"]
    tool = ["kafka.tools.StorageTool", "format", "-t", kafka_id, "-c", str(settings.conf_folder / "kafka.properties")]
    return [*_java_command(settings), *flags, *tool, "--ignore-formatted", accounts]


def _read_flavour(settings: Settings) -> Flavour:
    """Returns the flavour of the stack in ``settings.home``; the plain one if there is none."""
    state = load_state(settings)
    return state.flavour if state else Flavour()


def _accumulo_flags(settings: Settings, flavour: Flavour) -> tuple[str, ...]:
    """Returns the system properties of every process of Accumulo."""
    kerberos = (kerberos_option(settings),) if flavour.has_kdc else ()
    properties = f"-Daccumulo.properties=file://{settings.conf_folder}/accumulo.properties"
    # Read by LocalFiles, by way of core-site.xml.
    return properties, f"-Dwatchfloor.durability={settings.durability}", ZSTD_OPTION, *kerberos


def _java_command(settings: Settings) -> list[str]:
    """Returns the beginning of every Java command line: the common options and the class path."""
    java = find_java()
    logging = f"-Dlog4j2.configurationFile={settings.conf_folder / 'log4j2.properties'}"
    # Accumulo leaves a folder in the temporary folder at each start; this one is emptied when the stack stops.
    temporary = f"-Djava.io.tmpdir={settings.home / 'tmp'}"
    return [str(java / "bin" / "java"), *_COMMON, temporary, logging, *server_class_path(settings, java)]


def _is_zookeeper_ready(port: int) -> bool:
    return b"Mode: standalone" in ask_port(port, b"srvr", least=100_000)


def _is_kafka_ready(settings: Settings, port: int) -> bool:
    certificates = settings.kafka_certificates
    tls = None if certificates is None else ssl.create_default_context(cafile=str(certificates))
    return len(ask_port(port, _API_VERSIONS, least=8, tls=tls)) >= 8
