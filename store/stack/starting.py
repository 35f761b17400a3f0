"""Starts the servers of a stack in order, and sets up what they lack: storage, the instance, users, principals."""

from __future__ import annotations

import dataclasses
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings

from .accounts.kafka_accounts import grant_access, hold_format_arguments
from .home.stack_state import StackState, save_state
from .make_principals import make_principals
from .servers.command import ServerEndedError, run_command
from .servers.configuration import INSTANCE
from .servers.process import Server, await_ready, find_process, stop_process
from .servers.stack_servers import StackServers, admin_command, kafka_format_command, user_with_file
from .starting_hdfs import Report, start_hdfs, start_if_stopped

_PREPARE_TRIES = 3
_WORKER_SECONDS = 30.0
_PREPARE_LEAD = 10
"""The seconds that are left to a command for its start, and for its message when tablets are not served in time."""


def start_servers(settings: Settings, state: StackState, servers: StackServers, report: Report) -> None:
    """Starts Kafka and Accumulo in parallel, and saves the state when both are ready."""
    deadline = time.monotonic() + settings.up_seconds
    if servers.kdc is not None:
        make_principals(settings, deadline)
        start_if_stopped(servers.kdc, report)
        await_ready(servers.kdc, deadline)
    with ThreadPoolExecutor(1) as pool:
        kafka = pool.submit(_start_kafka, settings, state, servers, deadline, report)
        state = _start_accumulo(settings, state, servers, deadline, report)
        kafka.result()
    save_state(settings, dataclasses.replace(state, formatted=True, accounts=True, prepared=True))
    _start_workers(servers, deadline, report)


def _start_workers(servers: StackServers, deadline: float, report: Report) -> None:
    """Starts the standing workers and waits until they are ready, but not for long: loads can do without them."""
    for worker in servers.workers:
        start_if_stopped(worker, report)
    deadline = min(deadline, time.monotonic() + _WORKER_SECONDS)
    for worker in servers.workers:
        try:
            await_ready(worker, deadline)
        except StackError as error:
            report(f"loads start workers of their own until there is a standing one: {error}")


def _start_kafka(settings: Settings, state: StackState, servers: StackServers, deadline: float, report: Report) -> None:
    """Formats Kafka's storage if needed, and returns when Kafka answers those who may ask it."""
    if not state.formatted:
        report("formatting Kafka's storage")
        with hold_format_arguments(settings) as accounts:
            run_command(settings, "kafka-format", kafka_format_command(settings, state.kafka_id, accounts), deadline)
    _start_and_await(servers.kafka, deadline, report)
    grant_access(settings, state.ports["kafka"], deadline)
    report("Kafka answers")


def _start_and_await(server: Server, deadline: float, report: Report) -> None:
    """Starts a server unless it runs, and returns when it answers.

    One that runs may be about to end: it keeps dying, and the supervisor has started it with the configuration from
    before this ``up``. It is started anew then.
    """
    may_end = find_process(server.pid_file) is not None
    start_if_stopped(server, report)
    try:
        await_ready(server, deadline)
    except StackError:
        if not may_end or find_process(server.pid_file) is not None:
            raise
        start_if_stopped(server, report)
        await_ready(server, deadline)


def _start_accumulo(
    settings: Settings, state: StackState, servers: StackServers, deadline: float, report: Report
) -> StackState:
    """Initialises Accumulo if needed, and returns the new state when Accumulo serves all tablets."""
    if not state.initialised:
        _remove_unfinished_instance(settings, servers)
    start_if_stopped(servers.zookeeper, report)
    if servers.hdfs:
        start_hdfs(settings, state, servers, deadline, report)
    await_ready(servers.zookeeper, deadline)
    root, labels = user_with_file(settings, "ingest"), settings.conf_folder / "kept-labels"
    if not state.initialised:
        report("initialising Accumulo")
        run_command(settings, "init", admin_command(settings, "init", INSTANCE, *root), deadline)
        state = save_state(settings, dataclasses.replace(state, initialised=True, principals=state.flavour.has_sasl))
    if state.principals != state.flavour.has_sasl:
        report("replacing Accumulo's users")
        run_command(settings, "reset", admin_command(settings, "reset", *root, labels), deadline)
    if state.flavour.has_sasl and not (state.prepared and state.principals):
        run_command(settings, "protect", admin_command(settings, "protect"), deadline)
    for left in reversed(range(_PREPARE_TRIES)):
        for server in servers.accumulo:
            start_if_stopped(server, report)
        try:
            _prepare_accumulo(
                settings, servers, deadline, labels if state.principals != state.flavour.has_sasl else None
            )
            break
        except ServerEndedError:
            # A server that ran may still have to notice that it has lost its lock, for example on a disk that was full.
            if not left or find_process(servers.zookeeper.pid_file) is None:
                raise
    for server in servers.accumulo:
        await_ready(server, deadline)
    state = save_state(settings, dataclasses.replace(state, principals=state.flavour.has_sasl))
    labels.unlink(missing_ok=True)
    report("Accumulo serves all tablets")
    return state


def _prepare_accumulo(settings: Settings, servers: StackServers, deadline: float, labels: Path | None) -> None:
    """Returns when all tablets are served, and the query user exists. Raises ``ServerEndedError`` if a server ends.

    ``labels`` names the file with the labels that new users get, as they take the place of others.
    """
    # It ends some seconds before it would be killed, so that it can tell how many tablets are served.
    left = max(5, int(deadline - time.monotonic()) - _PREPARE_LEAD)
    users = (*user_with_file(settings, "ingest"), *user_with_file(settings, "query"))
    adopted = () if labels is None else (labels,)
    command = admin_command(settings, "prepare", settings.client_properties, *users, str(left), *adopted)
    run_command(settings, "prepare", command, deadline, watch=(servers.zookeeper, *servers.accumulo))


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
