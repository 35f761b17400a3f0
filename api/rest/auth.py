"""Bearer tokens of the REST service.

``secret/tokens.json`` (mode 0600) maps the SHA-256 of each token to who holds it and what they may see:
``{"<sha-256 in hex>": {"name": "soc", "authorizations": ["tlp_amber"]}}``; ``null`` instead of the list means all that
the service's Accumulo user may see. The file is read again when it changes. A first token is made with it and kept in
``secret/rest.token`` (mode 0600), for the person at this machine; it is never printed.
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
class Holder:
    """Who a token belongs to. ``authorizations`` None: all that the service's user has."""

    name: str
    authorizations: tuple[str, ...] | None


class Tokens:
    """The tokens of a file. Raises ``SettingsError`` when it is damaged or readable by others."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._holders: dict[str, Holder] = {}
        self._load()

    @classmethod
    def open(cls, secret: Path) -> Tokens:
        """The tokens in the folder ``secret``; makes the file with a first random token when there is none."""
        path = secret / TOKENS_FILE
        if not path.exists():
            try:
                secret.mkdir(mode=0o700, parents=True, exist_ok=True)
                token = secrets.token_urlsafe(32)
                _write_private(secret / FIRST_TOKEN_FILE, token.encode() + b"\n")
                first = {digest(token): {"name": FIRST_NAME, "authorizations": None}}
                _write_private(path, orjson.dumps(first, option=orjson.OPT_INDENT_2) + b"\n")
            except OSError as error:
                raise SettingsError(f"cannot write the tokens to {secret}: {error.strerror}") from None
        return cls(path)

    def holder(self, token: str) -> Holder | None:
        """Whose token this is. Every known digest is compared, each in constant time."""
        self._load()
        wanted, found = digest(token), None
        for known, holder in self._holders.items():
            if hmac.compare_digest(known, wanted):
                found = holder
        return found

    def _load(self) -> None:
        with self._lock:
            try:
                found = self.path.stat()
                stamp = (found.st_mtime_ns, found.st_ino)
                if stamp == self._stamp:
                    return
                if stat.S_IMODE(found.st_mode) & 0o077:
                    raise SettingsError(f"{self.path} can be read by others: chmod 600 it")
                self._holders = _parse(orjson.loads(self.path.read_bytes()))
                self._stamp = stamp
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise SettingsError(f"{self.path} cannot be used: {error}") from None


def digest(token: str) -> str:
    """SHA-256 in hex. Tokens are long and random, so a slow password hash would add nothing."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _parse(tokens: dict[str, Any]) -> dict[str, Holder]:
    holders = {}
    for key, value in tokens.items():
        if len(bytes.fromhex(key)) != 32:
            raise ValueError(f"{key!r} is not a SHA-256")
        granted = value["authorizations"]
        holders[key.lower()] = Holder(str(value["name"]), None if granted is None else tuple(map(str, granted)))
    return holders


def _write_private(path: Path, content: bytes) -> None:
    """A new file that nobody else can read at any moment."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
