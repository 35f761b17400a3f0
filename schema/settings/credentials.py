"""Who connects to the store, and how that is proved."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credentials:
    """A user and the user's password, the only kind of proof so far. Its text form does not show the password."""

    user: str
    password: str = field(repr=False)
