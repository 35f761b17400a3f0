"""The standing workers: ingest workers that a stack keeps ready, so that a load need not start any.

This room knows no more of them than their command line, as of Java's servers. They listen on sockets in the stack's
folder, by which loads reach them (``ingest/standing/``).
"""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path

from watchfloor.schema.settings.parse_setting import parse_size
from watchfloor.schema.settings.purposes import digest_ingest
from watchfloor.schema.settings.settings import MIB, Settings
from watchfloor.store.runtime.lean_process import WORKER_ENVIRONMENT
from watchfloor.store.runtime.local_socket import connect_locally, socket_of_worker
from watchfloor.store.stack.home.stack_state import worker_names

from .process import Server, find_process, list_module_command

_MODULE = "watchfloor.ingest.standing"
_OWN_BYTES = 512 * MIB
"""What a worker uses beside the heap of its JVM while it reads a file."""


def make_standing_workers(settings: Settings, count: int) -> tuple[Server, ...]:
    """Returns the standing workers of a stack. They work with the settings of whoever starts them."""
    command = list_module_command(_MODULE)
    return tuple(
        Server(
            name,
            (*command, name, digest_ingest(settings)),
            settings.home,
            ports={},
            is_ready=partial(_is_ready, settings.home, name),
            memory=parse_size(settings.jvm_heap) + _OWN_BYTES,
            given=pickle.dumps(settings),
            environment=WORKER_ENVIRONMENT,
        )
        for name in worker_names(count)
    )


def has_other_settings(worker: Server) -> bool:
    """Returns whether a standing worker runs, with other settings than those with which it would be started now."""
    process = find_process(worker.pid_file)
    return process is not None and tuple(process.cmdline()) != worker.command


def _is_ready(home: Path, name: str, port: int) -> bool:
    connection = connect_locally(home, socket_of_worker(name))
    if connection is not None:
        connection.close()
    return connection is not None
