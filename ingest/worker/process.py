"""Runs a worker as a process: its settings, its log, its signals and its end."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import UMASK

_STOP_SECONDS = 8.0
_LOOK_SECONDS = 0.1


def run_process(
    work: Callable[[Settings, threading.Event], None], handler: Callable[[Settings], logging.Handler] | None = None
) -> None:
    """Runs ``work`` with the settings from standard input until a signal or the end of the input; does not return.

    With a ``handler`` of the log, which else goes to standard error, the process goes on at the end of the input.
    If ``work`` does not stop within seconds then, because it waits for a server, the process ends all the same: its
    item is not committed and is read again.
    """
    os.umask(UMASK)
    settings: Settings = pickle.load(sys.stdin.buffer)
    handlers = None if handler is None else [handler(settings)]
    form = "%(asctime)s %(process)d %(levelname)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, handlers=handlers)
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it logs every retry; the queue reports what matters
    stop = threading.Event()
    flow = threading.Thread(target=work, args=(settings, stop), name="flow", daemon=True)
    flow.start()
    if handler is None:
        threading.Thread(target=_stop_with_pool, args=(stop,), name="lifeline", daemon=True).start()
    # The flow may stay in Java for long, so signals come to this thread, which does not. Their handler takes no lock,
    # because the code that it interrupts might hold it.
    signals: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: signals.append(number))
    while flow.is_alive() and not (signals or stop.is_set()):
        flow.join(_LOOK_SECONDS)
    if signals:
        stop.set()
    flow.join(_STOP_SECONDS)
    logging.shutdown()
    os._exit(0 if stop.is_set() else 1)


def _stop_with_pool(stop: threading.Event) -> None:
    """Sets ``stop`` when standard input ends: the pool holds its other end, so the pool has ended."""
    sys.stdin.buffer.read()
    stop.set()
