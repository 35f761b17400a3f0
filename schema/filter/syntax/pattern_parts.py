"""Takes an RE2 pattern apart: finds its size with all repeats written out, and the characters that it names.

RE2 must have accepted the pattern already; its syntax is not checked again. ``PatternParts`` also tells whether the
pattern has parts that RE2 and the tablet servers' RE2/J read differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_NUMBER = r"(?:0|[1-9][0-9]*)"
_ESCAPE = r"""
      \\[pP](?:\{\^?(?P<class>[^}]*)\}|(?P<letter>.))
    | \\x\{(?P<wide>[0-9A-Fa-f]+)\} | \\x(?P<hex>[0-9A-Fa-f]{2}) | \\(?P<octal>[0-7]{1,3})
    | \\(?P<escaped>.)
"""
_TOKEN = re.compile(
    rf"""
      \\Q(?P<quoted>.*?)(?:\\E|\Z)
    | {_ESCAPE}
    | (?P<set>\[\^?\]?)
    | \(\?(?:P?<(?P<group>[^>]*)>|(?P<flags>[imsU-]*)(?P<colon>[:)]))
    | (?P<open>\() | (?P<close>\)) | (?P<bar>\|)
    | \{{(?P<least>{_NUMBER})(?P<comma>,(?P<most>{_NUMBER})?)?\}}\??
    | (?P<repeat>[*+?]\??)
    | (?P<place>[\^$])
    | (?P<any>\.)
    | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_MEMBER = re.compile(
    rf"\[:\^?\w+:\] | (?P<colon>\[:) | {_ESCAPE} | (?P<dash>-) | (?P<end>\]) | (?P<plain>.)", re.VERBOSE | re.DOTALL
)
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_REPEATS = frozenset(("repeat", "least", "comma", "most"))
_KINDS = frozenset("AbBCdDsSwWz")
"""Escapes that stand for a class of characters or a position, not for a character."""


@dataclass
class PatternParts:
    """The facts about a pattern that decide whether the tablet servers can run it."""

    steps: int = 0
    """The number of characters and operators when every counted repeat is written out: about six for ``(ab){3}``."""
    count: int = 0
    """The highest number in a counted repeat."""
    ignores_case: bool = False
    """True if a flag in the pattern ignores case, in the whole pattern or in a part of it."""
    repeats_brace: bool = False
    """True if a ``{`` that is a plain character is repeated, as in ``{*``."""
    half_class: bool = False
    """True if brackets contain a ``[:`` that begins no class."""
    takes_bytes: bool = False
    """True if the pattern contains ``\\C``, which stands for one byte."""
    classes: set[str] = field(default_factory=set)
    """The names of the Unicode classes in the pattern."""
    groups: list[str] = field(default_factory=list)
    """The names of the named groups, in their order."""
    ranges: list[tuple[str, str]] = field(default_factory=list)
    """The first and last character of each range in brackets; a character that stands alone is both."""


def read_parts(pattern: str) -> PatternParts:
    """Returns the parts of a pattern that RE2 accepts."""
    return _PatternReader(pattern).parts


class _PatternReader:
    """Reads a pattern from left to right.

    ``last`` is the number of steps of the last item, which a repeat that follows it multiplies. ``sums`` has the steps
    of each open group before its last item; the innermost group is at the end of the list.
    """

    def __init__(self, pattern: str) -> None:
        self.parts = PatternParts()
        self.pattern, self.at = pattern, 0
        self.sums, self.last = [0], 0
        before = ""
        while self.at < len(pattern):
            token = _TOKEN.match(pattern, self.at)
            assert token is not None, "any character is at least a plain one"
            self.at = token.end()
            self.parts.repeats_brace |= before == "{" and token.lastgroup in _REPEATS
            before = token[0]
            self.read_token(token)
        self.parts.steps = sum(self.sums) + self.last

    def read_token(self, token: re.Match[str]) -> None:
        """Adds one token to the parts."""
        match token.lastgroup:
            case "quoted":
                for character in token["quoted"]:
                    self.add_character(character)
            case "set":
                self.add_item()
                self.read_members(token["set"].endswith("]"))
            case "group":
                self.parts.groups.append(token["group"])
                self.open_group()
            case "colon":
                self.parts.ignores_case |= "i" in token["flags"].partition("-")[0]
                if token["colon"] == ":":
                    self.open_group()
            case "open":
                self.open_group()
            case "close":
                self.sums[-1] += self.last + 1
                self.last = self.sums.pop() if len(self.sums) > 1 else 0
            case "repeat":
                self.last += 1
            case kind if kind in _REPEATS:
                self.multiply_repeat(token)
            case "bar" | "place" | "any":
                self.add_item()
            case "plain":
                self.add_character(token["plain"])
            case _:
                self.add_escape(token)

    def add_item(self) -> None:
        """Completes the last item of the innermost group, and begins an item of one step."""
        self.sums[-1] += self.last
        self.last = 1

    def open_group(self) -> None:
        """Begins a group within the innermost group."""
        self.sums[-1] += self.last
        self.last = 0
        self.sums.append(0)

    def add_character(self, character: str) -> None:
        """Adds an item that is a plain character."""
        self.add_item()
        self.parts.ranges.append((character, character))

    def multiply_repeat(self, token: re.Match[str]) -> None:
        """Multiplies the steps of the last item by the largest number of repeats that ``{n,m}`` allows."""
        least = int(token["least"])
        most = int(token["most"]) if token["most"] else least + bool(token["comma"])
        self.parts.count = max(self.parts.count, most)
        self.last *= most

    def add_escape(self, token: re.Match[str]) -> None:
        """Adds the item that an escape stands for."""
        character = self.decode_escape(token)
        if character is None:
            self.add_item()
        else:
            self.add_character(character)

    def decode_escape(self, token: re.Match[str]) -> str | None:
        """Returns the character that an escape stands for; None for a class or a position."""
        name = token["class"] or token["letter"]
        if name or token["class"] is not None:
            self.parts.classes.add(name or "")
            return None
        if code := token["wide"] or token["hex"]:
            return chr(int(code, 16))
        if token["octal"]:
            return chr(int(token["octal"], 8))
        self.parts.takes_bytes |= token["escaped"] == "C"
        return None if token["escaped"] in _KINDS else _CONTROLS.get(token["escaped"], token["escaped"])

    def read_members(self, bracket: bool) -> None:
        """Reads what is left in brackets, and the closing bracket; with ``bracket`` a ``]`` was read as a member."""
        low = "]" if bracket else None
        dashed = False
        for character in self.split_members():
            if dashed and low is not None and character is not None:
                self.parts.ranges.append((low, character))
                low, dashed = None, False
            elif character == "-" and low is not None and not dashed:
                dashed = True
            else:
                self.parts.ranges += [(c, c) for c in (low, "-" if dashed else None) if c]
                low, dashed = character, False
        self.parts.ranges += [(c, c) for c in (low, "-" if dashed else None) if c]

    def split_members(self) -> Iterator[str | None]:
        """Yields each character in brackets, and None for each class. An escaped dash is not told from a plain one."""
        while self.at < len(self.pattern):
            token = _MEMBER.match(self.pattern, self.at)
            assert token is not None, "any character is at least a plain one"
            self.at = token.end()
            if token.lastgroup == "end":
                return
            if token.lastgroup is None:
                yield None
            elif token.lastgroup == "colon":
                self.parts.half_class = True
                yield from token["colon"]
            elif token.lastgroup in ("plain", "dash"):
                yield token[token.lastgroup]
            else:
                yield self.decode_escape(token)
