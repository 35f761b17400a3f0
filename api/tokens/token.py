"""A bearer token as the service knows it: by its digest, with a name, a role, what it may see and an expiry."""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass
from typing import Any, Literal

from watchfloor.schema.choices import TOKEN_ROLES
from watchfloor.schema.errors import TimeRangeError, UserError
from watchfloor.schema.times import format_micros, parse_time
from watchfloor.schema.visibility.expressions import LABEL_FORM, is_label
from watchfloor.schema.visibility.grant import Grant

Role = Literal["analyst", "operator", "admin"]
"""A member of ``TOKEN_ROLES``."""
NAME_FORM = "1 to 64 letters, digits and . _ @ -, the first a letter or digit"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", re.ASCII)
PATTERN_FORM = "a source's name, or a pattern such as zeek.*"
_PATTERN = re.compile(r"[A-Za-z0-9_.*?\[\]!-]{1,200}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class Token:
    """A token without its text. ``name`` is unique and stays when the token is rotated.

    ``digest`` is the token's SHA-256 in hex. ``authorizations`` are the labels that the holder sees; None stands for
    all that the service's Accumulo user has. ``sources`` are names and patterns of the sources that it knows; None
    stands for all. ``created`` and ``expires`` are in µs since 1970 UTC; a token without ``expires`` is in force until
    it is revoked.
    """

    name: str
    digest: str
    role: Role
    authorizations: tuple[str, ...] | None
    created: int
    expires: int | None = None
    sources: tuple[str, ...] | None = None

    @property
    def grant(self) -> Grant:
        """The data that its holder may see."""
        return Grant(self.authorizations, self.sources)

    def has_role(self, role: Role) -> bool:
        """Returns whether the token is good for what needs ``role``. An admin's is good for everything."""
        return self.role in (role, "admin")

    @property
    def is_expired(self) -> bool:
        """True from the moment of its expiry on."""
        return self.expires is not None and self.expires <= time.time_ns() // 1000

    def to_json(self) -> dict[str, Any]:
        """Returns the token as the file has it; ``read_token`` reads it back."""
        return {
            "name": self.name,
            "digest": self.digest,
            "role": self.role,
            "authorizations": None if self.authorizations is None else list(self.authorizations),
            "sources": None if self.sources is None else list(self.sources),
            "created": format_micros(self.created),
            "expires": None if self.expires is None else format_micros(self.expires),
        }


def hash_token(text: str) -> str:
    """Returns a token's SHA-256 in hex. Tokens are 256 random bits, so a slow password hash would add nothing."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def check_token(token: Token) -> Token:
    """Returns the token. Raises ``UserError`` if its name, role, a label, a source or the digest is not valid.

    The message repeats no value, as a secret may have been put in the wrong place.
    """
    if not _NAME.fullmatch(token.name):
        raise UserError(f"a token's name is {NAME_FORM}")
    if token.role not in TOKEN_ROLES:
        raise UserError(f"a token's role is one of {', '.join(TOKEN_ROLES)}")
    if not all(map(is_label, token.authorizations or ())):
        raise UserError(f"a label is {LABEL_FORM}, as in source definitions; empty ones and other characters are not")
    if not all(map(_PATTERN.fullmatch, token.sources or ())):
        raise UserError(f"a source of a token is {PATTERN_FORM}; other characters and empty ones are not allowed")
    if token.sources is not None and not token.sources:
        raise UserError("a token is bound to one source at least, or to none")
    if not _DIGEST.fullmatch(token.digest):
        raise UserError("a token's digest is a SHA-256 in 64 lower-case hexadecimal digits")
    return token


def read_token(form: dict[str, Any]) -> Token:
    """Returns the token that an object of the file describes.

    Raises ``KeyError``, ``TypeError`` or ``UserError`` if it describes none.
    """
    granted, sources, expires = form["authorizations"], form.get("sources"), form["expires"]
    texts = [form["name"], form["digest"], form["role"], form["created"], *(granted or ()), *(sources or ())]
    lists = isinstance(granted, list | None) and isinstance(sources, list | None)
    if not lists or not all(isinstance(text, str) for text in texts):
        raise TypeError
    return check_token(
        Token(
            name=form["name"],
            digest=form["digest"],
            role=form["role"],
            authorizations=None if granted is None else tuple(granted),
            created=_read_time(form["created"]),
            expires=None if expires is None else _read_time(expires),
            sources=None if sources is None else tuple(sources),
        )
    )


def _read_time(text: str) -> int:
    """Returns the microseconds of a time in the file. Raises ``UserError``, which does not repeat the text."""
    try:
        return parse_time(text, 0)
    except TimeRangeError:
        raise UserError("its times are not all in ISO 8601") from None
