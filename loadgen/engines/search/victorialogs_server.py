"""A local VictoriaLogs server, a single program without settings of its own, on the loopback address."""

from __future__ import annotations

import http.client
import os
import subprocess
from pathlib import Path

from watchfloor.loadgen.engines.limits import MEMORY_MB, THREADS
from watchfloor.schema.errors import StackError
from watchfloor.store.stack.home.checks import find_free_ports

from .starting import wait_until_up

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
            wait_until_up("VictoriaLogs", self._process, self._output_file, self._is_up, _START_SECONDS)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        # Its data is no longer needed.
        self._process.kill()
        self._process.wait()

    def _is_up(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()
