"""The flavour of a local stack: the file system under Accumulo, and how its parts prove who they are on the network."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from watchfloor.schema.errors import StackError

SECURITY_LEVELS = ("none", "ssl", "auth", "auth-int", "auth-conf")
"""The levels of the published study of security: no TLS and no Kerberos; TLS on both sides; Kerberos that
authenticates, that also protects messages from change, and that also encrypts them."""


@dataclass(frozen=True)
class Flavour:
    """One flavour. ``security`` is one of ``SECURITY_LEVELS``; ``datanodes`` is 0 if Accumulo's files are local."""

    security: str = "none"
    datanodes: int = 0

    @property
    def has_tls(self) -> bool:
        """True if Accumulo's servers and clients speak TLS and show each other certificates."""
        return self.security == "ssl"

    @property
    def has_sasl(self) -> bool:
        """True if Accumulo's users are principals of Kerberos, and its messages are protected by SASL."""
        return self.security.startswith("auth")

    @property
    def is_secured(self) -> bool:
        """True if the network between the parts is not trusted: then Kafka speaks TLS too."""
        return self.security != "none"

    @property
    def host(self) -> str:
        """The host that Accumulo's servers announce. With Kerberos it is in the name of their principal."""
        return "localhost" if self.has_sasl else "127.0.0.1"

    @property
    def has_hdfs(self) -> bool:
        """True if Accumulo's files are in HDFS."""
        return self.datanodes > 0

    @property
    def has_kdc(self) -> bool:
        """True if the stack has a KDC."""
        return self.has_sasl

    def describe(self) -> str:
        """Returns the flavour as words for ``status``."""
        files = f"HDFS with {self.datanodes} DataNodes" if self.has_hdfs else "local files"
        return f"{files}, security {self.security}"


def choose_flavour(before: Flavour | None, security: str | None) -> Flavour:
    """Returns the flavour of a stack from now on; ``before`` is None for a new stack, and ``security`` for no change.

    Raises ``StackError`` if there is no such level of security.
    """
    flavour = before or Flavour()
    if security is None:
        return flavour
    if security not in SECURITY_LEVELS:
        raise StackError(f"{security!r} is no level of security: there are {', '.join(SECURITY_LEVELS)}")
    return dataclasses.replace(flavour, security=security)
