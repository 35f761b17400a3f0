"""The state that a local stack keeps between starts: ports, the number of tablet servers, and which set-up is done."""

from __future__ import annotations

import dataclasses
import json
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import describe_error, show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import write_private

from .checks import find_free_ports
from .flavour import Flavour

_SINGLE_SERVERS = ("zookeeper", "manager", "gc", "kafka", "kafka_controller")


@dataclass(frozen=True)
class StackState:
    """The content of ``conf/stack.json``.

    ``ports`` are by server. ``formatted`` is true if Kafka's storage exists, ``accounts`` if it has accounts and the
    servers let nobody else in, ``initialised`` if Accumulo's instance exists, and ``prepared`` if its query user exists
    too. ``security`` and ``datanodes`` are its flavour's; ``principals`` is true if Accumulo's users are principals of
    Kerberos. ``small`` is true if the servers get as little memory as they can do with; else ``sizes`` are those that
    were chosen by the machine's memory. ``workers`` is the number of standing workers. ``calibrates`` is true if the
    supervisor has the costs of reading measured.
    """

    ports: dict[str, int] = field(default_factory=dict)
    tservers: int = 1
    kafka_id: str = ""
    formatted: bool = False
    accounts: bool = False
    initialised: bool = False
    prepared: bool = False
    principals: bool = False
    security: str = "none"
    datanodes: int = 0
    small: bool = False
    sizes: dict[str, str] = field(default_factory=dict)
    workers: int = 0
    calibrates: bool = False

    @property
    def flavour(self) -> Flavour:
        return Flavour(self.security, self.datanodes)

    @property
    def server_names(self) -> list[str]:
        """The names of all servers that are to run, in the order in which they are started."""
        return [
            *(["kdc"] if self.flavour.has_kdc else []),
            "zookeeper",
            *hdfs_names(self.datanodes),
            "manager",
            *tserver_names(self.tservers),
            "gc",
            "kafka",
            *worker_names(self.workers),
        ]


def load_state(settings: Settings) -> StackState | None:
    """Returns the state of the stack in ``settings.home``; None if there is no stack.

    Raises ``StackError`` if the state's file is damaged.
    """
    path = settings.conf_folder / "stack.json"
    try:
        return StackState(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise StackError(
            f"{show_path(path)} is damaged ({describe_error(error)}): restore it, "
            f"or remove {show_path(settings.home)} to begin anew"
        ) from error


def save_state(settings: Settings, state: StackState) -> StackState:
    """Writes ``state`` in one step, so that a reader never sees half of it, and returns it."""
    write_private(settings.conf_folder / "stack.json", json.dumps(dataclasses.asdict(state), indent=1) + "\n")
    return state


def grow_state(
    state: StackState | None, tservers: int, flavour: Flavour | None = None, held: ExitStack | None = None
) -> StackState:
    """Returns ``state`` with a port for each server and ``tservers`` tablet servers. Known ports do not change.

    ``flavour`` is the flavour from now on; None does not change it. Until ``held`` is closed, no other stack draws one
    of the new ports.
    """
    state = state or StackState(kafka_id=str(uuid.uuid4()))
    if flavour is not None:
        state = dataclasses.replace(state, security=flavour.security, datanodes=flavour.datanodes)
    names = {*_SINGLE_SERVERS, *tserver_names(tservers), *state.server_names, *_list_more_ports(state.datanodes)}
    missing = sorted(names - set(state.ports))
    ports = dict(zip(missing, find_free_ports(len(missing), set(state.ports.values()), held), strict=True))
    return dataclasses.replace(state, ports=state.ports | ports, tservers=tservers)


def hdfs_names(datanodes: int) -> list[str]:
    """Returns the names of HDFS's servers, the NameNode first; none if there are no DataNodes."""
    return ["namenode", *(f"datanode{n}" for n in range(1, datanodes + 1))] if datanodes else []


def _list_more_ports(datanodes: int) -> list[str]:
    """Returns the names of the ports that HDFS's servers have beside their first ones."""
    parts = {"namenode": ("http",)}
    return [f"{name}_{part}" for name in hdfs_names(datanodes) for part in parts.get(name, ("http", "ipc", "proxy"))]


def tserver_names(count: int) -> list[str]:
    """Returns the names of ``count`` tablet servers: ``tserver1`` and so on."""
    return [f"tserver{n}" for n in range(1, count + 1)]


def worker_names(count: int) -> list[str]:
    """Returns the names of ``count`` standing workers: ``worker1`` and so on."""
    return [f"worker{n}" for n in range(1, count + 1)]
