"""The flavour of a local stack: the file system under Accumulo, and how its parts prove who they are on the network."""

from __future__ import annotations

from dataclasses import dataclass

from watchfloor.schema.errors import StackError

SECURITY_LEVELS = ("none", "ssl", "auth", "auth-int", "auth-conf")
"""The levels of the published study of security: no TLS and no Kerberos; TLS on both sides; Kerberos that
authenticates, that also protects messages from change, and that also encrypts them."""

MOST_DATANODES = 32


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
        """True if the stack has a KDC: without Kerberos HDFS believes whatever user name a client tells."""
        return self.has_sasl or self.has_hdfs

    def describe(self) -> str:
        """Returns the flavour as words for ``status``."""
        files = f"HDFS with {self.datanodes} DataNodes" if self.has_hdfs else "local files"
        return f"{files}, security {self.security}"


def choose_flavour(before: Flavour | None, security: str | None, datanodes: int | None, has_data: bool) -> Flavour:
    """Returns the flavour of a stack from now on; ``before`` is None for a new stack, and the others for no change.

    Raises ``StackError`` if there is no such level of security, or if the stack has data that would be left behind.
    """
    flavour = before or Flavour()
    if security is not None and security not in SECURITY_LEVELS:
        raise StackError(f"{security!r} is no level of security: there are {', '.join(SECURITY_LEVELS)}")
    if datanodes is not None and not 0 < datanodes <= MOST_DATANODES:
        raise StackError(f"a stack has 1 to {MOST_DATANODES} DataNodes, not {datanodes}")
    if datanodes is not None and has_data:
        _check_data(flavour, datanodes)
    return Flavour(security or flavour.security, datanodes or flavour.datanodes)


def _check_data(flavour: Flavour, datanodes: int) -> None:
    """Raises ``StackError`` if files of a stack would be out of reach with this number of DataNodes."""
    if not flavour.has_hdfs:
        raise StackError(
            "the stack has its data in local files, and its file system cannot be changed: make a stack with --hdfs in "
            "another folder (--home) and load the data there"
        )
    if datanodes < flavour.datanodes:
        raise StackError(
            f"the stack has blocks on {flavour.datanodes} DataNodes, and cannot have {datanodes}: it may get more, "
            "not fewer"
        )
