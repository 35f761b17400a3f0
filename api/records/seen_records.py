"""The records of ingest that a reader may be told of: those of feeds all of whose sources the reader sees."""

from __future__ import annotations

from functools import cache

from watchfloor.ingest.formats.registry import sources_of_feed
from watchfloor.ingest.reading.rejected_lines import join_visibilities
from watchfloor.ingest.records.ledger import LedgerRow
from watchfloor.ingest.records.quarantine import QuarantinedLine
from watchfloor.schema.source import Source
from watchfloor.schema.visibility.expressions import is_satisfied
from watchfloor.schema.visibility.grant import EVERYTHING, Grant, fits_patterns
from watchfloor.schema.visibility.restrict import restrict_source
from watchfloor.store.store import Store


class SeenRecords:
    """Decides by a grant which work items and quarantined lines are shown.

    A record belongs to all sources of its feed, and is shown to those who see each of them. One that belongs to no
    source, such as a refused file, is shown to those alone who see everything.
    """

    def __init__(self, store: Store, grant: Grant) -> None:
        """``store`` reads with the labels of ``grant``, in the role ``ingest``, whose catalog shows all sources."""
        self._sees_all, self._patterns, self._labels = grant == EVERYTHING, grant.sources, store.authorizations
        known = {} if self._sees_all else store.catalog.read_sources()
        self._list_sources = cache(lambda feed: sources_of_feed(feed, known))
        self._shows_feed = cache(self._judge_feed)

    def shows_row(self, row: LedgerRow) -> bool:
        """Returns whether the reader may know of a work item, or of a refused file."""
        return self._sees_all or (row.item is not None and self._shows_feed(row.item.feed))

    def shows_reason(self, row: LedgerRow) -> bool:
        """Returns whether the reader may know why an item has failed: the reason may quote one of its lines."""
        if self._sees_all or row.item is None:
            return self._sees_all
        return is_satisfied(join_visibilities(self._list_sources(row.item.feed)), self._labels)

    def shows_line(self, line: QuarantinedLine) -> bool:
        """Returns whether the reader may know of a line, which needs the labels of all that the line may hold."""
        return self._sees_all or (self._shows_feed(line.feed) and is_satisfied(line.visibility, self._labels))

    def _judge_feed(self, feed: str) -> bool:
        sources = self._list_sources(feed)
        return bool(sources) and all(map(self._shows_source, sources))

    def _shows_source(self, source: Source) -> bool:
        return fits_patterns(source.name, self._patterns) and restrict_source(source, self._labels) is not None
