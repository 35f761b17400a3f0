"""The local stack: ZooKeeper, Accumulo and Kafka as real processes on the loopback address.

``start_stack`` brings the stack to the state "everything runs" from whatever state it is in: not there, stopped, half
started, some servers killed, set up half way. ``stop_stack`` stops it; in between the supervisor starts again what dies
(``supervision/``). ``discard_stack`` ends a stack that is deleted. ``read_status`` is in ``status.py``.
"""

from __future__ import annotations

import dataclasses
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import describe_error, show_path
from watchfloor.schema.settings.parse_setting import AUTO
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.disk_space import read_disk_space
from watchfloor.store.runtime.jars import copy_own_jar, find_native_library
from watchfloor.store.runtime.metrics_port import remove_targets

from .home.calibration_note import reset_tries
from .home.checks import check_memory, check_ports, check_room_for_servers
from .home.flavour import Flavour, choose_flavour
from .home.home_folder import close_home, make_folders, make_secrets
from .home.server_sizes import choose_sizes, choose_standing_workers, measure_machine
from .home.stack_lock import hold_stack_lock
from .home.stack_state import StackState, grow_state, load_state, save_state
from .security.certificates import make_certificates
from .security.kerberos import write_kerberos_files
from .servers.calibrator import stop_calibrator
from .servers.configuration import write_configuration
from .servers.process import find_process, send_signal, stop_process
from .servers.stack_servers import StackServers, make_servers
from .servers.standing_workers import make_standing_workers
from .starting import start_servers
from .starting_hdfs import Report
from .status import StackStatus, read_status
from .stopping import (
    list_pid_files,
    list_surplus_tservers,
    list_surplus_workers,
    send_signals,
    stop_servers,
    stop_workers,
    unload_tablets,
)
from .supervision.restarts import load_restarts
from .supervision.supervised import is_supervised, start_supervisor, stop_supervisor

__all__ = ["StackStatus", "read_status", "start_stack", "stop_stack"]

_DATANODES = 3
"""The DataNodes of a new stack with HDFS: as many as a file has replicas."""


def _report_nothing(line: str) -> None:
    pass


def start_stack(
    settings: Settings,
    tservers: int | None = None,
    report: Report = _report_nothing,
    security: str | None = None,
    datanodes: int | None = None,
    small: bool | None = None,
) -> None:
    """Starts what does not run, and returns when Accumulo serves all tablets and Kafka answers.

    ``tservers`` is the number of tablet servers from now on, ``security`` one of ``SECURITY_LEVELS``, ``datanodes`` the
    number of DataNodes of HDFS, and ``small`` whether servers get as little memory as they can do with; None does not
    change them. A change of security or of DataNodes stops all servers first. ``report`` is called with a line for each
    step. Data is kept. Raises ``StackError``, which names the obstacle and has the last lines of the log.
    """
    _require_local_stack(settings)
    # Before anything is written: a file that could be written in part only is then not begun.
    check_room_for_servers(settings.home)
    if (space := read_disk_space(settings)) and space.is_low:
        report(space.describe())
    make_folders(settings)
    with _name_file_errors(settings), hold_stack_lock(settings, settings.up_seconds), ExitStack() as held:
        before = load_state(settings)
        if before and before.formatted and not before.accounts:
            before = _replace_open_servers(settings, before, report)
        if opened := close_home(settings):
            report(
                f"other users could open {opened} files and folders in {show_path(settings.home)}: they no longer can"
            )
        count = tservers or (before.tservers if before else settings.tservers)
        state = grow_state(before, count, _change_flavour(settings, before, security, datanodes, report), held)
        state = _size_servers(settings, state, before, small)
        copy_own_jar(settings)
        make_secrets(settings)
        servers = make_servers(settings, state)
        _stop_surplus(settings, state, servers, report)
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
        reset_tries(settings)
        _write_files(settings, state, report)
        try:
            start_servers(settings, state, servers, report)
        finally:
            # Also after a failure: what has ended since, or does not answer yet, is not left alone.
            if (now := load_state(settings)) and now.prepared:
                start_supervisor(settings)


def _stop_surplus(settings: Settings, state: StackState, servers: StackServers, report: Report) -> None:
    """Stops the tablet servers, the standing workers and the calibration that run and are not those of ``state``."""
    if not state.calibrates:
        stop_calibrator(settings)
    for surplus in list_surplus_tservers(settings, state.tservers):
        report(f"stopping {surplus}, {state.tservers} tablet servers are wanted")
        unload_tablets(settings, state, servers, [surplus])
        remove_targets(settings, [surplus])
    if workers := list_surplus_workers(settings, servers):
        report(f"stopping {', '.join(workers)}, others are wanted")
        stop_workers(settings, workers, report)


def has_standing_workers(settings: Settings) -> bool:
    """Returns whether a standing worker of the stack is ready, which then has made what the first load needs."""
    state = load_state(settings)
    workers = make_standing_workers(settings, state.workers) if state else ()
    return any(worker.is_ready(worker.port) for worker in workers)


def read_datanodes(settings: Settings) -> int:
    """Returns the number of DataNodes that a stack with HDFS has, or will have if nobody names another.

    Raises ``StackError`` if the state's file is damaged.
    """
    before = load_state(settings)
    return before.datanodes if before and before.datanodes else _DATANODES


def _change_flavour(
    settings: Settings, before: StackState | None, security: str | None, datanodes: int | None, report: Report
) -> Flavour:
    """Returns the flavour of the stack from now on. If it was another, all servers are stopped."""
    has_data = before is not None and before.initialised
    flavour = choose_flavour(before.flavour if before else None, security, datanodes, has_data)
    if before and flavour != before.flavour:
        report(f"the stack becomes {flavour.describe()}, it was {before.flavour.describe()}")
        stop_servers(settings, report)
        # Java's temporary folder is gone with what was left in it.
        make_folders(settings)
    return flavour


def _write_files(settings: Settings, state: StackState, report: Report) -> None:
    """Writes the certificates and the configuration of all servers."""
    native = find_native_library(settings)
    if native is None:
        report("no native map library (it needs g++ at `make setup`): tablet servers use the slower Java map")
    if state.flavour.is_secured:
        make_certificates(settings)
    if state.flavour.has_kdc:
        write_kerberos_files(settings, state.ports["kdc"])
    write_configuration(settings, state, native)


def _size_servers(settings: Settings, state: StackState, before: StackState | None, small: bool | None) -> StackState:
    """Returns the state with the sizes of the servers. Those of a tablet server that runs stay, for all of them."""
    if small is None:
        small = before.small if before else settings.small == "on"
    machine = measure_machine()
    workers = choose_standing_workers(settings, small, *machine)
    calibrates = settings.calibration == "on" and not small
    state = dataclasses.replace(state, small=small, workers=workers, calibrates=calibrates)
    if any(find_process(server.pid_file) for server in make_servers(settings, state).tservers):
        # What is available tells less of a machine on which they run.
        is_as_before = before is not None and before.small == small and settings.standing_workers == AUTO
        return dataclasses.replace(state, workers=before.workers if before and is_as_before else workers)
    return dataclasses.replace(state, sizes={} if small else choose_sizes(*machine, state.tservers))


@contextmanager
def _name_file_errors(settings: Settings) -> Iterator[None]:
    """Raises a ``StackError`` in place of an ``OSError``."""
    try:
        yield
    except OSError as error:
        raise StackError(
            f"the stack's folder {show_path(settings.home)} cannot be used: {describe_error(error)}"
        ) from error


def _replace_open_servers(settings: Settings, state: StackState, report: Report) -> StackState:
    """Stops the servers of an older version, which let every user in, and returns the state to go on from.

    Accumulo's data stay as they are. Kafka's storage is put aside, as accounts can only be added when it is formatted.
    """
    report("the stack is of an older version, whose servers let every user of the machine in: they are replaced")
    stop_supervisor(settings)
    pid_files = list_pid_files(settings)
    send_signals(settings, [path.stem for path in pid_files if path.stem != "zookeeper"])
    for path in sorted(pid_files, key=lambda path: path.stem == "zookeeper"):
        stop_process(path, 10)
    storage, aside = settings.home / "data/kafka", settings.home / "data/kafka-without-accounts"
    if storage.exists() and not aside.exists():
        storage.rename(aside)
        report(f"work items that were still in the queue are in {show_path(aside)}: load their files again")
    shutil.rmtree(storage, ignore_errors=True)
    return save_state(settings, dataclasses.replace(state, formatted=False))


def stop_stack(settings: Settings, report: Report = _report_nothing) -> None:
    """Stops every server that a pid file names, in an order that leaves nothing to recover. Data stays.

    Tablet servers first write their entries in memory to files, for ``settings.down_seconds`` at most. A server that
    does not end when asked is killed after a bounded wait; its data is then recovered from the write-ahead log.
    """
    _require_local_stack(settings)
    if not (settings.home / "run").is_dir():
        return report(f"no stack in {show_path(settings.home)}")
    with _name_file_errors(settings), hold_stack_lock(settings, settings.up_seconds):
        stop_servers(settings, report)


def discard_stack(settings: Settings) -> None:
    """Kills every server of a stack whose data is deleted next: to write it out would be in vain."""
    _require_local_stack(settings)
    stop_supervisor(settings)
    for path in list_pid_files(settings):
        send_signal(path, signal.SIGKILL)
    stop_stack(settings)


def _require_local_stack(settings: Settings) -> None:
    """Raises ``StackError`` if the settings name a cluster that others run."""
    if not settings.is_accumulo_local or not settings.is_kafka_local:
        raise StackError(
            "the settings name an existing cluster (client_properties or kafka): it is not ours to start or stop"
        )
