"""The file of tokens, ``secret/tokens.json`` in the stack's folder: digests of tokens, never a token.

    {"version": 3, "tokens": [{"name", "digest", "role", "authorizations", "sources", "created", "expires"}, …]}

It is changed under a lock and replaced in one step, so that a reader finds the state before a change or the one after
it. Older versions are still read: 2 had no sources, and 1 was ``{"<digest>": {"name", "authorizations"}}`` and was
edited by hand.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from watchfloor.schema.errors import SettingsError, UserError, suggest_names
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.visibility.grant import EVERYTHING, Grant
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.runtime.private_files import write_private

from .token import Role, Token, check_token, hash_token, read_token

TOKENS_FILE, LOCK_FILE, FIRST_TOKEN_FILE, FIRST_NAME = "tokens.json", "tokens.lock", "rest.token", "first"
VERSION = 3
_LOCK_SECONDS = 10


class TokenFile:
    """The file of tokens in the folder ``secret``. Each method that changes it waits for its turn.

    Methods raise ``OperatorError`` if the file is missing, damaged, readable by others or cannot be written. The
    message names the file and the faulty entry's number, and repeats nothing of its content.
    """

    def __init__(self, secret: Path) -> None:
        self.path = secret / TOKENS_FILE
        self._first = secret / FIRST_TOKEN_FILE

    def read_tokens(self) -> tuple[Token, ...]:
        """Returns all tokens of the file, also those that have expired."""
        return self._read_content()[1]

    def find_damage(self) -> str | None:
        """Returns why the file cannot be read; None if it can, or if there is none."""
        try:
            if self.path.exists():
                self.read_tokens()
        except SettingsError as error:
            return str(error)
        return None

    def make_first(self) -> bool:
        """Makes the file with a first token, an admin's that sees everything, if there is none.

        The token is kept in ``rest.token`` (mode 0600) for the user of this machine. Returns whether it was made.
        """
        if self.path.exists():
            return False
        with self._hold_lock():
            if self.path.exists():
                return False
            text, token = _draw_token(FIRST_NAME, "admin", EVERYTHING, None)
            write_private(self._first, text + "\n")
            self._write([token])
        return True

    def upgrade(self) -> bool:
        """Writes a file of an older version in the present form. Returns whether it did."""
        if not self.path.exists() or self._read_content()[0] == VERSION:
            return False
        self._change(lambda tokens: tokens)
        return True

    def create_token(
        self,
        name: str,
        role: Role,
        authorizations: Sequence[str] | None,
        expires: int | None,
        sources: Sequence[str] | None = None,
    ) -> str:
        """Adds a token and returns its text, which is not kept anywhere.

        Raises ``UserError`` for a name that is taken, or a bad name, label or source.
        """
        text, token = _draw_token(name, role, _as_grant(authorizations, sources), expires)

        def add(tokens: list[Token]) -> list[Token]:
            if any(known.name == name for known in tokens):
                raise UserError(f"there is a token named {name!r} already; revoke or rotate it, or choose another name")
            return [*tokens, token]

        self._change(add)
        return text

    def rotate_token(self, name: str) -> str:
        """Replaces a token's text, returns the new one and ends the old one. Name, role and all else stay."""
        text = _draw_text()

        def rotate(tokens: list[Token]) -> list[Token]:
            old = _find_token(tokens, name)
            self._forget_first(old)
            return [replace(token, digest=hash_token(text)) if token is old else token for token in tokens]

        self._change(rotate)
        return text

    def revoke_token(self, name: str) -> None:
        """Removes a token. Raises ``UserError`` if there is none of that name."""

        def revoke(tokens: list[Token]) -> list[Token]:
            old = _find_token(tokens, name)
            self._forget_first(old)
            return [token for token in tokens if token is not old]

        self._change(revoke)

    def _change(self, change: Callable[[list[Token]], list[Token]]) -> None:
        """Replaces the tokens by what ``change`` makes of them. A missing file counts as one without tokens."""
        with self._hold_lock():
            known = list(self.read_tokens()) if self.path.exists() else []
            self._write(change(known))

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        busy = SettingsError(f"another process is changing {show_path(self.path)} for too long")
        with ExitStack() as held:
            try:
                held.enter_context(hold_file_lock(self.path.with_name(LOCK_FILE), busy, _LOCK_SECONDS))
            except OSError as error:
                raise SettingsError(f"{show_path(self.path.parent)} cannot be written: {error.strerror}") from None
            yield

    def _write(self, tokens: Sequence[Token]) -> None:
        content = {"version": VERSION, "tokens": [token.to_json() for token in tokens]}
        write_private(self.path, orjson.dumps(content, option=orjson.OPT_INDENT_2).decode() + "\n")

    def _forget_first(self, token: Token) -> None:
        """Removes ``rest.token`` if it holds this token, which ends."""
        try:
            if hash_token(self._first.read_text("utf-8", "surrogateescape").strip()) == token.digest:
                self._first.unlink()
        except FileNotFoundError:
            pass
        except OSError as error:
            raise SettingsError(f"cannot remove {show_path(self._first)}: {error.strerror}") from None

    def _read_content(self) -> tuple[int, tuple[Token, ...]]:
        """Returns the version of the file and its tokens."""
        try:
            with self.path.open("rb") as file:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                    raise SettingsError(f"{show_path(self.path)} can be read by others: chmod 600 it")
                content = file.read()
        except OSError as error:
            raise SettingsError(f"{show_path(self.path)} cannot be read: {error.strerror}") from None
        try:
            return _parse_content(content)
        except ValueError as error:
            hint = "restore it from a backup, or move it away and create the tokens anew by `watchfloor token create`"
            raise SettingsError(f"{show_path(self.path)} is damaged: {error}; {hint}") from None


def _parse_content(content: bytes) -> tuple[int, tuple[Token, ...]]:
    """Returns the version and the tokens of the file's content. Raises ``ValueError``, which repeats nothing of it."""
    try:
        whole = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"no JSON at line {error.lineno}, column {error.colno}") from None
    if not isinstance(whole, dict):
        raise ValueError("it is no JSON object")
    if "tokens" not in whole:
        return 1, _parse_version_1(whole)
    version = whole.get("version")
    if version not in (2, VERSION) or not isinstance(whole["tokens"], list):
        raise ValueError(f"it is not of version {VERSION}")
    tokens: list[Token] = []
    for number, form in enumerate(whole["tokens"], 1):
        with _NumberedEntry(number):
            token = read_token(form)
            if any(known.name == token.name or known.digest == token.digest for known in tokens):
                raise ValueError("its name or digest stands twice")
            tokens.append(token)
    return version, tuple(tokens)


def _parse_version_1(whole: Mapping[str, Any]) -> tuple[Token, ...]:
    """Returns the tokens of a file of version 1. Names that are bad or not unique are changed."""
    tokens: dict[str, Token] = {}
    for number, (digest, form) in enumerate(whole.items(), 1):
        with _NumberedEntry(number):
            granted = form["authorizations"]
            base = re.sub(r"[^A-Za-z0-9._@-]", "-", str(form["name"]))[:60].lstrip("._@-") or "token"
            name = next(n for k in range(1, len(whole) + 2) if (n := base if k == 1 else f"{base}-{k}") not in tokens)
            labels = None if granted is None else tuple(granted)
            tokens[name] = check_token(Token(name, digest.lower(), "analyst", labels, time.time_ns() // 1000))
    return tuple(tokens.values())


class _NumberedEntry:
    """Turns an error in its ``with`` block into a ``ValueError`` that names the entry by its number."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyError | TypeError | AttributeError):
            raise ValueError(f"entry {self._number} lacks a member or has one of another type") from None
        if isinstance(error, ValueError | UserError):
            raise ValueError(f"entry {self._number}: {error}") from None


def _draw_text() -> str:
    """Returns a new token: 256 random bits in URL-safe base64."""
    return secrets.token_urlsafe(32)


def _as_grant(authorizations: Sequence[str] | None, sources: Sequence[str] | None) -> Grant:
    """Returns a grant that names each label and source once."""
    labels, patterns = (None if names is None else tuple(dict.fromkeys(names)) for names in (authorizations, sources))
    return Grant(labels, patterns)


def _draw_token(name: str, role: Role, grant: Grant, expires: int | None) -> tuple[str, Token]:
    """Returns a new token's text and what is known of it."""
    text, created = _draw_text(), time.time_ns() // 1000
    return text, check_token(Token(name, hash_token(text), role, grant.labels, created, expires, grant.sources))


def _find_token(tokens: Sequence[Token], name: str) -> Token:
    for token in tokens:
        if token.name == name:
            return token
    raise UserError(f"there is no token named {name!r}{suggest_names(name, [token.name for token in tokens])}")
