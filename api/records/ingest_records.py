"""The records of ingest that operators see, for command line and REST: work items, progress, lines in quarantine."""

from __future__ import annotations

import heapq
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import Any

from watchfloor.api.formats.visible import escape_raw_line
from watchfloor.ingest.records.ledger import STATES, Ledger, LedgerRow
from watchfloor.ingest.records.progress import summarize_ledger
from watchfloor.ingest.records.quarantine import Quarantine, QuarantinedLine, refuse_line
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.times import format_micros
from watchfloor.schema.visibility.grant import EVERYTHING, Grant
from watchfloor.store.store import Store

from .seen_records import SeenRecords


class IngestRecords:
    """Reads the ledger and the quarantine of ``store``, and tells what ``grant`` shows of them (``SeenRecords``)."""

    def __init__(self, store: Store, grant: Grant = EVERYTHING) -> None:
        self._store, self._seen = store, SeenRecords(store, grant)

    def summarize(self) -> dict[str, Any]:
        """Returns the items by state, what is left to read, and the rates of the last minutes."""
        progress = summarize_ledger(filter(self._seen.shows_row, Ledger(self._store).read_rows()))
        waiting = progress.waiting_since
        open_items = sum(progress.states[state].items for state in ("queued", "running"))
        return {
            "states": {state: asdict(progress.states[state]) for state in STATES},
            "lag": {
                "items": open_items,
                "bytes": progress.bytes_left,
                **({} if waiting is None else {"waiting_since": format_seconds(waiting)}),
            },
            "rates": [
                {
                    "seconds": rate.seconds,
                    "items": rate.items,
                    "bytes_per_second": round(rate.bytes / rate.seconds, 3),
                    "events_per_second": round(rate.events / rate.seconds, 3),
                }
                for rate in progress.rates
            ],
        }

    def list_items(self, states: Sequence[str], limit: int) -> list[dict[str, Any]]:
        """Returns the ``limit`` items in one of ``states`` that changed last, the last one first."""
        seen = filter(self._seen.shows_row, Ledger(self._store).read_rows(states))
        rows = heapq.nlargest(limit, seen, key=lambda row: row.at)
        return [describe_item(row if self._seen.shows_reason(row) else replace(row, reason="")) for row in rows]

    def list_lines(self, file: str | None, limit: int) -> tuple[list[dict[str, Any]], bool]:
        """Returns the first ``limit`` lines in quarantine, or those of a file, and whether there are more."""
        remaining = filter(self._seen.shows_line, Quarantine(self._store).open_lines(file))
        lines = [describe_line(line) for line in islice(remaining, limit)]
        return lines, next(remaining, None) is not None

    def read_line(self, key: str) -> dict[str, Any]:
        """Returns a line in quarantine with its bytes. Raises ``UnknownLineError``."""
        line = Quarantine(self._store).find_line(key)
        if not self._seen.shows_line(line):
            raise refuse_line(key)
        return {
            **describe_line(line),
            "state": line.state,
            "whole": line.whole,
            "text": escape_raw_line(line.raw),
            "raw": b64encode(line.raw).decode(),
        }


def describe_item(row: LedgerRow) -> dict[str, Any]:
    """Returns a work item, or a file that was refused, as a row of plain values; None where there is none."""
    item = row.item
    return {
        "item": row.item_id or None,
        "state": row.state,
        "file": show_path(row.path),
        "start": item.start if item else None,
        "end": item.end if item else None,
        "feed": item.feed if item else None,
        "events": row.events,
        "quarantined": row.quarantined,
        "attempts": row.attempts,
        "at": format_seconds(row.at),
        "by": row.by,
        "reason": row.reason or None,
    }


def describe_line(line: QuarantinedLine) -> dict[str, Any]:
    """Returns where a quarantined line stands and why it is there, as a row of plain values."""
    return {
        "line": line.key,
        "file": show_path(line.path),
        "offset": line.offset,
        "feed": line.feed,
        "lines": line.lines,
        "bytes": len(line.raw),
        "reason": line.reason,
    }


def format_seconds(at: float) -> str:
    """Returns epoch seconds as ISO 8601 in UTC."""
    return format_micros(int(at * 1_000_000))
