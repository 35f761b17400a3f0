"""One standing worker: an ingest worker that a stack keeps ready, with the server of loads beside it.

The stack starts it with its settings on standard input. Its name and the digest of these settings stand in the command
line, by which ``up`` sees whether it would be started in the same way now.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from logging.handlers import RotatingFileHandler

from watchfloor.ingest.worker.process import run_process
from watchfloor.ingest.worker.worker import run_worker
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.bridge.jvm import start_jvm
from watchfloor.store.bridge.threads import start_thread

from .load_server import LoadServer
from .warm_up import warm_up

_LOG_BYTES = 4 << 20


def run_standing_worker(name: str, digest: str) -> None:
    """Runs the worker ``name`` until a signal; does not return."""

    def work(settings: Settings, stop: threading.Event) -> None:
        start_jvm(settings.jars, settings.jvm_heap, "standing")
        warming: list[threading.Thread] = []
        with LoadServer(settings, name, digest) as server:

            def begin() -> None:
                server.open()
                warming.append(start_thread(partial(warm_up, settings, name, server.asked), "warm-up"))

            run_worker(settings, stop, on_ready=begin)
        for thread in warming:
            thread.join()  # it drops its table

    def open_log(settings: Settings) -> logging.Handler:
        return RotatingFileHandler(settings.home / "log" / f"{name}.log", maxBytes=_LOG_BYTES, backupCount=2)

    run_process(work, open_log)
