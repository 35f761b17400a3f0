"""Prints as JSON all that the REST service tells of a source: its events, counts, work items and quarantined lines.

Arguments: the service's address, the file with a token, the source.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from watchfloor.api.client import Client
from watchfloor.api.client.connection import ServiceConnection, ServiceRequest

COUNTED_HOST = "h1"
"""The value of the field ``host`` that is counted."""
_SECONDS = 60.0
_LIMIT = {"limit": 10_000}


@dataclass(frozen=True)
class Contents:
    """What there is of one source: the IDs of its events, counts of them, and rows of the ledger and the quarantine."""

    ids: list[int]
    count: int
    host_count: int
    items: list[dict[str, Any]]
    quarantined: list[dict[str, Any]]


def read_contents(url: str, token_file: str, source: str) -> Contents:
    client = Client(url, token_file=token_file, retry_seconds=_SECONDS)
    connection = ServiceConnection(url, Path(token_file).read_text("ascii").strip(), _SECONDS, None)

    def list_own(path: str, member: str) -> list[dict[str, Any]]:
        rows = connection.ask_json(ServiceRequest("GET", path, _LIMIT, silent_seconds=_SECONDS))[member]
        return [row for row in rows if row["feed"] == source]

    return Contents(
        ids=[int(row["id"]) for row in client.query(source, columns=["id"])],
        count=client.count(source),
        host_count=client.count(source, field="host", value=COUNTED_HOST),
        items=list_own("/ingest/items", "items"),
        quarantined=list_own("/quarantine", "lines"),
    )


if __name__ == "__main__":
    print(json.dumps(asdict(read_contents(*sys.argv[1:]))))
