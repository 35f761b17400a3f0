"""Keeps values that were read from the index for a time range."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RangeCache(Generic[K, V]):
    """Values by key, each with the time range [since, until) (µs) for which it was read.

    A snapshot always sees the same entries, so a value that it has read for a range holds for every range inside it.
    """

    def __init__(self) -> None:
        self._values: dict[K, tuple[int, int, V]] = {}

    def put(self, key: K, since: int, until: int, value: V) -> None:
        self._values[key] = since, until, value

    def __getitem__(self, key: K) -> V:
        return self._values[key][2]

    def find_missing(self, keys: Iterable[K], since: int, until: int) -> list[K]:
        """Returns the distinct keys for which there is no value that covers [since, until)."""
        return [key for key in dict.fromkeys(keys) if not self._covers(key, since, until)]

    def _covers(self, key: K, since: int, until: int) -> bool:
        """Returns whether the key has a value that was read for all of [since, until)."""
        if key not in self._values:
            return False
        first, last, _ = self._values[key]
        return first <= since and until <= last
