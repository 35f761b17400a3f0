"""The proof of who a process is, with which it connects to a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Credentials:
    """A user name and its password. Their text form does not show the password."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class KerberosCredentials:
    """A principal of Kerberos, which a key in a file proves, or a ticket that ``kinit`` has put into the user's cache.

    ``user`` is the whole principal, with its realm. ``keytab`` is None if the ticket is in the cache. ``config`` is the
    ``krb5.conf`` to use; None for the system's.
    """

    user: str
    keytab: Path | None = None
    config: Path | None = None


StoreCredentials = Credentials | KerberosCredentials
"""What Accumulo takes as the proof of a user."""
