"""Bearer tokens of the REST service.

``secret/tokens.json`` (mode 0600) maps the SHA-256 of each token to its holder's name and authorizations:
``{"<sha-256 in hex>": {"name": "soc", "authorizations": ["tlp_amber"]}}``; ``null`` instead of the list means all that
the service's Accumulo user may see. The file is read again when it changes. When the file is made, a first token is
made too and kept in ``secret/rest.token`` (mode 0600), for the user of this machine; it is never printed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from watchfloor.schema.errors import SettingsError

TOKENS_FILE, FIRST_TOKEN_FILE, FIRST_NAME = "tokens.json", "rest.token", "first"


@dataclass(frozen=True)
class TokenHolder:
    """The owner of a token. ``authorizations`` None stands for all that the service's Accumulo user has."""

    name: str
    authorizations: tuple[str, ...] | None


class Tokens:
    """The tokens in a file. Raises ``SettingsError`` if the file is damaged or readable by others."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._holders: dict[str, TokenHolder] = {}
        self._load_changes()

    @classmethod
    def open(cls, secret: Path) -> Tokens:
        """Returns the tokens in the folder ``secret``. Makes the file with a first random token if there is none."""
        path = secret / TOKENS_FILE
        if not path.exists():
            try:
                secret.mkdir(mode=0o700, parents=True, exist_ok=True)
                token = secrets.token_urlsafe(32)
                _write_private(secret / FIRST_TOKEN_FILE, token.encode() + b"\n")
                first = {hash_token(token): {"name": FIRST_NAME, "authorizations": None}}
                _write_private(path, orjson.dumps(first, option=orjson.OPT_INDENT_2) + b"\n")
            except OSError as error:
                raise SettingsError(f"cannot write the tokens to {secret}: {error.strerror}") from None
        return cls(path)

    def find_holder(self, token: str) -> TokenHolder | None:
        """Returns the token's holder, or None. Every known digest is compared, each in constant time."""
        self._load_changes()
        asked, match = hash_token(token), None
        for known, holder in self._holders.items():
            if hmac.compare_digest(known, asked):
                match = holder
        return match

    def _load_changes(self) -> None:
        """Reads the file if it has changed since it was last read."""
        with self._lock:
            try:
                status = self.path.stat()
                stamp = (status.st_mtime_ns, status.st_ino)
                if stamp == self._stamp:
                    return
                if stat.S_IMODE(status.st_mode) & 0o077:
                    raise SettingsError(f"{self.path} can be read by others: chmod 600 it")
                self._holders = _parse_holders(orjson.loads(self.path.read_bytes()))
                self._stamp = stamp
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise SettingsError(f"{self.path} cannot be used: {error}") from None


def hash_token(token: str) -> str:
    """Returns the token's SHA-256 in hex. Tokens are long and random, so a slow password hash would add nothing."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _parse_holders(tokens: dict[str, Any]) -> dict[str, TokenHolder]:
    holders = {}
    for key, value in tokens.items():
        if len(bytes.fromhex(key)) != 32:
            raise ValueError(f"{key!r} is not a SHA-256")
        granted = value["authorizations"]
        holders[key.lower()] = TokenHolder(str(value["name"]), None if granted is None else tuple(map(str, granted)))
    return holders


def _write_private(path: Path, content: bytes) -> None:
    """Writes a new file that other users cannot read at any moment."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
