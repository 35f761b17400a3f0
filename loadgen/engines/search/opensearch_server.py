"""A local OpenSearch server from an unpacked distribution: one node on the loopback address."""

from __future__ import annotations

import http.client
import os
import pwd
import shutil
import subprocess
from pathlib import Path

from watchfloor.loadgen.engines.limits import MEMORY_MB, THREADS
from watchfloor.schema.errors import StackError
from watchfloor.store.runtime.java_home import find_java
from watchfloor.store.stack.home.checks import find_free_ports

from .starting import wait_until_up

HOST = "127.0.0.1"
_START_SECONDS = 300
_USER = "nobody"
"""The user that the server runs as when root starts it: it refuses to run as root."""


class OpenSearchServer:
    """A running server; ``port`` is that of its REST interface. Raises StackError if it does not start."""

    def __init__(self, home: Path, folder: Path) -> None:
        """``home`` has the distribution; configuration, data and logs go into ``folder``, which must be empty.

        If root starts the server, the folder is given to ``nobody``, who must be able to reach it.
        """
        if not (home / "bin/opensearch").is_file():
            raise StackError(f"OPENSEARCH_HOME is {home}, which has no bin/opensearch")
        self.port, transport = find_free_ports(2)
        _write_configuration(home, folder, self.port, transport)
        user = _USER if os.geteuid() == 0 else None
        if user:
            _change_owner(folder, user)
        self._output_file = folder / "output.txt"
        with self._output_file.open("wb") as output:
            # The server stays in this process's group, which ``peer_process`` kills as a whole if this process does not
            # end.
            self._process = subprocess.Popen(
                [home / "bin/opensearch"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | _make_environment(home, folder),
                user=user,
                group=pwd.getpwnam(user).pw_gid if user else None,
                extra_groups=[] if user else None,
            )
        try:
            wait_until_up("OpenSearch", self._process, self._output_file, lambda: _is_up(self.port), _START_SECONDS)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        # Its data is no longer needed, and an orderly stop takes long on a busy machine.
        self._process.kill()
        self._process.wait()


def _write_configuration(home: Path, folder: Path, port: int, transport: int) -> None:
    """Writes the distribution's own configuration with other paths, ports and memory."""
    config, logs = folder / "config", folder / "logs"
    shutil.copytree(home / "config", config)
    logs.mkdir()
    options = (config / "jvm.options").read_text().replace("logs/", f"{logs}/")
    heap = MEMORY_MB // 2  # and as much for the system's cache of its files
    (config / "jvm.options").write_text(f"{options}\n-Xms{heap}m\n-Xmx{heap}m\n")
    (config / "opensearch.yml").write_text(
        f"""\
cluster.name: watchfloor-bench
discovery.type: single-node
network.host: {HOST}
http.port: {port}
transport.port: {transport}
path.data: {folder / "data"}
path.logs: {logs}
node.processors: {THREADS}
indices.memory.index_buffer_size: 25%
"""
    )


def _make_environment(home: Path, folder: Path) -> dict[str, str]:
    variables = {"OPENSEARCH_PATH_CONF": str(folder / "config"), "OPENSEARCH_TMPDIR": str(folder), "HOME": str(folder)}
    if "OPENSEARCH_JAVA_HOME" not in os.environ:
        # Full distributions come with their own Java.
        variables["OPENSEARCH_JAVA_HOME"] = str(home / "jdk" if (home / "jdk").is_dir() else find_java())
    return variables


def _change_owner(folder: Path, user: str) -> None:
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, user, pwd.getpwnam(user).pw_gid)


def _is_up(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
