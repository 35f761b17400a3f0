"""Stops the servers of a stack in an order that leaves nothing to recover."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.local_socket import FOLDER, list_worker_sockets
from watchfloor.store.runtime.metrics_port import remove_targets

from .home.stack_state import StackState, load_state
from .servers.calibrator import stop_calibrator
from .servers.command import run_command
from .servers.process import await_end, find_process, send_signal, stop_process
from .servers.stack_servers import StackServers, admin_command, make_servers, user_with_file
from .servers.standing_workers import has_other_settings
from .starting_hdfs import Report
from .supervision.restarts import delete_restarts
from .supervision.supervised import stop_supervisor


def stop_servers(settings: Settings, report: Report) -> None:
    """Stops every server, for whoever holds the stack's lock."""
    # First of all: it would start again what is stopped here, once this process no longer holds the lock.
    stop_supervisor(settings)
    stop_calibrator(settings)
    delete_restarts(settings)
    running = [path.stem for path in list_pid_files(settings) if find_process(path)]
    state = load_state(settings)
    # They give back what they are reading, for which they need the others.
    workers = [name for name in running if name.startswith("worker")]
    _stop_in_order(settings, workers, report)
    send_signals(settings, [name for name in running if name == "kafka"])
    if state and state.prepared and {"zookeeper", "manager"} < set(running):
        report("stopping Accumulo: tablets are written out")
        try:
            unload_tablets(settings, state, make_servers(settings, state), [])
        except StackError as error:
            report(f"tablets were not written out, the next start recovers them from the log: {error}")
    # Accumulo's servers write to files and to ZooKeeper until they end, and need tickets for that.
    last = [name for name in (*_list_hdfs(running), "zookeeper", "kdc") if name in running]
    rest = [name for name in running if name not in (*workers, *last)]
    send_signals(settings, rest)
    _stop_in_order(settings, [*rest, *last], report)
    left = [settings.home / FOLDER / name for name in list_worker_sockets(settings.home)]
    for path in (*list_pid_files(settings), *left):
        path.unlink(missing_ok=True)
    remove_targets(settings, running)
    shutil.rmtree(settings.home / "tmp", ignore_errors=True)
    report(f"stopped {', '.join(running)}" if running else "nothing was running")


def stop_workers(settings: Settings, names: list[str], report: Report) -> None:
    """Stops standing workers, which give back what they are reading."""
    _stop_in_order(settings, names, report)
    for name in names:
        (settings.home / "run" / f"{name}.json").unlink(missing_ok=True)


def _stop_in_order(settings: Settings, names: list[str], report: Report) -> None:
    for name in names:
        if not stop_process(settings.home / "run" / f"{name}.json", 10):
            report(f"{name} did not end when asked to and was killed")


def _list_hdfs(names: list[str]) -> list[str]:
    """Returns the names of HDFS's servers among those of a stack, the NameNode last."""
    return [name for name in names if name.startswith("datanode")] + ["namenode"]


def unload_tablets(settings: Settings, state: StackState, servers: StackServers, tservers: list[str]) -> None:
    """Makes the manager unload the tablets of ``tservers``, which then end, and waits for their end.

    If ``tservers`` is empty, all tablet servers and the manager end.
    """
    deadline = time.monotonic() + settings.down_seconds
    addresses = [f"{state.flavour.host}:{state.ports[name]}" for name in tservers]
    root = user_with_file(settings, "ingest")
    command = admin_command(settings, "stop", settings.client_properties, *root, *addresses)
    run_command(
        settings, "stop", command, min(deadline, time.monotonic() + 20), watch=(servers.zookeeper, servers.manager)
    )
    for name in tservers or [*(server.name for server in servers.tservers), "manager"]:
        path = settings.home / "run" / f"{name}.json"
        if not await_end(path, deadline):
            stop_process(path, 5)


def send_signals(settings: Settings, names: list[str]) -> None:
    for name in names:
        send_signal(settings.home / "run" / f"{name}.json", signal.SIGTERM)


def list_pid_files(settings: Settings) -> list[Path]:
    return sorted((settings.home / "run").glob("*.json"))


def list_surplus_tservers(settings: Settings, count: int) -> list[str]:
    """Returns the names of running tablet servers beyond the first ``count``."""
    names = [path.stem for path in list_pid_files(settings) if path.stem.startswith("tserver") and find_process(path)]
    return [name for name in names if int(name.removeprefix("tserver")) > count]


def list_surplus_workers(settings: Settings, servers: StackServers) -> list[str]:
    """Returns the names of the standing workers that run and should not: others are wanted, or fewer."""
    wanted = {server.name: server for server in servers.workers}
    names = [path.stem for path in list_pid_files(settings) if path.stem.startswith("worker") and find_process(path)]
    return [name for name in names if name not in wanted or has_other_settings(wanted[name])]
