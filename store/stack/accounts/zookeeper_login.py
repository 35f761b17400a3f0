"""ZooKeeper's two accounts, as Java's login files (JAAS): one of the stack's servers, and one of its clients.

A session that does not authenticate (SASL with DIGEST-MD5) can do nothing. Servers own what they make in ZooKeeper;
clients may read most of it and write nothing (``AdminCommand.protectOpenNodes``). The clients' half is in Java's
``watchfloor.bridge.ZooKeeperLogin``.
"""

from __future__ import annotations

from pathlib import Path

from watchfloor.schema.settings.settings import ZOOKEEPER_CLIENT, Settings

_SERVER = "server"
_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"


def login_file(settings: Settings) -> Path:
    """Returns the path of the login file of all servers, which only their owner can read."""
    return settings.secret_folder / "servers.jaas"


def format_login_file(settings: Settings) -> str:
    """Returns the content of the login file: who may connect to ZooKeeper, and how a server of Accumulo does."""
    server, client = (
        (settings.secret_folder / f"zookeeper-{name}.password").read_text().strip() for name in ("server", "client")
    )
    return (
        f'Server {{ {_MODULE} required user_{_SERVER}="{server}" user_{ZOOKEEPER_CLIENT}="{client}"; }};\n'
        f'Client {{ {_MODULE} required username="{_SERVER}" password="{server}"; }};\n'
    )


def login_option(settings: Settings) -> str:
    """Returns the JVM option with which a server, or a command that acts for servers, logs in."""
    return f"-Djava.security.auth.login.config={login_file(settings)}"
