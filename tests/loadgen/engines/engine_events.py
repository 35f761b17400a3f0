"""Events that engines are asked about, and the answers that plain Python finds."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from watchfloor.loadgen.engines.answer import digest_rows
from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind
from watchfloor.loadgen.generator.planted_paths import SPREAD_INTERVAL
from watchfloor.schema.definition import builtin_definitions

EVENTS = 2 * SPREAD_INTERVAL
PROXY = builtin_definitions()["proxy.events"]
COLUMNS = [field.name for field in PROXY.fields]


def read_events(path: Path) -> pa.Table:
    """Newest first, read by Python's own JSON reader."""
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    for row in rows:
        row["ts"], row["duration_ms"] = datetime.fromisoformat(row["ts"]), float(row["duration_ms"])
    rows.sort(key=lambda row: row["ts"], reverse=True)
    return pa.Table.from_pylist(rows)


def brute_force(events: pa.Table, question: EngineQuestion) -> tuple[int, str]:
    def holds(value: str) -> bool:
        return bool(re.search(question.value, value)) if question.pattern else value == question.value

    found = events.filter(pa.array(map(holds, events.column(question.field).to_pylist())))
    if question.kind is QuestionKind.COUNT:
        return 1, str(len(found))
    found = found.slice(0, question.limit)
    return len(found), digest_rows(found, COLUMNS)


ODD = ("it's", 'say "no"', "back\\slash", "\\'", "a*b%_", "tab\tand\nline", "  spaces ", "straße", "日本語.example",
       "🦉", "AND", "NULL", "domain:x", "{x:String}", "--", "e\u0301", "é", "x" * 3000)  # fmt: skip
