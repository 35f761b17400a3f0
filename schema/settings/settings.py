"""What can be set, and where a value comes from: defaults < ``watchfloor.toml`` < ``WATCHFLOOR_*`` < flags.

``load_settings`` reads the first ``watchfloor.toml`` found in the working folder, then in the stack's folder. Every
field's description stands beside it (``describe`` lists them for the manual), and a bad value names where it came from.
"""

# ruff: noqa: RUF009 - each default is a call of `_setting`, which makes a dataclass field
from __future__ import annotations

import dataclasses
import json
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from watchfloor.schema.errors import SettingsError, suggest

from .credentials import Credentials
from .value import Kind, convert

Role = Literal["ingest", "query"]
Overrides = Mapping[str, Any]
MIB = 1 << 20
ENVIRONMENT = "WATCHFLOOR_"
FILE = "watchfloor.toml"


def _setting(default: Any, kind: Kind, doc: str, name: str = "", low: int = 1, high: int = 1 << 62) -> Any:
    """A field of ``Settings``; ``name`` is what files and variables call it when that differs from the attribute."""
    return dataclasses.field(
        default=default, metadata={"doc": doc, "kind": kind, "name": name, "low": low, "high": high}
    )


@dataclass(frozen=True)
class Settings:
    """All settings, checked. Paths are absolute; sizes are bytes, but for heaps, which the JVM reads (``256m``)."""

    home: Path = _setting(Path(".watchfloor"), "path", "the stack's folder: data, logs, configuration, secrets")
    jars: Path = _setting(
        Path(__file__).parents[2] / "store/java/target/jars", "path", "the folder of the jars `make setup` builds"
    )
    tservers: int = _setting(1, "int", "tablet servers of a new local stack", high=64)
    tserver_heap: str = _setting("768m", "heap", "heap of a tablet server; its caches take a third of it")
    tserver_maps: str = _setting(
        "256m", "heap", "memory of a tablet server for entries not yet in files, beside the heap"
    )
    manager_heap: str = _setting("256m", "heap", "heap of the Accumulo manager")
    gc_heap: str = _setting("128m", "heap", "heap of Accumulo's garbage collector")
    zookeeper_heap: str = _setting("128m", "heap", "heap of ZooKeeper")
    kafka_heap: str = _setting("384m", "heap", "heap of the Kafka broker")
    durability: str = _setting("flush", "durability", "write-ahead log: flush survives kill -9, sync a power cut too")
    zookeeper_timeout: int = _setting(
        8, "int", "seconds until a server that went silent counts as dead", low=4, high=120
    )
    up_seconds: int = _setting(120, "int", "seconds that `up` waits for a server before it gives up", low=5, high=3600)
    down_seconds: int = _setting(60, "int", "seconds that `down` waits for tablets to be written out", low=1, high=3600)
    cluster_properties: Path | None = _setting(
        None,
        "path",
        "accumulo-client.properties of an existing cluster; by default the local stack's",
        "client_properties",
    )
    kafka_bootstrap: str = _setting(
        "", "text", "host:port[,…] of an existing Kafka; by default the local stack's", "kafka"
    )
    ingest_user: str = _setting("root", "text", "Accumulo user that makes tables and writes")
    ingest_password: Path | None = _setting(None, "path", "file (mode 0600) with the ingest user's password")
    query_user: str = _setting("watchfloor_query", "text", "Accumulo user that reads for analysts")
    query_password: Path | None = _setting(None, "path", "file (mode 0600) with the query user's password")
    jvm_heap: str = _setting("256m", "heap", "heap of the JVM inside a worker, master or query process")
    sink_memory_mb: int = _setting(50, "int", "MiB of entries that a BatchWriter holds before writers wait", high=4096)
    sink_threads: int = _setting(3, "int", "threads of a BatchWriter that send to tablet servers", high=64)
    sink_latency_ms: int = _setting(200, "int", "milliseconds after which a BatchWriter sends what it holds")
    ingest_mode: str = _setting(
        "live", "mode", "how workers write: live, by BatchWriters; or bulk, by sorted files, for backfills"
    )
    shards: int = _setting(4, "int", "shards of a new source; half the number of workers at least", high=9999)
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
        0,
        "int",
        "seconds after which the REST service ends a query with what it has found; 0: never",
        low=0,
        high=604_800,
    )
    host: str = _setting("127.0.0.1", "text", "address that the REST service listens on")
    port: int = _setting(8742, "int", "port that the REST service listens on; 0 picks a free one", low=0, high=65535)

    def __post_init__(self) -> None:
        for path in ("home", "jars", "cluster_properties", "ingest_password", "query_password"):
            value = getattr(self, path)
            if value is not None:
                object.__setattr__(self, path, Path(value).expanduser().absolute())

    @property
    def conf(self) -> Path:
        """Folder of the local stack's configuration files."""
        return self.home / "conf"

    @property
    def secret(self) -> Path:
        """Folder of the local stack's passwords, mode 0700."""
        return self.home / "secret"

    @property
    def client_properties(self) -> Path:
        """The client properties to connect with: a cluster's, or the local stack's (there after the first ``up``)."""
        return self.cluster_properties or self.conf / "accumulo-client.properties"

    @property
    def local_accumulo(self) -> bool:
        """Whether Accumulo is the local stack's, not a cluster that somebody else runs."""
        return self.cluster_properties is None

    @property
    def local_kafka(self) -> bool:
        """Whether Kafka is the local stack's."""
        return not self.kafka_bootstrap

    @property
    def kafka(self) -> str:
        """Kafka's bootstrap servers. SettingsError when none is set and no stack was ever started."""
        if self.kafka_bootstrap:
            return self.kafka_bootstrap
        try:
            ports = json.loads((self.conf / "stack.json").read_text())["ports"]
            return f"127.0.0.1:{int(ports['kafka'])}"
        except FileNotFoundError:
            raise SettingsError(f"no stack in {self.home} yet: run `watchfloor up`, or set `kafka`") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SettingsError(f"{self.conf / 'stack.json'} is damaged ({error})") from error

    def password_file(self, role: Role) -> Path:
        """The file with the password of ``role``'s user."""
        given = self.ingest_password if role == "ingest" else self.query_password
        return given or self.secret / ("root.password" if role == "ingest" else "query.password")

    def credentials(self, role: Role) -> Credentials:
        """Returns what ``role`` connects with.

        Raises ``SettingsError`` if the password's file is missing, empty or open to other users.
        """
        user, path = self.ingest_user if role == "ingest" else self.query_user, self.password_file(role)
        try:
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise SettingsError(f"{path} holds the password of {user} and others can read it: chmod 600 it")
            password = path.read_text().strip()
        except FileNotFoundError:
            hint = "run `watchfloor up`" if self.local_accumulo else f"set `{role}_password` to a file that holds it"
            raise SettingsError(f"no password for {user}: {path} is missing; {hint}") from None
        except OSError as error:
            raise SettingsError(f"the password of {user} cannot be read: {error}") from error
        if not password:
            raise SettingsError(f"{path} should hold the password of {user} and is empty")
        return Credentials(user, password)


@dataclass(frozen=True)
class SettingDoc:
    """One setting, for the manual: its name in files, variable, default and what it does."""

    name: str
    variable: str
    default: str
    doc: str


def describe() -> Iterator[SettingDoc]:
    """All settings in the order of ``Settings``."""
    for field in dataclasses.fields(Settings):
        name = _name(field)
        default = {"home": ".watchfloor", "jars": "store/java/target/jars"}.get(name, str(field.default or ""))
        yield SettingDoc(name, ENVIRONMENT + name.upper(), default, field.metadata["doc"])


def load_settings(home: str | Path | None = None, overrides: Overrides | None = None) -> Settings:
    """The settings of this process. ``overrides`` (from flags) win; None in it is not given. ``home`` is one of them.

    Raises SettingsError for a value that does not fit or a name that is not known, with where it came from.
    """
    flags = {name: value for name, value in (overrides or {}).items() if value is not None}
    if home is not None:
        flags["home"] = home
    variables = {
        _name(field): value
        for field in dataclasses.fields(Settings)
        if (value := os.environ.get(ENVIRONMENT + _name(field).upper()))
    }
    layers = [(variables, "the environment, " + ENVIRONMENT), (flags, "a flag, ")]
    layers.insert(0, _file(Path.cwd() / FILE))
    if not layers[0][0]:
        chosen = flags.get("home") or variables.get("home") or ".watchfloor"
        layers[0] = _file(Path(chosen).expanduser() / FILE)
    return _merge(layers)


def _merge(layers: list[tuple[dict[str, Any], str]]) -> Settings:
    fields = {_name(field): field for field in dataclasses.fields(Settings)}
    values: dict[str, Any] = {}
    for layer, where in layers:
        for name, raw in layer.items():
            if name not in fields:
                raise SettingsError(f"{where}{name}: unknown setting {name!r}{suggest(name, fields)}")
            meta = fields[name].metadata
            label = where + (name.upper() if where.endswith(ENVIRONMENT) else name)
            try:
                values[fields[name].name] = convert(raw, meta["kind"], meta["low"], meta["high"])
            except ValueError as error:
                raise SettingsError(f"{label}: {error}") from None
    return Settings(**values)


def _file(path: Path) -> tuple[dict[str, Any], str]:
    try:
        return tomllib.loads(path.read_text()), f"{path}, "
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error


def _name(field: dataclasses.Field[Any]) -> str:
    return field.metadata["name"] or field.name
