"""Sessions of browsers: a random text, kept by its digest in memory, that stands for a token until one of them ends."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from .token import Token, hash_token


@dataclass(frozen=True)
class SessionLimits:
    """The most sessions, in all and per token, and the seconds that a session lasts at most."""

    sessions: int
    sessions_per_token: int
    lifetime_seconds: float


@dataclass(frozen=True)
class Session:
    """An open session. ``digest`` is the SHA-256 of its text; ``ends`` is a time of ``time.monotonic``."""

    digest: str
    token: Token
    ends: float


class Sessions:
    """The open sessions of a service. They are lost when it stops. Safe to use from several threads.

    ``is_in_force`` tells whether a token is still good: a session ends with its token. Where a token, or the service,
    would have too many sessions, the oldest of them ends.
    """

    def __init__(self, is_in_force: Callable[[Token], bool], limits: SessionLimits) -> None:
        self._is_in_force, self.limits = is_in_force, limits
        self._lock = threading.Lock()
        self._by_digest: dict[str, Session] = {}  # the oldest first

    def open_session(self, token: Token) -> str:
        """Opens a session of a token and returns its text: 256 random bits, which are kept nowhere."""
        text = secrets.token_urlsafe(32)
        session = Session(hash_token(text), token, time.monotonic() + self.limits.lifetime_seconds)
        with self._lock:
            own = [known for known in self._by_digest.values() if known.token.name == token.name]
            for known in own[: max(0, len(own) + 1 - self.limits.sessions_per_token)]:
                del self._by_digest[known.digest]
            while len(self._by_digest) >= self.limits.sessions:
                del self._by_digest[next(iter(self._by_digest))]
            self._by_digest[session.digest] = session
        return text

    def find_session(self, text: str) -> Session | None:
        """Returns the open session with this text, or None."""
        session = self._by_digest.get(hash_token(text))
        return session if session is not None and self.is_open(session) else None

    def is_open(self, session: Session) -> bool:
        """Returns whether a session that was found earlier is still open; forgets it if its time or token has ended."""
        if self._by_digest.get(session.digest) is not session:
            return False
        if time.monotonic() >= session.ends or not self._is_in_force(session.token):
            self.end_session(session)
            return False
        return True

    def end_session(self, session: Session) -> None:
        with self._lock:
            self._by_digest.pop(session.digest, None)
