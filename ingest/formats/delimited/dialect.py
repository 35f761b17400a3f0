"""The way in which a file's lines are cut into cells, and the names of the cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from watchfloor.ingest.columns.separated import split_slowly
from watchfloor.schema.source import Source


@dataclass(frozen=True)
class Dialect:
    """The members of ``parser.schema.json``. ``columns`` is empty if a line of the file names them."""

    delimiter: str = ","
    quote: str | None = '"'
    is_merged: bool = False
    comment: str = ""
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Source, delimiter: str = ",") -> Dialect:
        """Returns the dialect that a source's definition describes; ``delimiter`` is used if it names none."""
        told = source.parser
        return cls(
            delimiter=told.get("delimiter", delimiter),
            quote=told.get("quote", '"'),
            is_merged=told.get("merge", False),
            comment=told.get("comment", ""),
            columns=tuple(told.get("columns", ())),
        )

    def split(self, line: bytes) -> list[str]:
        """Returns the cells of a line; none if the line cannot be cut."""
        try:
            return split_slowly(line.decode(), self.delimiter, self.quote, is_merged=self.is_merged)
        except ValueError:
            return []

    def find_header(self, lines: Iterable[bytes]) -> bytes:
        """Returns the line that names the columns, the first that is no comment; empty if there is none."""
        comment = self.comment.encode()
        return next((line for line in lines if not (comment and line.startswith(comment))), b"")

    def name_cells(self, header: bytes) -> tuple[str, ...]:
        """Returns the names of the cells of a file with this header line."""
        return self.columns or tuple(self.split(header))
