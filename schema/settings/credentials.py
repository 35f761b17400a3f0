"""The identity with which a process connects to the store, and its proof."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credentials:
    """A user and the user's password, the only kind of proof so far. Its text form does not show the password."""

    user: str
    password: str = field(repr=False)
