"""The local stack: ZooKeeper, Accumulo and Kafka as real processes on the loopback address.

``start_stack`` brings the stack to the state "everything runs" from whatever state it is in: not there, stopped, half
started, some servers killed, set up half way. ``stop_stack`` stops it; in between the supervisor starts again what dies
(``supervision/``). ``discard_stack`` ends a stack that is deleted. ``read_status`` is in ``status.py``.
"""

from __future__ import annotations

import dataclasses
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import describe_error, show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.disk_space import read_disk_space
from watchfloor.store.runtime.jars import copy_own_jar, find_native_library
from watchfloor.store.runtime.metrics_port import remove_targets

from .accounts.kafka_accounts import grant_access, hold_format_arguments
from .home.checks import LOOPBACK, check_memory, check_ports, check_room_for_servers
from .home.home_folder import close_home, make_folders, make_secrets
from .home.stack_lock import hold_stack_lock
from .home.stack_state import StackState, grow_state, load_state, save_state
from .servers.command import ServerEndedError, run_command
from .servers.configuration import INSTANCE, write_configuration
from .servers.process import Server, await_end, await_ready, find_process, send_signal, start_server, stop_process
from .servers.stack_servers import StackServers, admin_command, kafka_format_command, make_servers
from .status import StackStatus, read_status
from .supervision.restarts import delete_restarts, load_restarts
from .supervision.supervised import is_supervised, start_supervisor, stop_supervisor

__all__ = ["StackStatus", "read_status", "start_stack", "stop_stack"]

_PREPARE_TRIES = 3
_PREPARE_LEAD = 10
"""The seconds that are left to a command for its start, and for its message when tablets are not served in time."""
Report = Callable[[str], None]
"""Called with a line for each step."""


def _report_nothing(line: str) -> None:
    pass


def start_stack(settings: Settings, tservers: int | None = None, report: Report = _report_nothing) -> None:
    """Starts what does not run, and returns when Accumulo serves all tablets and Kafka answers.

    ``tservers`` is the number of tablet servers from now on; None does not change it. ``report`` is called with a line
    for each step. Data of earlier runs is kept. Raises ``StackError``, which names the obstacle and has the last lines
    of the log.
    """
    _require_local_stack(settings)
    # Before anything is written: a file that could be written in part only is then not begun.
    check_room_for_servers(settings.home)
    if (space := read_disk_space(settings)) and space.is_low:
        report(space.describe())
    make_folders(settings)
    with _name_file_errors(settings), hold_stack_lock(settings, settings.up_seconds):
        before = load_state(settings)
        if before and before.formatted and not before.accounts:
            before = _replace_open_servers(settings, before, report)
        if opened := close_home(settings):
            report(
                f"other users could open {opened} files and folders in {show_path(settings.home)}: they no longer can"
            )
        count = tservers or (before.tservers if before else settings.tservers)
        state = grow_state(before, count)
        copy_own_jar(settings)
        make_secrets(settings)
        servers = make_servers(settings, state)
        for surplus in _list_surplus_tservers(settings, count):
            report(f"stopping {surplus}, {count} tablet servers are wanted")
            _unload_tablets(settings, state, servers, [surplus])
            remove_targets(settings, [surplus])
        idle = [server for server in servers.all if find_process(server.pid_file) is None]
        if not idle and state.prepared and all(server.is_ready(server.port) for server in servers.all):
            save_state(settings, state)
            if not is_supervised(settings):
                report("starting the supervisor")
                start_supervisor(settings)
            report("the stack is running already")
            return
        for name, restarts in load_restarts(settings).items():
            if restarts.keeps_dying:
                report(f"{name}: {restarts.describe()}")
        check_memory(sum(server.memory for server in idle))
        check_ports({name: port for server in idle for name, port in server.ports.items()})
        save_state(settings, state)
        native = find_native_library(settings)
        if native is None:
            report("no native map library (it needs g++ at `make setup`): tablet servers use the slower Java map")
        write_configuration(settings, state, native)
        try:
            _start_servers(settings, state, servers, report)
        finally:
            # Also after a failure: what has ended since, or does not answer yet, is not left alone.
            if (now := load_state(settings)) and now.prepared:
                start_supervisor(settings)


@contextmanager
def _name_file_errors(settings: Settings) -> Iterator[None]:
    """Raises a ``StackError`` in place of an ``OSError``."""
    try:
        yield
    except OSError as error:
        raise StackError(
            f"the stack's folder {show_path(settings.home)} cannot be used: {describe_error(error)}"
        ) from error


def _start_servers(settings: Settings, state: StackState, servers: StackServers, report: Report) -> None:
    """Starts Kafka and Accumulo in parallel, and saves the state when both are ready."""
    deadline = time.monotonic() + settings.up_seconds
    with ThreadPoolExecutor(1) as pool:
        kafka = pool.submit(_start_kafka, settings, state, servers, deadline, report)
        state = _start_accumulo(settings, state, servers, deadline, report)
        kafka.result()
    save_state(settings, dataclasses.replace(state, formatted=True, accounts=True, prepared=True))


def _start_kafka(settings: Settings, state: StackState, servers: StackServers, deadline: float, report: Report) -> None:
    """Formats Kafka's storage if needed, and returns when Kafka answers those who may ask it."""
    if not state.formatted:
        report("formatting Kafka's storage")
        with hold_format_arguments(settings) as accounts:
            run_command(settings, "kafka-format", kafka_format_command(settings, state.kafka_id, accounts), deadline)
    _start_if_stopped(servers.kafka, report)
    await_ready(servers.kafka, deadline)
    grant_access(settings, state.ports["kafka"], deadline)
    report("Kafka answers")


def _start_accumulo(
    settings: Settings, state: StackState, servers: StackServers, deadline: float, report: Report
) -> StackState:
    """Initialises Accumulo if needed, and returns the new state when Accumulo serves all tablets."""
    if not state.initialised:
        _remove_unfinished_instance(settings, servers)
    _start_if_stopped(servers.zookeeper, report)
    await_ready(servers.zookeeper, deadline)
    root = settings.password_file("ingest")
    if not state.initialised:
        report("initialising Accumulo")
        run_command(settings, "init", admin_command(settings, "init", INSTANCE, root), deadline)
        state = save_state(settings, dataclasses.replace(state, initialised=True))
    for left in reversed(range(_PREPARE_TRIES)):
        for server in servers.accumulo:
            _start_if_stopped(server, report)
        try:
            _prepare_accumulo(settings, servers, deadline)
            break
        except ServerEndedError:
            # A server that ran may still have to notice that it has lost its lock, for example on a disk that was full.
            if not left or find_process(servers.zookeeper.pid_file) is None:
                raise
    for server in servers.accumulo:
        await_ready(server, deadline)
    report("Accumulo serves all tablets")
    return state


def _prepare_accumulo(settings: Settings, servers: StackServers, deadline: float) -> None:
    """Returns when all tablets are served, and the query user exists. Raises ``ServerEndedError`` if a server ends."""
    root = settings.password_file("ingest")
    query = (settings.query_user, settings.password_file("query"))
    # It ends some seconds before it would be killed, so that it can tell how many tablets are served.
    left = max(5, int(deadline - time.monotonic()) - _PREPARE_LEAD)
    command = admin_command(
        settings, "prepare", settings.client_properties, settings.ingest_user, root, *query, str(left)
    )
    run_command(settings, "prepare", command, deadline, watch=(servers.zookeeper, *servers.accumulo))


def _replace_open_servers(settings: Settings, state: StackState, report: Report) -> StackState:
    """Stops the servers of an older version, which let every user in, and returns the state to go on from.

    Accumulo's data stay as they are. Kafka's storage is put aside, as accounts can only be added when it is formatted.
    """
    report("the stack is of an older version, whose servers let every user of the machine in: they are replaced")
    stop_supervisor(settings)
    pid_files = _list_pid_files(settings)
    _send_signals(settings, [path.stem for path in pid_files if path.stem != "zookeeper"])
    for path in sorted(pid_files, key=lambda path: path.stem == "zookeeper"):
        stop_process(path, 10)
    storage, aside = settings.home / "data/kafka", settings.home / "data/kafka-without-accounts"
    if storage.exists() and not aside.exists():
        storage.rename(aside)
        report(f"work items that were still in the queue are in {show_path(aside)}: load their files again")
    shutil.rmtree(storage, ignore_errors=True)
    return save_state(settings, dataclasses.replace(state, formatted=False))


def _start_if_stopped(server: Server, report: Report) -> None:
    """Starts a server whose process does not run."""
    if find_process(server.pid_file) is None:
        report(f"{'restarting' if server.pid_file.exists() else 'starting'} {server.name}")
        start_server(server)


def _remove_unfinished_instance(settings: Settings, servers: StackServers) -> None:
    """Removes the remains of an interrupted ``init``, which cannot be completed.

    Raises ``StackError`` if there is data.
    """
    data = settings.home / "data"
    if (data / "accumulo" / "wal").exists():
        raise StackError(
            f"{show_path(data / 'accumulo')} holds data of an Accumulo that "
            f"{show_path(settings.conf_folder / 'stack.json')} does not know: restore that file, or move the data away"
        )
    if (data / "accumulo").exists() or find_process(servers.zookeeper.pid_file) is not None:
        stop_process(servers.zookeeper.pid_file, 5)
        shutil.rmtree(data / "accumulo", ignore_errors=True)
        shutil.rmtree(data / "zookeeper", ignore_errors=True)


def stop_stack(settings: Settings, report: Report = _report_nothing) -> None:
    """Stops every server that a pid file names, in an order that leaves nothing to recover. Data stays.

    Tablet servers first write their entries in memory to files, for ``settings.down_seconds`` at most. A server that
    does not end when asked is killed after a bounded wait; its data is then recovered from the write-ahead log.
    """
    _require_local_stack(settings)
    if not (settings.home / "run").is_dir():
        return report(f"no stack in {show_path(settings.home)}")
    with _name_file_errors(settings), hold_stack_lock(settings, settings.up_seconds):
        # First of all: it would start again what is stopped here, once this process no longer holds the lock.
        stop_supervisor(settings)
        delete_restarts(settings)
        running = [path.stem for path in _list_pid_files(settings) if find_process(path)]
        state = load_state(settings)
        _send_signals(settings, [name for name in running if name == "kafka"])
        if state and state.prepared and {"zookeeper", "manager"} < set(running):
            report("stopping Accumulo: tablets are written out")
            try:
                _unload_tablets(settings, state, make_servers(settings, state), [])
            except StackError as error:
                report(f"tablets were not written out, the next start recovers them from the log: {error}")
        rest = [name for name in running if name != "zookeeper"]
        _send_signals(settings, rest)
        for name in (*rest, "zookeeper"):
            path = settings.home / "run" / f"{name}.json"
            if name in running and not stop_process(path, 10):
                report(f"{name} did not end when asked to and was killed")
        for path in _list_pid_files(settings):
            path.unlink(missing_ok=True)
        remove_targets(settings, running)
        shutil.rmtree(settings.home / "tmp", ignore_errors=True)
        report(f"stopped {', '.join(running)}" if running else "nothing was running")


def discard_stack(settings: Settings) -> None:
    """Kills every server of a stack whose data is deleted next: to write it out would be in vain."""
    _require_local_stack(settings)
    stop_supervisor(settings)
    for path in _list_pid_files(settings):
        send_signal(path, signal.SIGKILL)
    stop_stack(settings)


def _unload_tablets(settings: Settings, state: StackState, servers: StackServers, tservers: list[str]) -> None:
    """Makes the manager unload the tablets of ``tservers``, which then end, and waits for their end.

    If ``tservers`` is empty, all tablet servers and the manager end.
    """
    deadline = time.monotonic() + settings.down_seconds
    addresses = [f"{LOOPBACK}:{state.ports[name]}" for name in tservers]
    root = settings.password_file("ingest")
    command = admin_command(settings, "stop", settings.client_properties, settings.ingest_user, root, *addresses)
    run_command(
        settings, "stop", command, min(deadline, time.monotonic() + 20), watch=(servers.zookeeper, servers.manager)
    )
    for name in tservers or [*(server.name for server in servers.tservers), "manager"]:
        path = settings.home / "run" / f"{name}.json"
        if not await_end(path, deadline):
            stop_process(path, 5)


def _send_signals(settings: Settings, names: list[str]) -> None:
    for name in names:
        send_signal(settings.home / "run" / f"{name}.json", signal.SIGTERM)


def _list_pid_files(settings: Settings) -> list[Path]:
    return sorted((settings.home / "run").glob("*.json"))


def _list_surplus_tservers(settings: Settings, count: int) -> list[str]:
    """Returns the names of running tablet servers beyond the first ``count``."""
    names = [path.stem for path in _list_pid_files(settings) if path.stem.startswith("tserver") and find_process(path)]
    return [name for name in names if int(name.removeprefix("tserver")) > count]


def _require_local_stack(settings: Settings) -> None:
    """Raises ``StackError`` if the settings name a cluster that others run."""
    if not settings.is_accumulo_local or not settings.is_kafka_local:
        raise StackError(
            "the settings name an existing cluster (client_properties or kafka): it is not ours to start or stop"
        )
