"""Finds many literal texts in strings at once: an automaton after Aho and Corasick, run on all strings side by side.

The strings are read byte by byte, each byte of all of them in one step, so that a step is a few operations of arrays.
Long strings are cut into pieces that overlap by the longest literal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MAX_LITERAL = 48
"""The largest number of bytes of a literal."""
_MAX_BYTES = 200_000
"""The number of bytes of all literals from which on a further automaton is made: a byte needs some hundred of them."""
_PIECE = 256
"""The number of bytes of a string that are read in one piece, without the overlap."""
_PIECES = 65_536
"""The number of pieces that are read side by side."""
_MAX_HITS = 1_000_000
"""The number of hits that are kept before those that are the same are made one."""
Numbers = npt.NDArray[np.int64]
_Integers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Literal:
    """A text of 1 to ``MAX_LITERAL`` bytes that a string has: at its start, at its end, at both or anywhere."""

    text: bytes
    at_start: bool = False
    at_end: bool = False


class LiteralFinder:
    """Finds literals in strings; the place of a literal in the list that is given is its number."""

    def __init__(self, literals: Sequence[Literal]) -> None:
        self._count = len(literals)
        self._automata: list[tuple[int, _Automaton]] = []
        first = size = 0
        for number, literal in enumerate(literals):
            if size > _MAX_BYTES:
                self._automata.append((first, _Automaton(literals[first:number])))
                first, size = number, 0
            size += len(literal.text)
        if literals:
            self._automata.append((first, _Automaton(literals[first:])))

    def find(self, values: pa.StringArray) -> dict[int, Numbers]:
        """Returns the indices of the values that have a literal, ascending, by the number of each that any has."""
        found: dict[int, Numbers] = {}
        for first, automaton in self._automata:
            pairs = automaton.find_pairs(values)
            numbers, places = np.divmod(pairs, max(1, len(values)))
            ends = np.flatnonzero(np.diff(numbers, append=-1)) + 1
            start = 0
            for end in ends.tolist():
                found[first + int(numbers[start])] = places[start:end]
                start = end
        return found


class _Automaton:
    """The automaton of some literals. States are numbered so that those in which a literal ends come last."""

    def __init__(self, literals: Sequence[Literal]) -> None:
        nodes = _Trie(literals)
        self._lengths = np.array([len(one.text) for one in literals], np.int64)
        self._at_start = np.array([one.at_start for one in literals], bool)
        self._at_end = np.array([one.at_end for one in literals], bool)
        self._longest = int(self._lengths.max())
        used = np.unique(np.frombuffer(b"".join(one.text for one in literals), np.uint8))
        self._classes: _Integers = np.zeros(256, np.uint8 if len(used) < 256 else np.uint16)
        self._classes[used] = np.arange(1, len(used) + 1)
        self._width = len(used) + 1
        table, fails = nodes.build_table(self._classes.astype(np.int64), self._width)
        ending = nodes.list_endings(fails)
        counts = np.array([len(ends) for ends in ending], np.int64)
        order = np.argsort(counts > 0, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        self._table = (rank[table[order]] * self._width).astype(np.int32).ravel()
        silent = int((counts == 0).sum())
        self._first_ending = silent * self._width
        self._silent = silent
        self._counts = counts[order][silent:]
        self._starts = np.cumsum(self._counts) - self._counts
        self._ends = np.array([number for node in order[silent:] for number in ending[node]], np.int64)

    def find_pairs(self, values: pa.StringArray) -> Numbers:
        """Returns ``literal * len(values) + value`` for each literal that a value has, ascending."""
        offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
        offsets = offsets.astype(np.int64)
        if not len(values) or offsets[0] == offsets[-1]:
            return np.empty(0, np.int64)
        data = np.frombuffer(values.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
        classes = self._classes[data]
        offsets = offsets - offsets[0]
        lengths = np.diff(offsets)
        pieces = np.maximum(1, -((self._longest - 1 - lengths) // _PIECE))
        owners = np.repeat(np.arange(len(values)), pieces)
        begins = (np.arange(len(owners)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) * _PIECE
        sizes = np.minimum(lengths[owners] - begins, _PIECE + self._longest - 1)
        kept = [np.empty(0, np.int64)]
        waiting = 0
        order = np.argsort(-sizes, kind="stable")
        for start in range(0, len(order), _PIECES):
            rows = order[start : start + _PIECES]
            for places, states, end in self._read_pieces(classes, (offsets[owners] + begins)[rows], sizes[rows]):
                those = rows[places]
                hits = self._select_hits(owners[those], states, begins[those] + end, lengths)
                kept.append(hits)
                waiting += len(hits)
                if waiting > _MAX_HITS:
                    kept, waiting = [_sort_distinct(kept)], 0
        return _sort_distinct(kept)

    def _read_pieces(
        self, classes: _Integers, starts: Numbers, sizes: Numbers
    ) -> Iterator[tuple[_Integers, _Integers, int]]:
        """Yields the pieces in which literals end, the states there, and the number of bytes read.

        The pieces come in descending order of their sizes.
        """
        states = np.zeros(len(starts), np.int32)
        many = np.searchsorted(-sizes, -np.arange(int(sizes[0])), side="left").tolist()
        for step, count in enumerate(many):
            read = states[:count]
            read += classes[starts[:count] + step]
            np.take(self._table, read, out=read, mode="clip")
            places = np.flatnonzero(read >= self._first_ending)
            if len(places):
                yield places, read[places] // self._width - self._silent, step + 1

    def _select_hits(self, owners: Numbers, states: _Integers, ends: Numbers, lengths: Numbers) -> Numbers:
        """Returns the pairs of the literals that end in some states, if each is where it must be in its value."""
        counts = self._counts[states]
        each = np.repeat(np.arange(len(states)), counts)
        within = np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers = self._ends[self._starts[states][each] + within]
        owners, ends = owners[each], ends[each]
        fits = ~self._at_start[numbers] | (ends == self._lengths[numbers])
        fits &= ~self._at_end[numbers] | (ends == lengths[owners])
        return numbers[fits] * len(lengths) + owners[fits]


def _sort_distinct(parts: Sequence[Numbers]) -> Numbers:
    """Returns the distinct numbers of all parts, ascending."""
    numbers = np.sort(np.concatenate(parts))
    return numbers[np.diff(numbers, prepend=-1) != 0]


class _Trie:
    """The tree of the beginnings of literals: node 0 is the empty text."""

    def __init__(self, literals: Sequence[Literal]) -> None:
        self._children: dict[tuple[int, int], int] = {}
        self._own: dict[int, list[int]] = {}
        depths = [0]
        for number, literal in enumerate(literals):
            node = 0
            for depth, byte in enumerate(literal.text, 1):
                child = self._children.setdefault((node, byte), len(depths))
                if child == len(depths):
                    depths.append(depth)
                node = child
            self._own.setdefault(node, []).append(number)
        self._depths = np.array(depths)

    def build_table(self, classes: Numbers, width: int) -> tuple[Numbers, Numbers]:
        """Returns the next node for each node and class of bytes, and for each node its longest other ending."""
        table = np.zeros((len(self._depths), width), np.int64)
        fails = np.zeros(len(self._depths), np.int64)
        parents, bytes_ = np.array(list(self._children), np.int64).T
        nodes = np.array(list(self._children.values()), np.int64)
        depths = self._depths[nodes]
        for depth in range(1, int(depths.max()) + 1):
            level = np.flatnonzero(depths == depth)
            above, into = parents[level], classes[bytes_[level]]
            if depth > 1:
                fails[nodes[level]] = table[fails[above], into]
            table[above, into] = nodes[level]
            # A node goes on as its longest other ending does, until its own children are put in.
            table[nodes[level]] = table[fails[nodes[level]]]
        return table, fails

    def list_endings(self, fails: Numbers) -> list[tuple[int, ...]]:
        """Returns for each node the numbers of the literals that end there."""
        endings: list[tuple[int, ...]] = [()] * len(fails)
        for node in np.argsort(self._depths, kind="stable").tolist():
            own, other = self._own.get(node), endings[fails[node]]
            endings[node] = (*own, *other) if own else other
        return endings
