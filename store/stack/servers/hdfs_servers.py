"""The servers of HDFS: a NameNode and DataNodes, and the commands that set it up."""

from __future__ import annotations

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.jars import hdfs_class_path
from watchfloor.store.runtime.java_home import find_java
from watchfloor.store.stack.hdfs.hdfs_site import datanode_options, hdfs_folder
from watchfloor.store.stack.home.stack_state import StackState, hdfs_names
from watchfloor.store.stack.security.kerberos import kerberos_option

from .process import Server, is_listening

_MAIN = "org.apache.hadoop.hdfs.server"
_NAMENODE, _DATANODE = f"{_MAIN}.namenode.NameNode", f"{_MAIN}.datanode.DataNode"
_NAMENODE_MIB, _DATANODE_MIB, _TOOL_MIB = 192, 96, 128
_FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:CICompilerCount=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    "-Djava.net.preferIPv4Stack=true",
)


def make_hdfs_servers(settings: Settings, state: StackState) -> tuple[Server, ...]:
    """Returns the NameNode and the DataNodes of a stack, ready to be started; none if it has local files."""
    return tuple(_make_server(settings, state, name) for name in hdfs_names(state.datanodes))


def namenode_format_command(settings: Settings) -> list[str]:
    """Returns the command that makes the NameNode's empty folder."""
    return [*_java_command(settings, "namenode-format", _TOOL_MIB), _NAMENODE, "-format", "-nonInteractive"]


def _make_server(settings: Settings, state: StackState, name: str) -> Server:
    is_namenode = name == "namenode"
    heap = _NAMENODE_MIB if is_namenode else _DATANODE_MIB
    options = (_NAMENODE,) if is_namenode else (_DATANODE, *datanode_options(settings, state, name))
    ports = {part: port for part, port in state.ports.items() if part == name or part.startswith(name + "_")}
    return Server(
        name=name,
        command=(*_java_command(settings, name, heap), *options),
        home=settings.home,
        ports=ports,
        is_ready=is_listening,
        memory=heap << 20,
    )


def _java_command(settings: Settings, name: str, heap: int) -> list[str]:
    """Returns the beginning of the command line of a process of HDFS. ``heap`` is in MiB."""
    return [
        str(find_java() / "bin" / "java"),
        *_FLAGS,
        f"-Xmx{heap}m",
        kerberos_option(settings),
        f"-Dwatchfloor.log={settings.home / 'log' / (name + '.log')}",
        f"-Dwatchfloor.server={name}",
        f"-Djava.io.tmpdir={settings.home / 'tmp'}",
        "-cp",
        ":".join(hdfs_class_path(settings.jars, hdfs_folder(settings))),
    ]
