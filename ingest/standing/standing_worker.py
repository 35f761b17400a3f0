"""One standing worker: an ingest worker that a stack keeps ready, with the server of loads beside it.

The stack starts it with its settings on standard input. Its name and the digest of these settings stand in the command
line, by which ``up`` sees whether it would be started in the same way now.
"""

from __future__ import annotations

import logging
import threading
from logging.handlers import RotatingFileHandler

from watchfloor.ingest.worker.process import run_process
from watchfloor.ingest.worker.worker import run_worker
from watchfloor.schema.settings.settings import Settings

from .load_server import LoadServer

_LOG_BYTES = 4 << 20


def run_standing_worker(name: str, digest: str) -> None:
    """Runs the worker ``name`` until a signal; does not return."""

    def work(settings: Settings, stop: threading.Event) -> None:
        with LoadServer(settings, name, digest) as server:
            run_worker(settings, stop, on_ready=server.open)

    def open_log(settings: Settings) -> logging.Handler:
        return RotatingFileHandler(settings.home / "log" / f"{name}.log", maxBytes=_LOG_BYTES, backupCount=2)

    run_process(work, open_log)
