"""The configuration of HDFS on a cluster of hosts: a NameNode on one, a DataNode on some, under Kerberos."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cluster_kerberos import INGEST_USER, REALM, ClusterKerberos

from watchfloor.store.runtime.core_site import format_core_site, format_site
from watchfloor.store.runtime.private_files import make_private_folder, write_private
from watchfloor.store.stack.hdfs.hdfs_site import VOLUME, select_core, select_hdfs
from watchfloor.store.stack.hdfs.write_hdfs import LOGGING

NAMENODE_PORT = 8020
_DEAD_MILLIS = 5_000
"""A DataNode that is silent counts as dead after twice this time and ten heartbeats, of a second each."""
_REPLICAS = 3
_HDFS = "org.apache.hadoop.hdfs.server"
NAMENODE = f"{_HDFS}.namenode.NameNode"
DATANODE = f"{_HDFS}.datanode.DataNode"
TIMEOUTS: Mapping[str, object] = {
    "dfs.client.socket-timeout": 5_000,
    "dfs.datanode.socket.write.timeout": 10_000,
    "ipc.client.connect.timeout": 5_000,
    "ipc.client.connect.max.retries.on.timeouts": 3,
    "ipc.client.rpc-timeout.ms": 20_000,
    "dfs.namenode.stale.datanode.interval": 2 * _DEAD_MILLIS,
    "dfs.namenode.avoid.read.stale.datanode": "true",
    "dfs.namenode.avoid.write.stale.datanode": "true",
}
"""How long a host that answers nothing is waited for; by default it is a minute and more."""


class ClusterHdfs:
    """The files below one folder. ``head`` is the host of the NameNode, whose address is in ``addresses``."""

    def __init__(self, folder: Path, head: str, addresses: Mapping[str, str], kerberos: ClusterKerberos) -> None:
        self._folder, self._head, self._addresses, self._kerberos = folder, head, addresses, kerberos

    @property
    def volume(self) -> str:
        """The address of Accumulo's volume."""
        return f"hdfs://{self._head}:{NAMENODE_PORT}{VOLUME}"

    @property
    def conf(self) -> Path:
        """The folder with the configuration of HDFS's servers, which is first on their class path."""
        return self._folder / "conf/hdfs"

    def disk(self, host: str) -> Path:
        """Returns the folder with all that a host's server of HDFS has stored."""
        return self._folder / "data/hdfs" / host

    def write(self) -> None:
        """Writes what servers and clients of HDFS read."""
        make_private_folder(self._folder / "data/hdfs")
        make_private_folder(self.conf)
        for page in ("hdfs", "datanode", "secondary", "static"):
            for part in ("webapps", f"webapps/{page}"):
                make_private_folder(self.conf / part)
        common, conf = self._common(), self._folder / "conf"
        own = common | self._servers()
        write_private(conf / "core-site.xml", format_core_site(True, select_core(common)))
        write_private(conf / "hdfs-site.xml", format_site(select_hdfs(common)))
        write_private(self.conf / "core-site.xml", format_site(select_core(own)))
        write_private(self.conf / "hdfs-site.xml", format_site(select_hdfs(own)))
        write_private(self.conf / "log4j.properties", LOGGING)

    def datanode_options(self, host: str) -> list[str]:
        """Returns the arguments of a host's DataNode."""
        address = self._addresses[host]
        options = {
            "dfs.datanode.data.dir": f"file://{self.disk(host)}",
            "dfs.datanode.hostname": host,
            "dfs.datanode.address": f"{address}:9866",
            "dfs.datanode.http.address": f"{address}:9864",
            "dfs.datanode.ipc.address": f"{address}:9867",
        }
        return [word for name, value in options.items() for word in ("-D", f"{name}={value}")]

    def _common(self) -> dict[str, object]:
        principal = f"hdfs/_HOST@{REALM}"
        return {
            "fs.defaultFS": f"hdfs://{self._head}:{NAMENODE_PORT}",
            "hadoop.rpc.protection": "authentication",
            # The ingest user stages files that Accumulo's servers then move.
            "hadoop.security.auth_to_local": f"RULE:[1:$1@$0]({INGEST_USER}@{REALM})s/.*/accumulo/ DEFAULT",
            "dfs.data.transfer.protection": "authentication",
            "dfs.block.access.token.enable": "true",
            "dfs.namenode.kerberos.principal": principal,
            "dfs.datanode.kerberos.principal": principal,
            "dfs.replication": _REPLICAS,
            # With three DataNodes there is none to take a dead one's place in the pipeline of a log.
            "dfs.client.block.write.replace-datanode-on-failure.best-effort": "true",
            **TIMEOUTS,
        }

    def _servers(self) -> dict[str, object]:
        address, web = self._addresses[self._head], f"HTTP/_HOST@{REALM}"
        return {
            "hadoop.security.authentication": "kerberos",
            "hadoop.security.authorization": "true",
            "fs.permissions.umask-mode": "077",
            "hadoop.security.group.mapping": "org.apache.hadoop.security.NullGroupsMapping",
            "hadoop.tmp.dir": self._folder / "tmp",
            "dfs.web.authentication.kerberos.principal": web,
            "dfs.web.authentication.kerberos.keytab": self._kerberos.keytab("HTTP"),
            "dfs.namenode.keytab.file": self._kerberos.keytab("hdfs"),
            "dfs.datanode.keytab.file": self._kerberos.keytab("hdfs"),
            "dfs.namenode.rpc-address": f"{self._head}:{NAMENODE_PORT}",
            "dfs.namenode.http-address": f"{address}:9870",
            "dfs.namenode.name.dir": f"file://{self.disk(self._head)}",
            "dfs.namenode.safemode.extension": 0,
            "dfs.namenode.redundancy.considerLoad": "false",
            "dfs.namenode.heartbeat.recheck-interval": _DEAD_MILLIS,
            "dfs.heartbeat.interval": 1,
            "dfs.namenode.handler.count": 4,
            "dfs.datanode.handler.count": 2,
            "dfs.datanode.max.transfer.threads": 512,
            "ignore.secure.ports.for.testing": "true",
        }
