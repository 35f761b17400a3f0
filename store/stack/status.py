"""The status of the stack: its servers, Accumulo's tables and the queue's lag. Reading it takes seconds at most."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from watchfloor.schema.errors import StackError, WatchfloorError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.disk_space import DiskSpace, read_disk_space

from .home.server_sizes import list_sizes
from .home.stack_state import load_state
from .server_status import ServerStatus, read_server_status
from .servers.calibrator import describe_costs
from .servers.command import run_command
from .servers.stack_servers import admin_command, user_with_file


@dataclass(frozen=True)
class TableStatus:
    """The status of one Accumulo table.

    ``served`` is the number of its ``tablets`` that are served now. ``entries`` is the tablet servers' count, including
    entries ``in_memory``: an entry that was written again counts twice until a compaction.
    """

    name: str
    online: bool
    tablets: int
    served: int
    entries: int
    in_memory: int


@dataclass(frozen=True)
class StackStatus:
    """The status of a stack, or of a cluster that others run; ``servers`` is empty for a cluster.

    ``home`` is the stack's folder as ``show_path`` shows it. ``flavour`` has the stack's file system and its level of
    security; it is empty for a cluster.

    ``disk`` is the room for the local data, None for a cluster. ``lag`` is the number of work items that wait in the
    queue; None if it was not requested or could not be read. ``problems`` has a sentence for each process that does not
    run, for each status that could not be read, and for a disk that is nearly full. ``sizes`` are those of the servers'
    memory by the names of their settings, and ``small`` is whether they are as little as they can be. ``costs`` says
    whether the costs of reading were measured here; it is empty for a cluster.
    """

    home: str
    servers: tuple[ServerStatus, ...] = ()
    tables: tuple[TableStatus, ...] = ()
    lag: int | None = None
    problems: tuple[str, ...] = ()
    disk: DiskSpace | None = None
    flavour: str = ""
    sizes: dict[str, str] = field(default_factory=dict)
    small: bool = False
    costs: str = ""

    @property
    def is_healthy(self) -> bool:
        """True if everything runs and answers."""
        return not self.problems


def read_status(
    settings: Settings, queue_lag: Callable[[Settings], int] | None = None, seconds: float = 15
) -> StackStatus:
    """Returns the status of the stack, or of the cluster that the settings name.

    ``queue_lag`` reads the lag of the work queue. ``seconds`` is the longest time for Accumulo's answer. A server that
    is down raises nothing; it is in ``problems``.
    """
    problems: list[str] = []
    servers: tuple[ServerStatus, ...] = ()
    saved = None
    if settings.is_accumulo_local or settings.is_kafka_local:
        saved = load_state(settings)
        if saved is None:
            return StackStatus(
                show_path(settings.home), problems=(f"no stack in {show_path(settings.home)} yet: run `watchfloor up`",)
            )
        servers = read_server_status(settings, saved)
    disk = read_disk_space(settings)
    if disk is not None and disk.is_low:
        problems.append(disk.describe())
    down = {s.name for s in servers if s.state != "running"}
    problems += [server.problem for server in servers if server.problem]
    tables: tuple[TableStatus, ...] = ()
    if not down & {"zookeeper", "manager"} and not (servers and _are_all_tservers_down(servers)):
        try:
            tables = read_table_status(settings, seconds)
            problems += [
                f"table {t.name}: {t.served} of {t.tablets} tablets served" for t in tables if _lacks_tablets(t)
            ]
        except WatchfloorError as error:
            problems.append(str(error))
    lag = None
    if queue_lag is not None and "kafka" not in down:
        try:
            lag = queue_lag(settings)
        except WatchfloorError as error:
            problems.append(str(error))
    status = StackStatus(show_path(settings.home), servers, tables, lag, tuple(problems), disk)
    if saved is None:
        return status
    return replace(
        status,
        flavour=saved.flavour.describe(),
        sizes=list_sizes(settings, saved.sizes),
        small=saved.small,
        costs=describe_costs(settings, saved),
    )


def read_table_status(settings: Settings, seconds: float = 15) -> tuple[TableStatus, ...]:
    """Returns the status of each of Accumulo's tables, sorted by name; another process reads it.

    Raises ``StackError`` if there is no answer.
    """
    command = admin_command(settings, "tables", settings.client_properties, *user_with_file(settings, "ingest"))
    printed = run_command(settings, "tables", command, time.monotonic() + seconds)
    tables = []
    for line in printed.splitlines():
        name, online, *numbers = line.split("\t")
        if len(numbers) != 4:
            raise StackError(f"unexpected answer about tables: {line!r}")
        tables.append(TableStatus(name, online == "online", *map(int, numbers)))
    return tuple(tables)


def _lacks_tablets(table: TableStatus) -> bool:
    return table.online and table.served < table.tablets


def _are_all_tservers_down(servers: tuple[ServerStatus, ...]) -> bool:
    return all(s.state != "running" for s in servers if s.name.startswith("tserver"))
