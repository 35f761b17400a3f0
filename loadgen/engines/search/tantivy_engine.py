"""Tantivy, a search library in Rust, through its Python package.

Indexed fields are terms, the time is a fast field, and each event's line is stored.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import orjson
import tantivy

from watchfloor.loadgen.engines.answer import AnswerRows
from watchfloor.loadgen.engines.limits import THREADS
from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind
from watchfloor.schema.source import Source

_EVENT_FIELD = "event"
_WRITER_BYTES = 1 << 30
"""The memory that all indexing threads together fill before they write segments."""
_PAGE = 10_000
"""Events of a page: millions of events need not be Python objects at the same time."""


class TantivyEngine:
    """A folder with one index."""

    def __init__(self, folder: Path, source: Source) -> None:
        self._folder = folder / "index"
        self._time = source.time_field
        self._terms = [field.name for field in source.indexed_fields]
        builder = tantivy.SchemaBuilder()
        for name in self._terms:
            # Terms are whole values, and no positions are needed.
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        # An integer, because Tantivy cuts dates to seconds when it orders by them.
        builder.add_integer_field(self._time, fast=True)
        builder.add_bytes_field(_EVENT_FIELD, stored=True)
        self._schema = builder.build()
        self._searcher: tantivy.Searcher | None = None

    def recreate_table(self) -> None:
        self._searcher = None
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._index = tantivy.Index(self._schema, path=str(self._folder))
        self._writer = self._index.writer(_WRITER_BYTES, THREADS)

    def load_file(self, path: Path) -> None:
        with path.open("rb") as lines:
            for line in lines:
                self._writer.add_document(self._make_document(line))
        self._writer.commit()
        self._reload_searcher()

    def finish_merges(self) -> None:
        self._writer.wait_merging_threads()
        self._reload_searcher()

    def measure_disk(self) -> int:
        return sum(file.stat().st_size for file in self._folder.iterdir())

    def count_events(self) -> int:
        return self._open_searcher.num_docs

    def count_matches(self, question: EngineQuestion) -> int:
        return self._open_searcher.doc_freq(question.field, question.value)

    def read_rows(self, question: EngineQuestion) -> Iterator[AnswerRows]:
        searcher, limit = self._open_searcher, question.limit or self.count_matches(question)
        if not limit:
            return
        query = tantivy.Query.term_query(self._schema, question.field, question.value, "basic")
        order = self._time if question.kind is QuestionKind.NEWEST else None
        hits = searcher.search(query, limit, count=False, order_by_field=order).hits
        for first in range(0, len(hits), _PAGE):
            yield [orjson.loads(searcher.doc(place)[_EVENT_FIELD][0]) for _, place in hits[first : first + _PAGE]]

    def close(self) -> None:
        self._searcher = None

    def _reload_searcher(self) -> None:
        """Makes all committed documents visible to searches."""
        self._index.reload()
        self._searcher = self._index.searcher()

    @property
    def _open_searcher(self) -> tantivy.Searcher:
        assert self._searcher is not None
        return self._searcher

    def _make_document(self, line: bytes) -> tantivy.Document:
        event = orjson.loads(line)
        document = tantivy.Document()
        for name in self._terms:
            if (value := event.get(name)) is not None:
                document.add_text(name, str(value))
        seconds = datetime.fromisoformat(event[self._time]).timestamp()
        document.add_integer(self._time, round(seconds * 1_000_000))
        document.add_bytes(_EVENT_FIELD, line)
        return document
