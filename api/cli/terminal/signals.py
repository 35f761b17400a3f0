"""Commands that run until they are told to stop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Yields an event that SIGTERM and Ctrl-C set. A second Ctrl-C raises ``KeyboardInterrupt``."""
    stop = threading.Event()
    # A handler may interrupt this thread while it holds the event's lock; setting the event there would never return.
    # Therefore another thread sets it.
    reader, writer = os.pipe()
    received: list[int] = []

    def handle_signal(number: int, frame: FrameType | None) -> None:
        if received and number == signal.SIGINT:
            raise KeyboardInterrupt
        received.append(number)
        os.write(writer, b"!")

    def set_stop() -> None:
        if os.read(reader, 1):
            stop.set()

    listener = threading.Thread(target=set_stop, name="signals", daemon=True)
    listener.start()
    earlier_handlers = {number: signal.signal(number, handle_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in earlier_handlers.items():
            signal.signal(number, handler)
        os.close(writer)
        listener.join()
        os.close(reader)
