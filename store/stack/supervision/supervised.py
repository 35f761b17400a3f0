"""Starts and stops the supervisor of a stack, which is a process with a pid file like the servers'."""

from __future__ import annotations

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.servers.process import Server, find_process, make_helper, start_server, stop_process

SUPERVISOR = "supervisor"
_MODULE = "watchfloor.store.stack.supervision.supervisor"
_STOP_SECONDS = 5.0


def supervisor_process(settings: Settings) -> Server:
    """Returns the supervisor as a process of the stack. It listens on no port."""
    return make_helper(settings, SUPERVISOR, _MODULE)


def is_supervised(settings: Settings) -> bool:
    """Returns whether the stack's supervisor runs."""
    return find_process(supervisor_process(settings).pid_file) is not None


def start_supervisor(settings: Settings) -> None:
    """Starts the supervisor, in place of one that runs, whose settings may be others. Raises ``StackError``.

    The caller holds the stack's lock.
    """
    stop_supervisor(settings)
    start_server(supervisor_process(settings))


def stop_supervisor(settings: Settings) -> None:
    """Stops the supervisor if it runs. Servers go on, and stay dead when they die."""
    stop_process(supervisor_process(settings).pid_file, _STOP_SECONDS)
