"""The user name and password with which a process connects to the store."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credentials:
    """A user name and its password. Their text form does not show the password."""

    user: str
    password: str = field(repr=False)
