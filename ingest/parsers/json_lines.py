"""JSON lines of one source: whole chunks by the fast way, lines that it cannot take by the slow one."""

from __future__ import annotations

from watchfloor.schema.source import Source

from ..batch import event_batch
from ..convert import Reasons
from ..lines import Chunk
from ..rows import Rows, split_rows, utf8_rows
from ..scalars import Unfit
from .base import Parsed
from .json_fast import Form, outlines, peek, read_fast
from .json_values import PLAIN, Naming, Record, decode_object, flatten, value_columns

# Where a chunk cannot be read whole, the lines that spoil it cost only the block they stand in.
_BLOCK_LINES = 512


class JsonReader:
    """Lines of JSON objects to events of a source."""

    def __init__(self, source: Source, naming: Naming = PLAIN) -> None:
        self.source = source
        self._naming = naming
        self._worked: Form | None = None

    def read(self, rows: Rows, parsed: Parsed) -> None:
        """Adds the events of ``rows``, which must be UTF-8, and the rejected."""
        if not len(rows):
            return
        good = outlines(rows)
        if not good.all():
            self.read_slowly(rows.where(~good), parsed)
            rows = rows.where(good)
        if not len(rows) or self._read_fast(rows, parsed):
            return
        for begin in range(0, len(rows), _BLOCK_LINES):
            block = rows.where(slice(begin, begin + _BLOCK_LINES))
            if not self._read_fast(block, parsed):
                self.read_slowly(block, parsed)

    def read_slowly(self, rows: Rows, parsed: Parsed) -> None:
        reasons: Reasons = {}
        records: list[Record] = []
        for row in range(len(rows)):
            try:
                records.append(flatten(self.source, decode_object(rows.raw(row)), self._naming))
            except Unfit as error:
                reasons[row] = str(error)
                records.append({})
        columns = value_columns(self.source, records, reasons)
        parsed.add(self.source, *event_batch(self.source, columns, rows, reasons))

    def _read_fast(self, rows: Rows, parsed: Parsed) -> bool:
        data = _joined(rows)
        form = peek(self.source, rows.raw(0), self._naming)
        for attempt in dict.fromkeys((form, self._worked or form)):
            result = read_fast(self.source, data, len(rows), attempt)
            if result is not None:
                self._worked = attempt
                columns, reasons = result
                parsed.add(self.source, *event_batch(self.source, columns, rows, reasons))
                return True
        return False


class JsonParser:
    """Reads JSON lines into one source."""

    ordered = False

    def __init__(self, source: Source) -> None:
        self._reader = JsonReader(source)

    def parse(self, chunk: Chunk) -> Parsed:
        parsed = Parsed(rejected=list(chunk.rejected))
        rows, bad = utf8_rows(split_rows(chunk))
        parsed.rejected += bad
        self._reader.read(rows, parsed)
        parsed.rejected.sort(key=lambda r: r.offset)
        return parsed


def _joined(rows: Rows) -> bytes:
    """The lines' bytes, each with a line end: the chunk as it is where all of it is wanted."""
    begin, end = int(rows.starts[0]), int(rows.ends[-1])
    gaps = rows.starts[1:] - rows.ends[:-1]
    # A gap of 2 is a return and a newline, or else an empty line: both are white space.
    if len(gaps) and int(gaps.max()) > 2:
        return b"\n".join(rows.raw(row) for row in range(len(rows))) + b"\n"
    whole = begin == 0 and end >= len(rows.data) - 2
    return rows.data if whole else rows.data[begin:end]
