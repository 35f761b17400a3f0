"""All settings of a process as one value, which ``load_settings`` (``load.py``) makes.

The manual is made from the descriptions that stand beside the fields.
"""

# ruff: noqa: RUF009 - each default is a call of `_setting`, which makes a dataclass field
from __future__ import annotations

import dataclasses
import json
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from watchfloor.schema.errors import SettingsError
from watchfloor.schema.files.paths import describe_error, show_path

from .credentials import Credentials, KerberosCredentials, StoreCredentials
from .parse_setting import SettingType

Role = Literal["ingest", "query"]
"""The purpose for which a process connects to the store; each role has its own user."""
KAFKA_USER = "watchfloor"
"""The local Kafka's account of ingest."""
LOCAL_KAFKA_AUTHORITY = "kafka-authority.pem"
"""The file in the folder of configuration by which clients check the local Kafka; it exists if that speaks TLS."""
ZOOKEEPER_CLIENT = "client"
"""The local ZooKeeper's account of the store's clients."""
REALM = "WATCHFLOOR.LOCAL"
"""The realm of the KDC of a local stack."""
MIB = 1 << 20
_SASL = re.compile(r"^\s*sasl\.enabled\s*[=:]\s*true\s*$", re.MULTILINE | re.IGNORECASE)
_RUN_UP = "run `watchfloor up`"
QUEUE_KEY_BYTES = 32
"""The fewest bytes of the key of work items: as many as the output of SHA-256 has (RFC 2104, section 3)."""


def _setting(default: Any, kind: SettingType, doc: str, name: str = "", low: int = 1, high: int = 1 << 62) -> Any:
    """Returns a field of ``Settings``. ``name`` is its name in files and variables, if it is not the attribute's.

    ``low`` and ``high`` are the least and the greatest number that is accepted.
    """
    return dataclasses.field(
        default=default, metadata={"doc": doc, "kind": kind, "name": name, "low": low, "high": high}
    )


@dataclass(frozen=True)
class Settings:
    """All settings. Paths are absolute. Sizes are in bytes, except heaps, which are text for the JVM (``256m``)."""

    home: Path = _setting(Path(".watchfloor"), "path", "the stack's folder: data, logs, configuration, secrets")
    jars: Path = _setting(
        Path(__file__).parents[2] / "store/java/target/jars", "path", "the folder of the jars `make setup` builds"
    )
    tservers: int = _setting(1, "int", "tablet servers of a new local stack", high=64)
    small: str = _setting(
        "off", "switch", "whether the servers of a new local stack get as little memory as they can do with: on or off"
    )
    tserver_heap: str = _setting("", "heap", "heap of a tablet server, mostly for caches; by default the machine's")
    tserver_maps: str = _setting(
        "", "heap", "memory of a tablet server for entries not yet in files, beside the heap; by default the machine's"
    )
    manager_heap: str = _setting("", "heap", "heap of the Accumulo manager; by default 256m")
    gc_heap: str = _setting("", "heap", "heap of Accumulo's garbage collector; by default 128m")
    zookeeper_heap: str = _setting("", "heap", "heap of ZooKeeper; by default 128m")
    kafka_heap: str = _setting("", "heap", "heap of the Kafka broker; by default 384m")
    standing_workers: str = _setting(
        "auto",
        "workers",
        "workers that the local stack keeps ready for loads: a number, or auto: one for two cores",
    )
    calibration: str = _setting(
        "on",
        "switch",
        "whether a local stack that is not small measures once, at rest, what reading costs on it",
    )
    durability: str = _setting(
        "flush", "durability", "what is acknowledged survives kill -9 (flush), or a power cut too (sync)"
    )
    zookeeper_timeout: int = _setting(
        8, "int", "seconds until a server that went silent counts as dead", low=4, high=120
    )
    up_seconds: int = _setting(120, "int", "seconds that `up` waits for a server before it gives up", low=5, high=3600)
    down_seconds: int = _setting(60, "int", "seconds that `down` waits for tablets to be written out", low=1, high=3600)
    disk_reserve: int = _setting(
        1024 * MIB,
        "bytes",
        "bytes to leave free on the disk of `home`: below, workers pause until there is room again",
        low=64 * MIB,
    )
    cluster_properties: Path | None = _setting(
        None,
        "path",
        "accumulo-client.properties of an existing cluster; by default the local stack's",
        "client_properties",
    )
    zookeeper_user: str = _setting(
        "", "user", "account at an existing cluster's ZooKeeper (DIGEST-MD5); by default none"
    )
    zookeeper_password: Path | None = _setting(None, "path", "file (mode 0600) with the password of `zookeeper_user`")
    kafka_bootstrap: str = _setting(
        "", "host", "host:port[,…] of an existing Kafka; by default the local stack's", "kafka"
    )
    kafka_user: str = _setting("", "user", "account at an existing Kafka (SCRAM-SHA-512); by default none")
    kafka_password: Path | None = _setting(None, "path", "file (mode 0600) with the password of `kafka_user`")
    kafka_protocol: str = _setting(
        "SASL_SSL", "protocol", "how to reach an existing Kafka with `kafka_user`: SASL_SSL or SASL_PLAINTEXT"
    )
    kafka_authority: Path | None = _setting(
        None, "path", "file with the certificates that an existing Kafka is checked by (PEM); by default the system's"
    )
    ingest_user: str = _setting("root", "user", "Accumulo user that makes tables and writes")
    ingest_password: Path | None = _setting(None, "path", "file (mode 0600) with the ingest user's password")
    ingest_keytab: Path | None = _setting(
        None, "path", "file (mode 0600) with the ingest user's key, where Accumulo uses Kerberos; by default its ticket"
    )
    query_user: str = _setting("watchfloor_query", "user", "Accumulo user that reads for analysts")
    query_password: Path | None = _setting(None, "path", "file (mode 0600) with the query user's password")
    query_keytab: Path | None = _setting(
        None, "path", "file (mode 0600) with the query user's key, where Accumulo uses Kerberos; by default its ticket"
    )
    kerberos_config: Path | None = _setting(None, "path", "krb5.conf of the realm; by default the system's")
    hadoop_conf: Path | None = _setting(
        None, "path", "folder with core-site.xml and hdfs-site.xml of an existing cluster; by default none is read"
    )
    queue_key: Path | None = _setting(
        None, "path", "file (mode 0600) with the key that signs work items; by default the local stack's"
    )
    jvm_heap: str = _setting("256m", "heap", "heap of the JVM inside a worker, master or query process")
    sink_memory_mb: int = _setting(50, "int", "MiB of entries that a BatchWriter holds before writers wait", high=4096)
    sink_threads: int = _setting(3, "int", "threads of a BatchWriter that send to tablet servers", high=64)
    sink_latency_ms: int = _setting(200, "int", "milliseconds after which a BatchWriter sends what it holds")
    ingest_mode: str = _setting(
        "live", "mode", "how workers write: live, by BatchWriters; or bulk, by sorted files, for backfills"
    )
    shards: int = _setting(4, "int", "shards of a new source; half the number of workers at least", high=9999)
    erasure_coding: str = _setting(
        "", "topic", "policy of HDFS, such as RS-6-3-1024k, for the files of a new source; by default replicas"
    )
    partitions: int = _setting(
        16, "int", "partitions of the topic of work items: the most workers that share it", high=4096
    )
    topic: str = _setting("watchfloor.items", "topic", "Kafka topic of work items")
    group: str = _setting("watchfloor", "topic", "Kafka consumer group of the workers")
    item_bytes: int = _setting(
        64 * MIB, "bytes", "bytes of a log file that make one work item; four times as many in long files", low=1024
    )
    max_line_bytes: int = _setting(MIB, "bytes", "longest line that is parsed; longer ones go to quarantine", low=256)
    chunk_bytes: int = _setting(4 * MIB, "bytes", "bytes of a file that are read and parsed at once", low=1024)
    batch_events: int = _setting(8192, "int", "events in a batch of results", high=1_000_000)
    deadline_seconds: int = _setting(
        3600,
        "int",
        "seconds after which the REST service ends a query with what it has found; 0: never",
        low=0,
        high=604_800,
    )
    watch_seconds: int = _setting(
        86_400, "int", "seconds after which the REST service ends a watch; 0: never", low=0, high=604_800
    )
    max_answer_rows: int = _setting(100_000_000, "int", "rows with which the REST service ends a stream")
    max_answer_mb: int = _setting(65_536, "int", "MiB with which the REST service ends a stream", high=1 << 30)
    max_queries: int = _setting(8, "int", "requests of the REST service that read from the store at once", high=256)
    max_queries_per_token: int = _setting(4, "int", "of these requests, the most of one token", high=256)
    query_wait_seconds: int = _setting(
        10, "int", "seconds that a REST request waits for its turn before it is refused", low=0, high=600
    )
    max_jobs: int = _setting(64, "int", "jobs that the REST service keeps", high=4096)
    max_jobs_per_token: int = _setting(16, "int", "of these jobs, the most of one token", high=4096)
    job_memory_mb: int = _setting(
        256, "int", "MiB of rows that all jobs may keep; those of one token a quarter of it", high=65_536
    )
    job_keep_seconds: int = _setting(
        600, "int", "seconds that a job is kept after its owner has asked for it, if the owner names none", high=86_400
    )
    stalled_reader_seconds: int = _setting(
        20, "int", "seconds after which the REST service cuts off a client that does not read its answer", high=3600
    )
    metrics: str = _setting(
        "off",
        "switch",
        "whether workers, masters and Accumulo's servers serve metrics on the loopback address: on or off",
    )
    host: str = _setting("127.0.0.1", "host", "address that the REST service listens on")
    port: int = _setting(8742, "int", "port that the REST service listens on; 0 picks a free one", low=0, high=65535)

    tls_certificate: Path | None = _setting(
        None, "path", "file with the certificate, and its chain, by which the REST service speaks HTTPS (PEM)"
    )
    tls_key: Path | None = _setting(None, "path", "file (mode 0600) with the key of `tls_certificate` (PEM)")

    def __post_init__(self) -> None:
        paths = (
            "home",
            "jars",
            "cluster_properties",
            "ingest_password",
            "query_password",
            "zookeeper_password",
            "kafka_password",
            "kafka_authority",
            "ingest_keytab",
            "query_keytab",
            "kerberos_config",
            "hadoop_conf",
            "queue_key",
            "tls_certificate",
            "tls_key",
        )
        for path in paths:
            value = getattr(self, path)
            if value is not None:
                object.__setattr__(self, path, Path(value).expanduser().absolute())

    @property
    def has_metrics(self) -> bool:
        """True if ``metrics`` is on."""
        return self.metrics == "on"

    @property
    def conf_folder(self) -> Path:
        """The folder of the local stack's configuration files."""
        return self.home / "conf"

    @property
    def secret_folder(self) -> Path:
        """The folder of the local stack's passwords, mode 0700."""
        return self.home / "secret"

    @property
    def client_properties(self) -> Path:
        """The file of client properties to connect with: a cluster's, or the local stack's, which ``up`` writes."""
        return self.cluster_properties or self.conf_folder / "accumulo-client.properties"

    @property
    def is_accumulo_local(self) -> bool:
        """True if Accumulo is the local stack's, not a cluster that somebody else runs."""
        return self.cluster_properties is None

    @property
    def is_kafka_local(self) -> bool:
        """True if Kafka is the local stack's."""
        return not self.kafka_bootstrap

    @property
    def bootstrap_servers(self) -> str:
        """Kafka's bootstrap servers. Raises ``SettingsError`` if none is set and no stack was ever started."""
        if self.kafka_bootstrap:
            return self.kafka_bootstrap
        try:
            ports = json.loads((self.conf_folder / "stack.json").read_text())["ports"]
            return f"127.0.0.1:{int(ports['kafka'])}"
        except FileNotFoundError:
            raise SettingsError(
                f"no stack in {show_path(self.home)} yet: run `watchfloor up`, or set `kafka`"
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SettingsError(
                f"{show_path(self.conf_folder / 'stack.json')} is damaged ({describe_error(error)})"
            ) from error

    @property
    def kafka_certificates(self) -> Path | None:
        """The certificates by which Kafka is checked; None for the system's, or if the local stack's has no TLS."""
        local = self.conf_folder / LOCAL_KAFKA_AUTHORITY
        return (local if local.exists() else None) if self.is_kafka_local else self.kafka_authority

    def password_file(self, role: Role) -> Path:
        """Returns the file with the password of ``role``'s user."""
        given = self.ingest_password if role == "ingest" else self.query_password
        return given or self.secret_folder / ("root.password" if role == "ingest" else "query.password")

    @property
    def has_kerberos(self) -> bool:
        """True if Accumulo's users are principals of Kerberos: the client properties say so."""
        try:
            text = self.client_properties.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return False
        return _SASL.search(text) is not None

    def find_principal(self, role: Role) -> str:
        """Returns the principal of ``role``'s user; in the local stack's realm if the name has none."""
        user = self.ingest_user if role == "ingest" else self.query_user
        return f"{user}@{REALM}" if self.is_accumulo_local and "@" not in user else user

    def keytab_file(self, role: Role) -> Path | None:
        """Returns the file with the key of ``role``'s principal; None if a ticket in the user's cache proves it."""
        given = self.ingest_keytab if role == "ingest" else self.query_keytab
        return given or (self.secret_folder / f"{role}.keytab" if self.is_accumulo_local else None)

    def read_credentials(self, role: Role) -> StoreCredentials:
        """Returns what ``role`` connects with: its user and password, or its principal and key.

        Raises ``SettingsError`` if the file of the password or key is missing, empty or open to other users, or if a
        principal has no realm.
        """
        hint = _RUN_UP if self.is_accumulo_local else f"set `{role}_password` to a file that holds it"
        if not self.has_kerberos:
            user = self.ingest_user if role == "ingest" else self.query_user
            return _read_password(user, self.password_file(role), hint)
        principal, keytab = self.find_principal(role), self.keytab_file(role)
        if "@" not in principal:
            raise SettingsError(
                f"{principal} is no principal: Accumulo uses Kerberos, so `{role}_user` needs its realm (name@REALM)"
            )
        if keytab is not None:
            _check_secret(keytab, f"key of {principal}", hint.replace("password", "keytab"))
        return KerberosCredentials(principal, keytab, self.kerberos_file)

    @property
    def kerberos_file(self) -> Path | None:
        """The ``krb5.conf`` of clients; None for the system's."""
        return self.kerberos_config or (self.conf_folder / "krb5.conf" if self.is_accumulo_local else None)

    @property
    def has_local_files(self) -> bool:
        """True if Accumulo's files are in the stack's folder."""
        return self.is_accumulo_local and self.hadoop_folder is None

    @property
    def hadoop_folder(self) -> Path | None:
        """The folder of Hadoop's configuration for clients; None if the store's files are local, or it is not set."""
        if not self.is_accumulo_local:
            return self.hadoop_conf
        return self.conf_folder if (self.conf_folder / "hdfs").is_dir() else None

    def read_zookeeper_credentials(self) -> Credentials | None:
        """Returns the account of clients at ZooKeeper; None if a cluster's asks for none.

        Raises ``SettingsError`` as ``read_credentials`` does.
        """
        if self.is_accumulo_local:
            return _read_password(ZOOKEEPER_CLIENT, self.secret_folder / "zookeeper-client.password", _RUN_UP)
        return _read_account(self.zookeeper_user, self.zookeeper_password, "zookeeper_password")

    def read_kafka_credentials(self) -> Credentials | None:
        """Returns the account of ingest at Kafka; None if an existing Kafka asks for none.

        Raises ``SettingsError`` as ``read_credentials`` does.
        """
        if self.is_kafka_local:
            return _read_password(KAFKA_USER, self.secret_folder / "kafka.password", _RUN_UP)
        return _read_account(self.kafka_user, self.kafka_password, "kafka_password")

    def read_queue_key(self) -> bytes:
        """Returns the key of this instance that signs work items.

        Raises ``SettingsError`` if its file is missing, open to other users, or holds less than 32 characters.
        """
        path = self.queue_key or self.secret_folder / "queue.key"
        hint = _RUN_UP if self.is_kafka_local else "set `queue_key` to a file that holds it"
        key = _read_secret(path, "key of work items", hint).encode()
        if len(key) < QUEUE_KEY_BYTES:
            raise SettingsError(
                f"{show_path(path)} holds a key of {len(key)} characters; {QUEUE_KEY_BYTES} random ones are wanted"
            )
        return key


def _read_account(user: str, path: Path | None, setting: str) -> Credentials | None:
    """Returns the account that settings name; None if they name no user. Raises ``SettingsError``."""
    if not user:
        return None
    hint = f"set `{setting}` to a file that holds it"
    if path is None:
        raise SettingsError(f"no password of {user}: {hint}")
    return _read_password(user, path, hint)


def _read_password(user: str, path: Path, hint: str) -> Credentials:
    """Returns a user with the password in a file. Raises ``SettingsError`` as ``_read_secret`` does."""
    return Credentials(user, _read_secret(path, f"password of {user}", hint))


def _check_secret(path: Path, what: str, hint: str) -> None:
    """Raises ``SettingsError`` if a secret file is missing or open to other users."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise SettingsError(f"no {what}: {show_path(path)} is missing; {hint}") from None
    except OSError as error:
        raise SettingsError(f"the {what} in {show_path(path)} cannot be read: {describe_error(error)}") from error
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise SettingsError(f"{show_path(path)} holds the {what} and others can read it: chmod 600 it")


def _read_secret(path: Path, what: str, hint: str) -> str:
    """Returns the text of a secret file. Raises ``SettingsError`` if it is missing, empty or open to other users."""
    _check_secret(path, what, hint)
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the {what} in {show_path(path)} cannot be read: {describe_error(error)}") from error
    if not text:
        raise SettingsError(f"{show_path(path)} should hold the {what} and is empty")
    return text
