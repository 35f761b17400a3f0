"""A local VictoriaLogs server, a single program without settings of its own, on the loopback address."""

from __future__ import annotations

import http.client
import os
import subprocess
import time
from pathlib import Path

from watchfloor.loadgen.engines.limits import MEMORY_MB, THREADS
from watchfloor.schema.errors import StackError
from watchfloor.store.stack.home.checks import find_free_ports

HOST = "127.0.0.1"
_START_SECONDS = 60


class VictoriaLogsServer:
    """A running server; ``port`` is that of its HTTP interface. Raises StackError if it does not start."""

    def __init__(self, program: Path, folder: Path) -> None:
        """``folder`` is for its data, which it finds again, and its output."""
        if not os.access(program, os.X_OK) or program.is_dir():
            raise StackError(f"VICTORIA_LOGS is {program}, which is no program")
        (self.port,) = find_free_ports(1)
        self._output_file = folder / "output.txt"
        with self._output_file.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    program,
                    f"-storageDataPath={folder / 'data'}",
                    f"-httpListenAddr={HOST}:{self.port}",
                    # Generated events are of the past.
                    "-retentionPeriod=100y",
                    # As often as it can: a load ends when its events are on the disk.
                    "-inmemoryDataFlushInterval=1s",
                    f"-memory.allowedBytes={MEMORY_MB}MB",
                    "-search.maxQueryDuration=1h",
                    # A client's connection stays open while other engines take their turns.
                    "-http.connTimeout=24h",
                    "-http.idleConnTimeout=24h",
                    # Events have no message, for which each answer would otherwise have a long text.
                    "-defaultMsgValue=-",
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"GOMAXPROCS": str(THREADS)},
            )
        try:
            self._wait_until_up()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        # Its data is no longer needed.
        self._process.kill()
        self._process.wait()

    def _wait_until_up(self) -> None:
        until = time.monotonic() + _START_SECONDS
        while not self._is_up():
            if self._process.poll() is not None or time.monotonic() > until:
                ended = self._process.poll()
                why = f"did not answer within {_START_SECONDS} s" if ended is None else f"ended with {ended}"
                raise StackError(f"VictoriaLogs {why}\n{self._output_file.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def _is_up(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()
