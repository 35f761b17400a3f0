"""Starts HDFS, and sets up what it lacks: the NameNode's folder, Accumulo's volume and policies of erasure coding."""

from __future__ import annotations

import time
from collections.abc import Callable

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import make_private_folder

from .hdfs.hdfs_site import VOLUME, hdfs_uri
from .home.stack_state import StackState
from .servers.command import run_command
from .servers.hdfs_servers import namenode_format_command
from .servers.process import Server, await_ready, find_process, start_server
from .servers.stack_servers import StackServers, hdfs_command

_LEAD = 5
"""The seconds that are left to a command for its message at the end."""
Report = Callable[[str], None]
"""Called with a line for each step."""


def start_hdfs(settings: Settings, state: StackState, servers: StackServers, deadline: float, report: Report) -> None:
    """Starts HDFS's servers, and returns when all DataNodes are live and Accumulo's volume is there.

    Raises ``StackError`` if the volume or its folder of logs is erasure-coded: what is flushed or synced to a coded
    file is not on any disk.
    """
    data = settings.home / "data/hdfs"
    make_private_folder(data)
    if not (data / "namenode/current/VERSION").exists():
        report("formatting HDFS")
        run_command(settings, "namenode-format", namenode_format_command(settings), deadline)
    namenode, *datanodes = servers.hdfs
    start_if_stopped(namenode, report)
    for server in datanodes:
        start_if_stopped(server, lambda line: None)
    report(f"HDFS starts with {len(datanodes)} DataNodes")
    for server in servers.hdfs:
        await_ready(server, deadline)
    left = max(5, int(deadline - time.monotonic()) - _LEAD)
    fresh = "old" if state.initialised else "new"
    command = hdfs_command(settings, "prepare", hdfs_uri(state) + VOLUME, state.datanodes, left, fresh)
    run_command(settings, "hdfs", command, deadline, watch=servers.hdfs)
    report("HDFS answers")


def start_if_stopped(server: Server, report: Report) -> None:
    """Starts a server whose process does not run."""
    if find_process(server.pid_file) is None:
        report(f"{'restarting' if server.pid_file.exists() else 'starting'} {server.name}")
        start_server(server)
