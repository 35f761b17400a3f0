"""Finds ``key=value`` pairs in a column of texts, all texts at once.

A key is letters, digits and ``_.-`` before an equals sign (or the style's own sign), at the beginning of a text or
behind a separator, where spaces between a quote, the separator and the key do not count. Its value goes to the next
separator, or from a quote behind the sign to a quote before a separator; a backslash takes a quote's meaning away.
With ``is_long`` an unquoted value goes on to the next key instead, as in CEF. A text with quotes in other places is
*odd* and goes through ``split_slowly``, which defines what a text means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.rows import Positions, cut_column

MOST_KEYS = 500
_QUOTE, _BACKSLASH = b'"\\'
_KEY_CHARACTERS = "A-Za-z0-9_.-"
_MARKS = ";,|"
"""The separators behind which a space may stand."""
_KEY = np.zeros(256, bool)
_KEY[[byte for byte in range(128) if re.fullmatch(f"[{_KEY_CHARACTERS}]", chr(byte))]] = True
_NOTHING = pa.scalar(None, pa.string())
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PairStyle:
    """``separator`` is the character between two pairs, ``sign`` the one between a key and its value."""

    separator: str = " "
    is_long: bool = False
    sign: str = "="

    @property
    def gap(self) -> str:
        """The regular expression of spaces behind a quote and a separator; empty if no spaces may stand there."""
        return rf'([^\\]"){re.escape(self.separator)} +' if self.separator in _MARKS else ""

    @property
    def escape(self) -> str:
        """The regular expression of what a backslash escapes: in quotes, or in any value if values are long."""
        return r'\\([=|"\\])' if self.is_long else r'\\(["\\])'


def split_pairs(text: pa.StringArray, style: PairStyle) -> dict[str, pa.StringArray]:
    """Returns a raw column for each of the first ``MOST_KEYS`` keys; of a key that comes twice the first value."""
    text = pc.fill_null(text, "")
    if style.gap:
        text = pc.replace_substring_regex(text, style.gap, rf"\1{style.separator}")
    scan = _PairScan(text, style)
    columns = scan.make_columns()
    odd = np.flatnonzero(scan.is_odd)
    if not len(odd):
        return columns
    found = [_split_closed(text[row].as_py(), style) for row in odd.tolist()]
    for key in dict.fromkeys(key for pairs in found for key in pairs):
        if key in columns or len(columns) < MOST_KEYS:
            values: list[str | None] = [None] * len(text)
            for row, pairs in zip(odd.tolist(), found, strict=True):
                values[row] = pairs.get(key)
            column = pa.array(values, pa.string())
            columns[key] = pc.coalesce(columns[key], column) if key in columns else column
    return columns


def split_slowly(text: str, style: PairStyle) -> dict[str, str]:
    """Returns the pairs of one text; none if a quote behind an equals sign is not closed, as in a line that is torn."""
    return _split_closed(re.sub(style.gap, rf"\1{style.separator}", text) if style.gap else text, style)


def _split_closed(text: str, style: PairStyle) -> dict[str, str]:
    """Returns the pairs of a text without spaces behind its separators."""
    between = re.escape(style.separator)
    quoted = rf'"((?:[^"\\]|\\.)*)"(?={between}|$)'
    key = rf"(?:^|(?<={between}))([{_KEY_CHARACTERS}]+){re.escape(style.sign)}"
    bare = rf"(.*?)(?={between}[{_KEY_CHARACTERS}]+{re.escape(style.sign)}|$)" if style.is_long else rf"([^{between}]*)"
    pairs: dict[str, str] = {}
    for match in re.finditer(rf"{key}(?:{quoted}|{bare})", text, re.DOTALL):
        if match[2] is None and match[3].startswith('"'):
            return {}
        value = match[3] if match[2] is None else match[2]
        if style.is_long or match[2] is not None:
            value = re.sub(style.escape, r"\1", value)
        pairs.setdefault(match[1], value)
    return pairs


class _PairScan:
    """The pairs of all texts that are not odd: pair i is of text ``rows[i]``; key and value are pieces of ``data``."""

    def __init__(self, text: pa.StringArray, style: PairStyle) -> None:
        bounds = np.frombuffer(text.buffers()[1], np.int32, len(text) + 1, text.offset * 4).astype(np.int64)
        data = text.buffers()[2]
        self._data = b"" if data is None else data[bounds[0] : bounds[-1]].to_pybytes()
        self._bounds = bounds - bounds[0]
        self._octets = np.frombuffer(self._data, np.uint8)
        self._style = style
        quotes = self._find_quotes()
        self._first_quotes = np.searchsorted(quotes, self._bounds)
        self.is_odd = self._find_odd(quotes)
        separators = self._find_outside(ord(style.separator), quotes)
        self._find_keys(self._find_outside(ord(style.sign), quotes), separators)
        self._exclude_inner_quotes(quotes)
        self._value_starts = self._key_ends + 1
        self._value_ends = self._find_value_ends(separators)

    def _find_quotes(self) -> Positions:
        """Returns the places of the quotes that no backslash stands before."""
        quotes = np.flatnonzero(self._octets == _QUOTE)
        return quotes[self._octets[np.clip(quotes - 1, 0, None)] != _BACKSLASH] if len(quotes) else quotes

    def _find_rows(self, places: Positions) -> Positions:
        """Returns the texts in which places are, which are in ascending order."""
        return np.repeat(np.arange(len(self._bounds) - 1), np.diff(np.searchsorted(places, self._bounds)))

    def _find_odd(self, quotes: Positions) -> _Mask:
        """Returns a mask of the texts whose quotes are not by turns behind an equals sign and before a separator."""
        odd = np.zeros(len(self._bounds) - 1, bool)
        if not len(quotes):
            return odd
        rows = self._find_rows(quotes)
        if self._style.is_long:  # quotes are rare there, and a value may go on behind them
            odd[rows] = True
            return odd
        opens = (np.arange(len(quotes)) - self._first_quotes[rows]) % 2 == 0
        behind = self._octets[np.clip(quotes - 1, 0, None)]
        ahead = self._octets[np.clip(quotes + 1, None, len(self._octets) - 1)]
        ends = (quotes + 1 == self._bounds[rows + 1]) | (ahead == ord(self._style.separator))
        fits = np.where(opens, (behind == ord(self._style.sign)) & (quotes > self._bounds[rows]), ends)
        odd[rows[~fits]] = True
        odd[np.flatnonzero(np.diff(self._first_quotes) % 2 == 1)] = True
        # Two backslashes before a quote are rare, and no rule for whole columns.
        doubled = np.flatnonzero((self._octets[:-1] == _BACKSLASH) & (self._octets[1:] == _BACKSLASH))
        odd[self._find_rows(doubled)] = True
        return odd

    def _find_outside(self, octet: int, quotes: Positions) -> Positions:
        """Returns the places of a byte in texts that are not odd, outside of quotes."""
        places = np.flatnonzero(self._octets == octet)
        if not len(quotes):
            return places
        rows = self._find_rows(places)
        before = np.searchsorted(quotes, places) - self._first_quotes[rows]
        return places[(before % 2 == 0) & ~self.is_odd[rows]]

    def _find_keys(self, equals: Positions, separators: Positions) -> None:
        """Sets the keys: they begin behind the last separator before an equals sign, or where their text begins."""
        rows = self._find_rows(equals)
        starts = self._bounds[rows]
        if len(separators):
            last = np.searchsorted(separators, equals) - 1
            starts = np.maximum(starts, np.where(last >= 0, separators[np.clip(last, 0, None)] + 1, 0))
        # An equals sign within a value has the same beginning as the one before it.
        is_first = np.ones(len(starts), bool)
        is_first[1:] = starts[1:] != starts[:-1]
        others = np.append(-1, np.flatnonzero(~_KEY[self._octets]))
        last_other = others[np.searchsorted(others, equals) - 1]
        is_key = is_first & (equals > starts) & (last_other < starts)
        self.rows, self._key_starts, self._key_ends = rows[is_key], starts[is_key], equals[is_key]

    def _exclude_inner_quotes(self, quotes: Positions) -> None:
        """Makes texts odd in which a quote opens behind another equals sign than a key's, and drops their pairs."""
        rows = self._find_rows(quotes)
        is_opening = (np.arange(len(quotes)) - self._first_quotes[rows]) % 2 == 0
        inner = np.isin(quotes[is_opening] - 1, self._key_ends, assume_unique=True, invert=True)
        if inner.any():
            self.is_odd[rows[is_opening][inner]] = True
            keep = ~self.is_odd[self.rows]
            self.rows, self._key_starts, self._key_ends = self.rows[keep], self._key_starts[keep], self._key_ends[keep]

    def _find_value_ends(self, separators: Positions) -> Positions:
        """Returns the places behind the last bytes of the values."""
        limits = self._bounds[self.rows + 1]
        if not self._style.is_long:
            following = np.append(separators, len(self._data))[np.searchsorted(separators, self._value_starts)]
            return np.minimum(limits, following)
        ends = limits.copy()
        goes_on = self.rows[1:] == self.rows[:-1]
        ends[:-1][goes_on] = self._key_starts[1:][goes_on] - 1
        return ends

    def make_columns(self) -> dict[str, pa.StringArray]:
        """Returns the values of each key as a column, null for texts without the key."""
        if not len(self.rows):
            return {}
        coded = cut_column(self._data, self._key_starts, self._key_ends).dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(coded.dictionary)), side="right")
        begins = np.append(0, ends[:-1])
        names = coded.dictionary.to_pylist()[:MOST_KEYS]
        return {name: self._make_column(order[begins[code] : ends[code]]) for code, name in enumerate(names)}

    def _make_column(self, pairs: Positions) -> pa.StringArray:
        count = len(self._bounds) - 1
        rows = self.rows[pairs]
        first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
        rows = rows[first]
        begin, end = self._value_starts[pairs[first]], self._value_ends[pairs[first]]
        quoted = self._octets[np.clip(begin, None, len(self._octets) - 1)] == _QUOTE
        quoted &= end - begin >= 2
        starts, ends = self._bounds[:-1].copy(), self._bounds[:-1].copy()
        starts[rows], ends[rows] = begin + quoted, end - quoted
        text = cut_column(self._data, starts, ends)
        if self._style.is_long:
            text = _undo_escapes(text, self._style.escape)
        elif quoted.any():
            is_quoted = np.zeros(count, bool)
            is_quoted[rows] = quoted
            text = pc.if_else(pa.array(is_quoted), _undo_escapes(text, self._style.escape), text)
        return self._mask_absent(text, rows, count)

    @staticmethod
    def _mask_absent(text: pa.StringArray, rows: Positions, count: int) -> pa.StringArray:
        """Returns a column with nulls for the texts that are not among ``rows``."""
        if len(rows) == count:
            return text
        has_key = np.zeros(count, bool)
        has_key[rows] = True
        return pc.if_else(pa.array(has_key), text, _NOTHING)


def _undo_escapes(text: pa.StringArray, escape: str) -> pa.StringArray:
    """Replaces what a regular expression matches by its group, in the texts with a backslash."""
    if not pc.any(pc.match_substring(text, "\\")).as_py():
        return text
    return pc.replace_substring_regex(text, escape, r"\1")
