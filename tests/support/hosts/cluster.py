"""A cluster of hosts, with Watchfloor on some of them: its servers, and commands that run on a host."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cluster_files import INSTANCE, ClusterFiles
from cluster_hdfs import DATANODE, NAMENODE, NAMENODE_PORT, ClusterHdfs
from cluster_kerberos import INGEST_USER, REALM, ClusterKerberos
from host_network import Network

from watchfloor.schema.settings.load import load_settings
from watchfloor.store.runtime.jars import ZSTD_OPTION, hdfs_class_path, server_class_path
from watchfloor.store.runtime.java_home import find_java
from watchfloor.store.runtime.private_files import UMASK, open_private

HEAD = "head"
"""The host with the KDC, ZooKeeper, Kafka, the NameNode, Accumulo's manager and its garbage collector."""
DATA = ("data1", "data2", "data3")
"""The hosts with a tablet server and a DataNode each."""
WORK = ("work1", "work2")
"""The hosts with workers; on the second one the REST service runs too."""
CLIENT = "client"
"""The host from which files are loaded and questions are asked."""
_SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:CICompilerCount=1", "-XX:-UsePerfData")


class Cluster:
    """The servers and the clients below one folder. ``close`` ends everything."""

    def __init__(self, folder: Path) -> None:
        self.network = Network((HEAD, *DATA, *WORK, CLIENT))
        self.folder = folder
        self._files = ClusterFiles(folder, self.network.addresses[HEAD])
        self._kerberos = ClusterKerberos(folder, self.network.addresses[HEAD])
        self.hdfs = ClusterHdfs(folder, HEAD, self.network.addresses, self._kerberos)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._kept: dict[tuple[str, str], Callable[[], subprocess.Popen[bytes]]] = {}
        """How each process that is to run always is started, by host and name."""
        self._running: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
        self._settings = load_settings(home=folder)

    def start(self) -> None:
        """Builds the hosts and starts all servers. Raises ``NetworkRefusedError`` where hosts cannot be built."""
        self.network.build()
        self._files.write(self.hdfs.volume)
        self._kerberos.write((HEAD, *DATA))
        self.hdfs.write()
        for host in (*WORK, CLIENT):
            self._files.write_client(host, self._kerberos)
        self._start_process_always(HEAD, "kdc", self._kerberos.command())
        self._start_hdfs()
        conf = self.folder / "conf"
        self._start_java(
            HEAD, "zookeeper", "128m", "org.apache.zookeeper.server.quorum.QuorumPeerMain", conf / "zoo.cfg"
        )
        accounts = f"@{self._files.secret('kafka-accounts')}"
        tool = ("kafka.tools.StorageTool", "format", "-t", "xtzWWN4bTjitpL3kfd9s5g", "-c", conf / "kafka.properties")
        self._run_java("kafka-format", *tool, accounts)
        self._start_java(HEAD, "kafka", "256m", "kafka.Kafka", conf / "kafka.properties")
        namenode = self._running[HEAD, "namenode"].pid
        wait_until(lambda: _is_listening(namenode, NAMENODE_PORT), 90, "the NameNode")
        login = (f"hdfs/{HEAD}@{REALM}", self._kerberos.keytab("hdfs"))
        ready = ("prepare", self.hdfs.volume, str(len(DATA)), "90", "new")
        self._run_java("prepare-hdfs", "watchfloor.stack.hdfs.HdfsCommand", *login, *ready)
        admin = "watchfloor.stack.AdminCommand"
        self._run_java("init", admin, "init", INSTANCE, INGEST_USER, self._files.secret("root"))
        self._start_accumulo(HEAD, "manager", "192m", "manager.port.client=9999")
        self._start_accumulo(HEAD, "gc", "96m", "gc.port.client=9998")
        for host in DATA:
            self._start_accumulo(host, "tserver", "320m", "tserver.port.client=9997")
        client = conf / "accumulo-client.properties"
        users = (INGEST_USER, self._files.secret("root"), "query", self._files.secret("query"))
        self._run_java("prepare", admin, "prepare", client, *users, "90")

    def keep_command(self, host: str, *arguments: str) -> None:
        """Starts a ``watchfloor`` command on a host, which ``start_ended`` starts again."""
        self._keep(host, arguments[0], lambda: self.start_command(host, arguments[0], *arguments))

    def end_command(self, host: str, name: str) -> None:
        """Ends a command that ``keep_command`` has started, as an operator does."""
        process = self._running.pop((host, name))
        process.terminate()
        process.wait(60)

    def start_ended(self) -> list[tuple[str, str]]:
        """Starts again the processes that have ended, as systemd does on a host, and returns their hosts and names."""
        ended = [key for key, process in self._running.items() if process.poll() is not None]
        for key in ended:
            self._running[key] = self._kept[key]()
        return ended

    def start_command(self, host: str, log: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts a ``watchfloor`` command on a host, whose output goes to a log."""
        return self.start_process(host, log, self.command(*arguments))

    def log(self, host: str, name: str) -> Path:
        """Returns the file with the output of a process."""
        return self.folder / "log" / f"{name}-{host}.out"

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "watchfloor.api.cli.main", *arguments]

    def run(self, host: str, command: Sequence[str], seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Runs a command on a host to its end, and returns what it printed. Raises ``TimeoutExpired``."""
        return subprocess.run(
            self.network.command(host, command), capture_output=True, text=True, timeout=seconds, **self._place(host)
        )

    def close(self) -> None:
        """Ends all processes on the hosts, and removes the hosts."""
        self.network.remove()
        for process in self._processes:
            process.wait(10)

    def _place(self, host: str) -> dict[str, Any]:
        """Returns where a process of a host runs: its working folder and its environment."""
        home = self.folder / "hosts" / host
        variables = {**os.environ, "WATCHFLOOR_HOME": str(home)}
        return {"cwd": self.folder, "env": variables, "stdin": subprocess.DEVNULL}

    def start_process(self, host: str, log: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with open_private(self.log(host, log), "ab") as output:
            process = subprocess.Popen(
                self.network.command(host, command),
                stdout=output,
                stderr=output,
                umask=UMASK,
                **self._place(host),
            )
        self._processes.append(process)
        return process

    def _start_hdfs(self) -> None:
        """Starts the NameNode and the DataNodes, and does not wait until they are ready."""
        formatted = self.run(
            HEAD, [*self._hdfs_java("namenode-format", "128m"), NAMENODE, "-format", "-nonInteractive"]
        )
        assert formatted.returncode == 0, f"namenode-format: {formatted.stderr}"
        self._start_process_always(HEAD, "namenode", [*self._hdfs_java(f"namenode-{HEAD}", "192m"), NAMENODE])
        for host in DATA:
            line = [*self._hdfs_java(f"datanode-{host}", "96m"), DATANODE, *self.hdfs.datanode_options(host)]
            self._start_process_always(host, "datanode", line)

    def _any_java(self, name: str, heap: str) -> list[str]:
        """Returns the beginning of the command line of each server, up to its class path."""
        return [
            str(find_java() / "bin/java"),
            *_SMALL,
            f"-Xmx{heap}",
            "-Djava.net.preferIPv4Stack=true",
            f"-Djava.io.tmpdir={self.folder / 'tmp'}",
            f"-Djava.security.krb5.conf={self._kerberos.config}",
            f"-Dwatchfloor.log={self.folder / 'log' / name}.log",
        ]

    def _hdfs_java(self, name: str, heap: str) -> list[str]:
        classes = hdfs_class_path(self._settings.jars, self.hdfs.conf)
        return [*self._any_java(name, heap), "-cp", ":".join(classes)]

    def _java(self, name: str, heap: str) -> list[str]:
        conf = self.folder / "conf"
        return [
            *self._any_java(name, heap),
            f"-Djava.security.auth.login.config={conf / 'login'}",
            f"-Dlog4j2.configurationFile={conf / 'log4j2.properties'}",
            f"-Daccumulo.properties=file://{conf}/accumulo.properties",
            "-Dwatchfloor.durability=flush",
            ZSTD_OPTION,
            *server_class_path(self._settings, find_java()),
        ]

    def _start_java(self, host: str, name: str, heap: str, *command: str | Path) -> None:
        self._start_process_always(host, name, [*self._java(f"{name}-{host}", heap), *map(str, command)])

    def _start_process_always(self, host: str, name: str, line: Sequence[str]) -> None:
        self._keep(host, name, lambda: self.start_process(host, name, line))

    def _keep(self, host: str, name: str, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._kept[host, name] = start
        self._running[host, name] = start()

    def _start_accumulo(self, host: str, kind: str, heap: str, port: str) -> None:
        address = self.network.addresses[host]
        self._start_java(host, kind, heap, "org.apache.accumulo.start.Main", kind, "-a", address, "-o", port)

    def _run_java(self, name: str, *command: str | Path) -> None:
        done = self.run(HEAD, [*self._java(name, "96m"), *map(str, command)])
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


def _is_listening(pid: int, port: int) -> bool:
    """Returns whether anything on the host of a process listens at a port."""
    sockets = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()]
    return any(socket[1].endswith(f":{port:04X}") and socket[3] == "0A" for socket in sockets)


def wait_until(true: Callable[[], bool], seconds: float, what: str) -> float:
    """Returns the seconds until a condition holds. Fails after ``seconds``, and says for what it has waited."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, f"waited {seconds:.0f} s in vain for {what}"
        time.sleep(0.2)
    return time.monotonic() - began
