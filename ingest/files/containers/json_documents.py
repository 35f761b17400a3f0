"""Turns JSON documents into lines, one for each record: arrays, pretty-printed, wrapped and concatenated objects.

The bytes stay where they are: line ends within a record become spaces, and commas and brackets around records become
line ends. So a record's offset is its place in the document, memory is bounded by the block and not by the document,
and whatever is no record between records remains as a line of its own, which the format rejects. Only where two records
touch (``}{``) a line end is put in between. Of an object that wraps records (``{"Records": […]}``) what is around them
is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
import orjson

from watchfloor.ingest.files.compressions.blocks import BlockReader

# fmt: off
WRAPPING_NAMES = frozenset((
    "Events", "Logs", "Records", "data", "entries", "events", "hits", "items", "logEvents", "logs", "records",
    "results", "value", "values",
))
"""The names under which objects hold records."""
_ABOUT_NAMES = frozenset((
    "apiversion", "code", "count", "cursor", "has_more", "hasmore", "kind", "limit", "links", "loggroup",
    "logstream", "messagetype", "meta", "metadata", "next", "next_link", "next_token", "nextlink", "nexttoken",
    "offset", "owner", "page", "pagination", "paging", "request_id", "requestid", "status", "subscriptionfilters",
    "success", "timed_out", "took", "total",
))
"""The names, in lower case, that stand before the records of such an object; with any other it is a record itself."""
# fmt: on
_HEAD_BYTES = 64 << 10
"""The longest beginning of an object that is held back until it is known whether the object wraps records."""
_QUOTE = ord('"')
_OPENERS, _CLOSERS = (ord("{"), ord("[")), (ord("}"), ord("]"))
_DEEPEST = 2
"""The depth of records in an object that wraps them: no bracket deeper than that begins or ends one."""
_GAP = bytes.maketrans(b",[]\r\t", b"\n\n\n  ")
_BLANK = bytes.maketrans(bytes(range(256)), b" " * 256)
_MARK = b"\xef\xbb\xbf"
_FOLD = 0x20
"""Turns square brackets into curly ones."""
_PEEK_BYTES = 64
_GOES_ON = {b"{": b'"}', b",": b'"[-0123456789tfn', b"[": b'"{[]-0123456789tfn', b":": b'"{[-0123456789tfn'}
"""What may follow a line of an object that ends so: a value, a name, or the object's end."""


class _Place(Enum):
    """A part of the documents: around records, in one, or around their array."""

    TOP = auto()
    ARRAY = auto()
    RECORD = auto()
    WRAPPER = auto()
    """In an object that wraps records, outside their array."""


class _Open(Enum):
    """The line of the output that has no end yet."""

    NOTHING = auto()
    RECORD = auto()
    JUNK = auto()


class JsonDocuments:
    """Iterates over the content of ``source`` with its records as lines.

    ``fault`` says afterwards if the last document is not whole; ``wraps`` is true if an object wraps records.
    """

    breaks_off = True

    def __init__(self, source: BlockReader) -> None:
        self._source = source
        self.fault = ""
        self.wraps = False
        self._place, self._base, self._depth = _Place.TOP, 0, 0
        self._in_string = self._is_undecided = False
        self._open = _Open.NOTHING
        self._held = b""
        self._out: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        beginning: bytes | None = b""
        for block in self._source:
            if beginning is not None:
                block = beginning + block
                if len(block) < len(_MARK):
                    beginning = block
                    continue
                beginning = None
                if block.startswith(_MARK):
                    block = block.replace(_MARK, b" " * len(_MARK), 1)
            if lines := self.feed(block):
                yield lines
        if beginning and (lines := self.feed(beginning)):
            yield lines
        if rest := self.finish():
            yield rest

    def feed(self, block: bytes) -> bytes:
        """Returns the lines that the next block becomes, as far as they are known."""
        data = self._held + block
        # A backslash at the end belongs to the next byte.
        tail = len(data) - len(data.rstrip(b"\\")) if data.endswith(b"\\") else 0
        kept = data[len(data) - tail % 2 :]
        self._held = b""
        self._read(data[: len(data) - tail % 2])
        self._held += kept
        return self._take_out()

    def finish(self) -> bytes:
        """Returns the last lines."""
        rest, self._held, self._is_undecided = self._held, b"", False
        self._out.append(_as_one_line(rest))
        if self._place is not _Place.TOP:
            self.fault = "the JSON document ends early"
            if self._place is not _Place.RECORD:
                self._end_line()
        return self._take_out()

    def _take_out(self) -> bytes:
        out, self._out = b"".join(self._out), []
        return out

    def _read(self, data: bytes) -> None:
        """Adds the lines of ``data`` to the output; what must be held back goes to ``_held``."""
        while data:
            data = self._read_part(data)

    def _read_part(self, data: bytes) -> bytes:
        """Adds the lines of ``data`` up to a bracket that closes nothing, and returns what follows it."""
        if self._is_undecided:
            # What was held back is read from the object's beginning.
            self._place, self._depth, self._in_string = _Place.TOP, 0, False
        brackets = _find_brackets(data, self._depth, self._in_string)
        line = _as_one_line(data)
        at = 0  # what is before has been handled
        for place, depth in brackets.outer:
            octet = data[place]
            if self._place is _Place.RECORD:
                at = self._read_in_record(data, line, at, place, depth)
                continue
            self._add_gap(data[at:place])
            at = place + 1
            if depth < 0:
                self._add_gap(data[place:at], is_junk=True)
                self._depth, self._in_string = 0, False
                return data[at:]
            if self._begins_record(octet, depth):
                self._end_line()
                at = place
            else:
                self._pass_bracket(octet, depth)
        self._depth, self._in_string = brackets.depth, brackets.in_string
        self._add_rest(data, line, at)
        return b""

    def _read_in_record(self, data: bytes, line: bytes, at: int, place: int, depth: int) -> int:
        """Handles the bracket at ``place`` of a record that begins at ``at``. Returns the place to go on from."""
        opens = data[place] in _OPENERS
        if self._is_undecided and depth == _DEEPEST and data[place] == _OPENERS[1]:
            self._is_undecided = False
            if _begins_wrapper(data[at:place], data[place + 1 : place + 1 + _PEEK_BYTES]):
                self._out.append(data[at:place].translate(_BLANK) + b"\n")
                self._place, self._base, self._open, self.wraps = _Place.ARRAY, _DEEPEST, _Open.NOTHING, True
                return place + 1
        elif not opens and depth == self._base:
            self._out.append(line[at : place + 1])
            self._open, self._is_undecided = _Open.RECORD, False
            self._place = _Place.ARRAY if self._base else _Place.TOP
            return place + 1
        return at

    def _begins_record(self, octet: int, depth: int) -> bool:
        """Returns true, and goes into the record, if a bracket outside of records opens one."""
        if self._place is _Place.TOP and octet == _OPENERS[0]:
            self._base, self._is_undecided = 0, True
        elif self._place is not _Place.ARRAY or octet not in _OPENERS or depth != self._base + 1:
            return False
        self._place = _Place.RECORD
        return True

    def _pass_bracket(self, octet: int, depth: int) -> None:
        """Passes over a bracket around records."""
        if octet in _OPENERS:
            if octet == _OPENERS[1] and depth <= _DEEPEST:
                self._place, self._base = _Place.ARRAY, depth
        elif self._place is _Place.ARRAY or depth == 0:
            if octet != _CLOSERS[self._place is _Place.ARRAY]:
                self._out.append(b"\n%c" % octet)
            self._place = _Place.TOP if depth == 0 else _Place.WRAPPER
        self._out.append(b"\n")
        self._open = _Open.NOTHING

    def _add_gap(self, gap: bytes, is_junk: bool = False) -> None:
        """Adds what stands between records. Anything but commas and spaces there is a line of its own."""
        if not gap:
            return
        if self._place is _Place.WRAPPER:
            self._out.append(gap.translate(_BLANK))
            return
        text = gap if is_junk else gap.translate(_GAP)
        if junk := text.strip():
            if self._open is _Open.RECORD and b"\n" not in text[: text.index(junk)]:
                self._end_line()
            self._open = _Open.JUNK
        if text.endswith(b"\n") or (b"\n" in text and not junk):
            self._open = _Open.NOTHING
        self._out.append(text)

    def _add_rest(self, data: bytes, line: bytes, at: int) -> None:
        """Adds what follows the last bracket of a block that says anything, or holds it back."""
        if self._place is not _Place.RECORD:
            self._add_gap(data[at:])
        elif self._is_undecided and len(data) - at < _HEAD_BYTES:
            self._held = data[at:]
        else:
            self._is_undecided = False
            self._out.append(line[at:])

    def _end_line(self) -> None:
        if self._open is not _Open.NOTHING:
            self._out.append(b"\n")
            self._open = _Open.NOTHING


@dataclass(frozen=True)
class _Brackets:
    """The brackets of a block outside of strings.

    ``outer`` are the places of those near the top, with the depth after each; ``depth`` and ``in_string`` are those at
    the block's end.
    """

    outer: list[tuple[int, int]]
    depth: int
    in_string: bool


def _find_brackets(data: bytes, depth: int, in_string: bool) -> _Brackets:
    """Returns the brackets of a block that begins in this state, without a loop over its bytes."""
    if b"\\" in data:
        # Pairs first, from the left: what is left of a run of backslashes escapes the byte after it.
        data = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    octets = np.frombuffer(data, np.uint8)
    # Sums wrap around at 256, which keeps them odd or even.
    inside = np.cumsum(octets == _QUOTE, dtype=np.uint8)
    folded = octets | _FOLD
    places = np.flatnonzero((folded == _OPENERS[0]) | (folded == _CLOSERS[0]))
    quoted = (inside[places] & 1).astype(bool) != in_string
    places = places[~quoted]
    steps = np.where(folded[places] == _OPENERS[0], 1, -1)
    after = depth + np.cumsum(steps)
    outer = np.flatnonzero(np.minimum(after, after - steps) <= _DEEPEST)
    ends_inside = bool(inside[-1] & 1) != in_string
    return _Brackets(
        list(zip(places[outer].tolist(), after[outer].tolist(), strict=True)),
        int(after[-1]) if len(after) else depth,
        ends_inside,
    )


def _begins_wrapper(head: bytes, behind: bytes) -> bool:
    """Returns true if an object that begins with ``head``, up to an array in it, wraps the objects of the array."""
    if behind.lstrip()[:1] not in (b"{", b"]", b""):
        return False
    try:
        *before, last = orjson.loads(head + b"0}")
    except orjson.JSONDecodeError:
        return False
    return last in WRAPPING_NAMES and all(
        name.startswith(("@", "$", "_")) or name.lower() in _ABOUT_NAMES for name in before
    )


def _as_one_line(data: bytes) -> bytes:
    return data.replace(b"\n", b" ").replace(b"\r", b" ")


def is_json_document(beginning: bytes) -> bool:
    """Returns true if a file that begins so holds JSON in another form than an object a line."""
    text = beginning.removeprefix(_MARK).lstrip()
    if text.startswith(b"["):
        inner = text[1:].lstrip()
        return inner[1:].lstrip()[:1] in (b'"', b"}") if inner.startswith(b"{") else inner.strip() == b"]"
    if not text.startswith(b"{") or text[1:].lstrip()[:1] not in (b'"', b"}"):
        return False
    first, found, rest = text.partition(b"\n")
    brackets = _find_brackets(first, 0, False)
    end = next((place + 1 for place, depth in brackets.outer if not depth), None)
    probe = JsonDocuments(_NoBlocks())
    probe.feed(text if end is None else first[:end])
    if probe.wraps:
        return True
    if end is not None:
        return first[end:].lstrip(b" \t,").startswith(b"{")
    if not found or brackets.in_string:
        return False
    # The line ends within the object: either it is torn, or the next line goes on where this one has ended.
    last, next_octet = first.rstrip()[-1:], rest.lstrip()[:1]
    return next_octet in _GOES_ON.get(last, b",}]") if next_octet else False


class _NoBlocks:
    fault = ""
    breaks_off = True

    def __iter__(self) -> Iterator[bytes]:
        return iter(())
