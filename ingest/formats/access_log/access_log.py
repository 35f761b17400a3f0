"""Parses web access logs, common and combined:

    client ident user [10/Oct/2000:13:55:36 -0700] "METHOD path HTTP/1.0" 200 2326 "referrer" "user agent"

The quotes of all lines of a chunk are found at once; the places of a line's parts follow from them and from its first
three spaces. Lines for which that does not work (spaces in a user name, stray quotes) go through a regular expression.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.batch import event_batch
from watchfloor.ingest.columns.convert import Reasons, text_column
from watchfloor.ingest.columns.leftovers import Leftovers
from watchfloor.ingest.columns.rows import Mask, Positions, Rows, cut_column
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.parsing.parsed import ParsedChunk, parse_lines
from watchfloor.schema.source import Source

from .torn_records import TIME_WITHIN, explain_head, explain_no_match, reject_torn_heads, reject_torn_times

QUOTE, BACKSLASH, OPEN, CLOSE, SPACE = b'"\\[] '
_TIME_WIDTH = len("10/Oct/2000:13:55:36 -0700")
TEXT_PARTS = ("client", "ident", "user", "ts", "request", "status", "bytes", "referrer", "user_agent")
_TIME = 1 + TEXT_PARTS.index("ts")  # the group of the time in the regular expressions
_ABSENT = "-"  # the text that servers write for a part without a value

_HEAD = r'(\S+) (\S+) ([^\s"[\]][^"[\]]*?|) \[([^\]]{0,64})\] '
_STRICT = re.compile(
    _HEAD + r'"((?:[^"\\]|\\.)*)" (\S+) (\S+)(?: "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)")?',
    re.DOTALL,
)
# Servers before 2004 did not escape quotes. The limit keeps a hostile line from costing much backtracking. A quote and
# a space behind one another end a part, so that a line with fields behind the user agent is none of these.
_LAX = re.compile(_HEAD + r'"(.*)" ([0-9]+|-) ([0-9]+|-)(?: "([^"]*)" "((?:[^"]|"(?! ))*)")?', re.DOTALL)
_LAX_BYTES = 8192
_FORM = 'an access log line: client ident user [time] "request" status bytes, then maybe "referrer" "user agent"'


class AccessLogParser:
    """Reads lines into a source that has the fields of ``web.access``."""

    ordered = False

    def __init__(self, source: Source) -> None:
        self._source = source

    def parse(self, chunk: Chunk) -> ParsedChunk:
        return parse_lines(chunk, self._read_rows)

    def _read_rows(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Adds the events of lines: quickly for lines in one of the two forms, slowly for all others."""
        common, combined, others = _split_by_form(rows)
        for form in (common, combined):
            if form is not None:
                lines, cuts = form
                texts = {name: cut_column(lines.data, *cuts[name]) for name in cuts}
                self._add_events(lines, texts, Leftovers(self._source), parsed)
        if len(others):
            self.parse_slowly(others, parsed)

    def parse_slowly(self, rows: Rows, parsed: ParsedChunk) -> None:
        """Parses UTF-8 lines one by one. This defines what an access log line is."""
        leftovers = Leftovers(self._source)
        texts: dict[str, list[str | None]] = {name: [] for name in TEXT_PARTS}
        for row in range(len(rows)):
            line = rows.line_at(row).decode()
            match = _match_line(line)
            if match is None:
                leftovers.reasons[row] = explain_no_match(line, _FORM)
            for name, value in zip(TEXT_PARTS, match.groups() if match else [None] * len(TEXT_PARTS), strict=True):
                texts[name].append(value)
        self._add_events(
            rows, {name: pa.array(values, pa.string()) for name, values in texts.items()}, leftovers, parsed
        )

    def _add_events(
        self, rows: Rows, texts: dict[str, pa.StringArray], leftovers: Leftovers, parsed: ParsedChunk
    ) -> None:
        """Adds the events of lines, from the texts of the parts as they stand in the lines."""
        columns: dict[str, pa.Array] = {}
        fields = self._source.fields_by_name
        for name in ("ident", "user", "status", "bytes"):
            faults: Reasons = {}
            text = _absent_as_null(texts[name])
            columns[name] = text_column(fields[name], text, "", faults)
            leftovers.add_misfits(name, faults, text)
        columns["client"] = texts["client"]
        reject_torn_heads(texts["client"], texts["ident"], texts["user"], leftovers.reasons)
        reject_torn_times(texts["ts"], self._source.time_format, leftovers.reasons)
        columns["ts"] = text_column(fields["ts"], texts["ts"], self._source.time_format, leftovers.reasons)
        columns |= _request_columns(texts["request"])
        for name in ("referrer", "user_agent"):
            if name in texts:
                columns[name] = _unescape_quotes(_absent_as_null(texts[name]))
        parsed.add(self._source, *event_batch(self._source, columns, rows, leftovers))


Cuts = dict[str, tuple[Positions, Positions]]
"""The positions at which each part begins and ends in each line, by the part's name."""


def _split_by_form(rows: Rows) -> tuple[tuple[Rows, Cuts] | None, tuple[Rows, Cuts] | None, Rows]:
    """Returns the lines of the common form and their parts, those of the combined form, and all others.

    The first two are None if no line has the form.
    """
    data = rows.octets
    quotes = _find_unescaped(data, np.flatnonzero(data == QUOTE))
    first = np.searchsorted(quotes, rows.starts)
    count = np.searchsorted(quotes, rows.ends) - first
    # Padding lets every line look at the third space and the sixth quote; lines that lack them are ruled out below.
    spaces = np.append(np.flatnonzero(data == SPACE), np.full(3, len(data)))
    space = np.searchsorted(spaces[:-3], rows.starts)
    matched = np.zeros(len(rows), bool)
    forms: list[tuple[Rows, Cuts] | None] = []
    for quote_count in (2, 6):
        candidates = np.flatnonzero(count == quote_count)
        form = None
        if len(candidates):
            lines = rows.select(candidates)
            line_quotes = [quotes[first[candidates] + i] for i in range(quote_count)]
            line_spaces = [spaces[space[candidates] + i] for i in range(3)]
            good, cuts = _find_parts(lines, line_quotes, line_spaces)
            matched[candidates[good]] = True
            if good.any():
                form = lines.select(good), {name: (a[good], b[good]) for name, (a, b) in cuts.items()}
        forms.append(form)
    return forms[0], forms[1], rows.select(~matched)


def _find_parts(rows: Rows, quotes: list[Positions], spaces: list[Positions]) -> tuple[Mask, Cuts]:
    """Finds the parts of lines with 2 or 6 unescaped quotes.

    Returns a mask of the lines that have all parts, and the positions of the parts.
    """
    data, last = rows.octets, len(rows.data) - 1

    def octets_at(positions: Positions) -> npt.NDArray[np.uint8]:
        return data[np.clip(positions, 0, last)]

    opening, closing = quotes[0], quotes[1]
    stamp = spaces[2] + 2
    good = stamp + _TIME_WIDTH + 2 == opening
    good &= (octets_at(spaces[2] + 1) == OPEN) & (octets_at(opening - 2) == CLOSE) & (octets_at(opening - 1) == SPACE)
    good &= (spaces[0] > rows.starts) & (spaces[1] > spaces[0] + 1) & (spaces[2] > spaces[1] + 1)
    brackets = np.flatnonzero((data == OPEN) | (data == CLOSE))
    good &= np.searchsorted(brackets, rows.starts) == np.searchsorted(brackets, spaces[2])
    status = closing + 2
    tail = quotes[2] - 1 if len(quotes) == 6 else rows.ends
    good &= (octets_at(closing + 1) == SPACE) & (octets_at(status + 3) == SPACE) & (tail > status + 4)
    for place in range(3):
        good &= (octets_at(status + place) - np.uint8(48)) < 10
    # The byte count must be one word: digits, or a dash. That its text is a number is checked later.
    width = tail - status - 4
    for place in range(int(min(width[good].max(), 20)) if good.any() else 0):
        character = octets_at(status + 4 + place)
        good &= (place >= width) | ((character - np.uint8(48)) < 10) | ((character == ord("-")) & (width == 1))
    good &= width <= 20
    cuts: Cuts = {
        "client": (rows.starts, spaces[0]),
        "ident": (spaces[0] + 1, spaces[1]),
        "user": (spaces[1] + 1, spaces[2]),
        "ts": (stamp, stamp + _TIME_WIDTH),
        "request": (opening + 1, closing),
        "status": (status, status + 3),
        "bytes": (status + 4, tail),
    }
    if len(quotes) == 6:
        good &= (octets_at(tail) == SPACE) & (quotes[5] == rows.ends - 1)
        good &= (quotes[4] == quotes[3] + 2) & (octets_at(quotes[3] + 1) == SPACE)
        cuts["referrer"] = (quotes[2] + 1, quotes[3])
        cuts["user_agent"] = (quotes[4] + 1, quotes[5])
    return good, cuts


def _find_unescaped(data: npt.NDArray[np.uint8], quotes: Positions) -> Positions:
    """Returns the positions of the quotes that have an even number of backslashes before them."""
    doubtful = np.flatnonzero((quotes > 0) & (data[quotes - 1] == BACKSLASH))
    if not len(doubtful):
        return quotes
    keep = np.ones(len(quotes), bool)
    for place in doubtful:
        position = begin = int(quotes[place])
        while begin > 0 and data[begin - 1] == BACKSLASH:
            begin -= 1
        keep[place] = (position - begin) % 2 == 0
    return quotes[keep]


def _request_columns(request: pa.StringArray) -> dict[str, pa.Array]:
    """Returns the columns method, path and protocol, and the column request.

    The last one has, as written, the requests that are not made of the other three.
    """
    pieces = pc.extract_regex(request, r"^(?P<method>[!-~]+) (?P<path>(?s:.+)) (?P<protocol>HTTP/[0-9.]+)$")
    columns = {
        "method": pieces.field("method"),
        "path": _unescape_quotes(pieces.field("path")),
        "protocol": pieces.field("protocol"),
    }
    mask = pieces.is_valid()
    columns = {name: pc.if_else(mask, column, pa.scalar(None, pa.string())) for name, column in columns.items()}
    columns["request"] = pc.if_else(mask, pa.scalar(None, pa.string()), request)
    return columns


def _absent_as_null(text: pa.StringArray) -> pa.StringArray:
    return pc.if_else(pc.equal(text, _ABSENT), pa.scalar(None, pa.string()), text)


def _unescape_quotes(text: pa.StringArray) -> pa.StringArray:
    r"""Undoes ``\"`` and ``\\``.

    Other escapes (``\x16``, ``\n``) stay as the server wrote them: they stand for bytes that it would not put into a
    log.
    """
    if not pc.any(pc.match_substring(text, "\\")).as_py():
        return text
    return pc.replace_substring_regex(text, r'\\(["\\])', r"\1")


def is_access_line(line: bytes) -> bool:
    """Returns true if a line has the form of an access log, for telling files apart."""
    match = _STRICT.fullmatch(line.decode(errors="replace")) if len(line) <= _LAX_BYTES else None
    return match is not None and not explain_head(match[1], match[2], match[3])


def find_time_text(line: bytes) -> tuple[int, int] | None:
    """Returns the begin and end of the time's text, without its brackets; None if the line is no access log line."""
    try:
        match = _match_line(line.decode())
    except UnicodeDecodeError:
        return None
    if match is None:
        return None
    start = len(match.string[: match.start(_TIME)].encode())
    return start, start + len(match[_TIME].encode())


def _match_line(line: str) -> re.Match[str] | None:
    """Matches the parts of a line, in the order of ``TEXT_PARTS``."""
    if (match := _STRICT.fullmatch(line)) is not None or len(line) > _LAX_BYTES:
        return match
    lax = _LAX.fullmatch(line)
    # Where quotes may stand anywhere, a second time tells that another record begins within one of the parts.
    return None if lax is None or TIME_WITHIN.search(line, lax.end(_TIME)) else lax
