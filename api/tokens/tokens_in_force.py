"""The tokens that a running service accepts: those of the file's last good state."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

from watchfloor.schema.errors import SettingsError

from .token import Token, hash_token
from .token_file import TokenFile

log = logging.getLogger(__name__)


class TokensInForce:
    """Finds tokens by their text. Follows the file, and keeps the last good state while the file is damaged.

    ``damage`` is the reason why the file cannot be used now, for the operator alone; None if it can. Safe to use from
    several threads.
    """

    def __init__(self, secret: Path) -> None:
        """Raises ``SettingsError`` if the file is damaged, because there is no good state yet."""
        self._file = TokenFile(secret)
        self._lock = threading.Lock()
        self._stamp = self._read_stamp()
        self.damage: str | None = None
        self._by_digest: Mapping[str, Token] = _index_tokens(self._file)

    def find_token(self, text: str) -> Token | None:
        """Returns the token with this text, or None if none in force has it.

        It is found by its digest. Looking that up takes a time that depends on the digest and says nothing about the
        256 random bits of a token.
        """
        self._follow_file()
        token = self._by_digest.get(hash_token(text))
        return None if token is None or token.is_expired else token

    def is_in_force(self, token: Token) -> bool:
        """Returns whether a token that was found earlier has been neither revoked nor changed, and not expired."""
        self._follow_file()
        return self._by_digest.get(token.digest) == token and not token.is_expired

    def _follow_file(self) -> None:
        """Reads the file if it has changed since it was last read. A damaged file is logged once."""
        with self._lock:
            stamp = self._read_stamp()
            if stamp == self._stamp:
                return
            self._stamp = stamp
            try:
                self._by_digest = _index_tokens(self._file)
                self.damage = None
                log.info("the tokens were read again: %d", len(self._by_digest))
            except SettingsError as error:
                self.damage = str(error)
                log.error("%s; until then the tokens of its last good state stay in force", error)

    def _read_stamp(self) -> tuple[int, ...] | None:
        """Returns what changes with each change of the file; None if there is no file."""
        try:
            status = self._file.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode


def _index_tokens(file: TokenFile) -> dict[str, Token]:
    return {token.digest: token for token in file.read_tokens()}
