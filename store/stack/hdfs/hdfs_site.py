"""Hadoop's configuration of the NameNode, the DataNodes and their clients, as properties.

HDFS believes without Kerberos whatever user name a client tells. So its servers and clients are principals of the
stack's KDC at every level of security; the level decides how what they send is protected.
"""

from __future__ import annotations

from pathlib import Path

from watchfloor.schema.settings.settings import REALM, Settings
from watchfloor.store.stack.home.checks import LOOPBACK
from watchfloor.store.stack.home.flavour import Flavour
from watchfloor.store.stack.home.stack_state import StackState
from watchfloor.store.stack.security.kerberos import HOST, hdfs_keytab, hdfs_principal, web_keytab, web_principal

_PROTECTIONS = {"ssl": "privacy", "auth-conf": "privacy", "auth-int": "integrity"}
VOLUME = "/accumulo"
"""The folder of HDFS that is Accumulo's volume."""
_DEAD_MILLIS = 5_000
"""A DataNode that is silent counts as dead after twice this time and ten heartbeats, of a second each."""
_LOST_SECONDS = 30
"""A copy or a part that a DataNode was told to make is given to another one after this time, as it may be dead."""


def hdfs_folder(settings: Settings) -> Path:
    """Returns the folder with the configuration of HDFS's servers, which is first on their class path."""
    return settings.conf_folder / "hdfs"


def hdfs_uri(state: StackState) -> str:
    """Returns the address of the file system."""
    return f"hdfs://{HOST}:{state.ports['namenode']}"


def count_replicas(flavour: Flavour) -> int:
    """Returns the number of replicas of a file that is not erasure-coded."""
    return min(3, flavour.datanodes)


def common_properties(settings: Settings, state: StackState) -> dict[str, object]:
    """Returns the properties that servers and clients of HDFS have in common; none if the stack has local files."""
    if not state.flavour.has_hdfs:
        return {}
    protection = _PROTECTIONS.get(state.flavour.security, "authentication")
    return {
        "fs.defaultFS": hdfs_uri(state),
        "hadoop.rpc.protection": protection,
        # The ingest user stages files that Accumulo's servers then move, and both are the operator's.
        "hadoop.security.auth_to_local": f"RULE:[2:$1@$0](hdfs@{REALM})s/.*/hdfs/ "
        f"RULE:[1:$1@$0]({settings.find_principal('ingest')})s/.*/accumulo/ DEFAULT",
        "dfs.data.transfer.protection": protection,
        # Otherwise what is private is encrypted with the ciphers of DIGEST-MD5.
        "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
        "dfs.block.access.token.enable": "true",
        "dfs.namenode.kerberos.principal": hdfs_principal(),
        "dfs.datanode.kerberos.principal": hdfs_principal(),
        "dfs.replication": count_replicas(state.flavour),
        # With three DataNodes there is none to take a dead one's place in the pipeline of a log.
        "dfs.client.block.write.replace-datanode-on-failure.best-effort": "true",
    }


def server_properties(settings: Settings, state: StackState) -> dict[str, object]:
    """Returns the properties of the NameNode and of all DataNodes, beside the common ones."""
    ports, data = state.ports, settings.home / "data/hdfs"
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "fs.permissions.umask-mode": "077",
        # Otherwise the groups of the machine's users of these names are looked up, and of most there are none.
        "hadoop.security.group.mapping": "org.apache.hadoop.security.NullGroupsMapping",
        "hadoop.tmp.dir": settings.home / "tmp",
        # All pages ask for a ticket, also those that Hadoop leaves open by default.
        "hadoop.http.filter.initializers": "org.apache.hadoop.security.AuthenticationFilterInitializer",
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.kerberos.principal": web_principal(),
        "hadoop.http.authentication.kerberos.keytab": web_keytab(settings),
        "hadoop.http.authentication.signature.secret.file": settings.secret_folder / "hdfs-web.key",
        "dfs.web.authentication.kerberos.principal": web_principal(),
        "dfs.web.authentication.kerberos.keytab": web_keytab(settings),
        "dfs.namenode.keytab.file": hdfs_keytab(settings),
        "dfs.datanode.keytab.file": hdfs_keytab(settings),
        "dfs.namenode.rpc-address": f"{HOST}:{ports['namenode']}",
        "dfs.namenode.rpc-bind-host": LOOPBACK,
        "dfs.namenode.http-address": f"{LOOPBACK}:{ports['namenode_http']}",
        "dfs.namenode.name.dir": f"file://{data}/namenode",
        "dfs.namenode.safemode.extension": 0,
        "dfs.namenode.redundancy.considerLoad": "false",
        "dfs.namenode.heartbeat.recheck-interval": _DEAD_MILLIS,
        "dfs.namenode.stale.datanode.interval": 2 * _DEAD_MILLIS,
        "dfs.heartbeat.interval": 1,
        "dfs.namenode.reconstruction.pending.timeout-sec": _LOST_SECONDS,
        "dfs.namenode.handler.count": 4,
        "dfs.datanode.hostname": HOST,
        "dfs.datanode.handler.count": 2,
        "dfs.datanode.max.transfer.threads": 512,
        # It asks for HTTPS beside the protection of data, although its pages show no data: they ask for a ticket.
        "ignore.secure.ports.for.testing": "true",
        # A closed block is on the disk, as files of Accumulo replace its logs.
        "dfs.datanode.synconclose": str(settings.durability == "sync").lower(),
    }


def select_hdfs(properties: dict[str, object]) -> dict[str, object]:
    """Returns those of properties that belong in hdfs-site.xml: HDFS's defaults prevail over core-site.xml."""
    return {name: value for name, value in properties.items() if name.startswith("dfs.")}


def select_core(properties: dict[str, object]) -> dict[str, object]:
    """Returns those of properties that belong in core-site.xml."""
    return {name: value for name, value in properties.items() if not name.startswith("dfs.")}


def datanode_options(settings: Settings, state: StackState, name: str) -> tuple[str, ...]:
    """Returns the arguments of one DataNode: its folder and its ports."""
    options = {
        "dfs.datanode.data.dir": f"file://{settings.home}/data/hdfs/{name}",
        "dfs.datanode.address": f"{LOOPBACK}:{state.ports[name]}",
        "dfs.datanode.http.address": f"{LOOPBACK}:{state.ports[name + '_http']}",
        "dfs.datanode.http.internal-proxy.port": state.ports[name + "_proxy"],
        "dfs.datanode.ipc.address": f"{LOOPBACK}:{state.ports[name + '_ipc']}",
    }
    return tuple(word for key, value in options.items() for word in ("-D", f"{key}={value}"))
