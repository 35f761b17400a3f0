"""An application on waitress in a thread of the tests' own process, set as ``watchfloor serve`` sets it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask
from waitress import create_server


@contextmanager
def served(app: Flask, threads: int) -> Iterator[int]:
    """The port on which it answers; at the end the loop's thread has ended and every socket is closed."""
    server = create_server(app, host="127.0.0.1", port=0, threads=threads, channel_request_lookahead=1)
    loop = threading.Thread(target=server.run, daemon=True)
    loop.start()
    try:
        yield server.effective_port
    finally:
        server.task_dispatcher.shutdown(timeout=1)

        def close() -> None:
            server.close()
            server.asyncore.close_all(server._map)

        # The loop's own thread closes them, as it waits on them. It takes this lock to run what it is told: were it
        # not held until the write, a pull that a task has left behind could have it close the pipe under our hands.
        with server.trigger.lock:
            server.trigger.thunks.append(close)
            server.trigger.pull_trigger()
        loop.join(5)
        assert not loop.is_alive(), "the server's loop has not ended"
