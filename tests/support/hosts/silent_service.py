"""Serves an answer that begins and goes on in silence, and prints a line when its client has gone.

Argument: the address to listen on. It prints its port, and runs until it is killed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.connections import make_server

EVENT = b'{"id": 1}\n'
GONE = "the client has gone"


def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterator[bytes]:
    start_response("200 OK", [("Content-Type", "application/x-ndjson")])
    yield EVENT
    while not environ["waitress.client_disconnected"]():
        time.sleep(0.2)
    print(GONE, flush=True)


if __name__ == "__main__":
    server = make_server(answer, sys.argv[1], 0, RestLimits())
    print(server.effective_port, flush=True)
    server.run()
