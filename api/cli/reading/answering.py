"""Answers the commands that read data by a query service, as they are printed: byte for byte, wherever that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from watchfloor.api.answers import answer_count, answer_find, answer_timeline, answer_top
from watchfloor.api.cli.terminal.command_group import OK, PARTLY
from watchfloor.api.cli.terminal.rows import make_batch
from watchfloor.api.formats.chunks import ChunkBuffer
from watchfloor.api.formats.writers import open_writer
from watchfloor.api.requests import read_query_request, read_stats_query
from watchfloor.api.results import StreamedResult
from watchfloor.api.stats_stream import StatsRows
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import UserError

from .parts import Part, PartKind, WholeAnswer
from .question import CommandQuestion
from .summaries import format_hidden, format_stats_summary, format_summary

BAR_WIDTH = 40
HISTOGRAM_WIDTH = 24
BARS = "▁▂▃▄▅▆▇█"


class _Screen(ChunkBuffer):
    """Keeps what is written for an output, which may be a terminal."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class Printer:
    """Makes the printed form of record batches. Raises ``UserError`` for a binary format on a terminal."""

    def __init__(self, question: CommandQuestion, all_columns: bool) -> None:
        self._screen = _Screen(question.width is not None)
        out: Any = self._screen
        self._writer = open_writer(question.form, out, all_columns, width=question.width)

    def encode(self, batch: pa.RecordBatch) -> bytes:
        """Returns what a batch adds to the output now, possibly nothing."""
        self._writer.write(batch)
        return self._screen.take()

    def finish(self) -> bytes:
        """Returns the end of the output."""
        self._writer.close()
        return self._screen.take()

    @property
    def hidden(self) -> list[str]:
        """The names of columns with values that were not shown."""
        return sorted(getattr(self._writer, "hidden", ()))


@dataclass(frozen=True)
class PrintedStream:
    """An answer that is printed as it is found. ``begin`` starts it, and ``summarize`` makes its summary's text."""

    begin: Callable[[QueryService], StreamedResult]
    printer: Printer
    summarize: Callable[[dict[str, Any]], str]

    def finish(self, summary: dict[str, Any]) -> WholeAnswer:
        """Returns the end of the answer, given the summary of its result."""
        data, lines = self.printer.finish(), []
        if hidden := self.printer.hidden:
            lines.append(format_hidden(hidden))
        lines.append(self.summarize(summary))
        return WholeAnswer(data, tuple(lines), PARTLY if summary["status"] == "deadline" else OK)

    def read_parts(self, service: QueryService) -> Iterator[Part]:
        """Yields the parts of the answer, and closes its result at the end."""
        result = self.begin(service)
        try:
            for batch in result:
                if data := self.printer.encode(batch):
                    yield Part(PartKind.DATA, data)
            yield from self.finish(result.summary).to_parts()
        finally:
            result.close()


class _EventPrinter(Printer):
    """Prints events; a batch without any, which only says that a query goes on, prints nothing."""

    def encode(self, batch: pa.RecordBatch) -> bytes:
        return super().encode(batch) if len(batch) else b""


def prepare_stream(question: CommandQuestion) -> PrintedStream:
    """Returns the answer to a question of ``STREAMED``, not begun. Raises ``UserError`` if the request does not fit."""
    if question.command == "stats":
        query = read_stats_query(question.members)
        printer = Printer(question, all_columns=True)
        return PrintedStream(lambda service: StatsRows(service.run_stats(query)), printer, format_stats_summary)
    request = read_query_request(question.members)
    events = _EventPrinter(question, all_columns="columns" in question.members)
    return PrintedStream(lambda service: service.run(request), events, format_summary)


def prepare_answer(question: CommandQuestion) -> Callable[[QueryService], WholeAnswer]:
    """Returns the function that answers a question of ``WHOLE``. Raises ``UserError`` if the request does not fit."""
    prepare: Mapping[str, Callable[[CommandQuestion], Callable[[QueryService], WholeAnswer]]] = {
        "explain": _explain_query,
        "explain_stats": _explain_stats,
        "count": lambda question: partial(_count_events, question),
        "top": _list_top_values,
        "timeline": lambda question: partial(_show_timeline, question),
        "find": lambda question: partial(_find_value, question),
    }
    return prepare[question.command](question)


def _explain_query(question: CommandQuestion) -> Callable[[QueryService], WholeAnswer]:
    request = read_query_request(question.members)
    return lambda service: WholeAnswer(f"{service.explain(request).to_text()}\n".encode())


def _explain_stats(question: CommandQuestion) -> Callable[[QueryService], WholeAnswer]:
    query = read_stats_query(question.members)
    return lambda service: WholeAnswer(f"{service.explain_stats(query)['text']}\n".encode())


def _list_top_values(question: CommandQuestion) -> Callable[[QueryService], WholeAnswer]:
    limit = question.members["limit"]
    if limit < 1:
        raise UserError("--limit must be at least 1")

    def answer(service: QueryService) -> WholeAnswer:
        values = answer_top(service, question.members, limit)["values"]
        return WholeAnswer(_print_rows(values, ("value", "count"), question))

    return answer


def _count_events(question: CommandQuestion, service: QueryService) -> WholeAnswer:
    return WholeAnswer(f"{answer_count(service, question.members)['count']}\n".encode())


def _show_timeline(question: CommandQuestion, service: QueryService) -> WholeAnswer:
    """Answers with the buckets that have events; in a table each has a bar, as long as its share of the largest."""
    rows, columns = answer_timeline(service, question.members)["buckets"], ("start", "count")
    if question.form != "table":
        return WholeAnswer(_print_rows(rows, columns, question))
    largest = max((row["count"] for row in rows), default=1)
    rows = [{**row, "events": "█" * max(1, round(BAR_WIDTH * row["count"] / largest))} for row in rows]
    return WholeAnswer(_print_rows(rows, (*columns, "events"), question))


def _find_value(question: CommandQuestion, service: QueryService) -> WholeAnswer:
    answer = answer_find(service, question.members)
    rows = [{**row, "hours": draw_counts([hour["count"] for hour in row["hours"]])} for row in answer["sightings"]]
    columns = ("source", "field", "kind", "count", "first", "last", "hours")
    lines = [] if rows else [f"nothing was found of the kinds {', '.join(answer['kinds'])}; name another with --kind"]
    names: dict[str, list[str]] = {}
    for missed in answer["not_looked_up"]:
        names.setdefault(missed["reason"], []).append(f"{missed['source']} {missed['field']}")
    lines += [f"not looked up ({reason}): {', '.join(places)}" for reason, places in names.items()]
    return WholeAnswer(_print_rows(rows, columns, question), tuple(lines))


def draw_counts(counts: Sequence[int]) -> str:
    """Returns a histogram of at most ``HISTOGRAM_WIDTH`` characters, each for as many counts."""
    per_bar = -(-len(counts) // HISTOGRAM_WIDTH)
    bars = [sum(counts[start : start + per_bar]) for start in range(0, len(counts), per_bar)]
    return "".join(BARS[(len(BARS) * bar - 1) // max(bars)] for bar in bars)


def _print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], question: CommandQuestion) -> bytes:
    printer = Printer(question, all_columns=True)
    return printer.encode(make_batch(rows, columns)) + printer.finish()
