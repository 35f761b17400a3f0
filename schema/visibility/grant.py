"""The data that the holder of a token may see: with certain labels, of certain sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Grant:
    """Labels, and patterns of sources such as ``zeek.*``.

    ``labels`` None stands for all that the Accumulo user has, and ``sources`` None for all sources. The store enforces
    labels; a source that fits no pattern is shown by no catalog.
    """

    labels: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None


EVERYTHING = Grant()


def fits_patterns(name: str, patterns: Iterable[str] | None) -> bool:
    """Returns whether a source's name fits one of ``patterns``; None stands for all names."""
    return patterns is None or any(fnmatchcase(name, pattern) for pattern in patterns)
