"""Chooses sources by a pattern: a name, a list ``a,b``, a glob such as ``zeek.*``, or ``*``."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from watchfloor.schema.errors import UnknownSourceError, UserError


def names_several(pattern: str) -> bool:
    """Returns whether a pattern is a list or a glob, and not the name of one source."""
    return any(mark in pattern for mark in ",*?[")


def choose_sources(pattern: str, known: Iterable[str]) -> tuple[str, ...]:
    """Returns the names that a pattern stands for, each once, in their order by name.

    Raises ``UnknownSourceError`` for a name that is not known, and ``UserError`` for a glob that fits none.
    """
    known = sorted(known)
    chosen: set[str] = set()
    for part in (part.strip() for part in pattern.split(",")):
        if not part:
            raise UserError(f"{pattern!r} has an empty name; write sources as a,b or zeek.* or *")
        if names_several(part):
            fitting = [name for name in known if fnmatchcase(name, part)]
            if not fitting:
                raise UserError(f"no source fits {part!r}; known are {', '.join(known) or 'none'}")
        elif part in known:
            fitting = [part]
        else:
            raise UnknownSourceError(part, known)
        chosen.update(fitting)
    return tuple(sorted(chosen))
