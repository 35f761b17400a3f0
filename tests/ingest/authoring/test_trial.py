"""A trial of a definition counts the events, the values that do not fit, and the lines that a load would quarantine.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from pathlib import Path

from watchfloor.ingest.authoring.trial import try_source
from watchfloor.schema.definition import parse_definition

DOORS = parse_definition(
    {
        "name": "lab.doors",
        "parser": {"format": "delimited"},
        "timestamp": {"field": "when", "format": "iso8601"},
        "unknown_fields": "extra",
        "fields": [
            {"name": "when", "type": "time"},
            {"name": "ms", "type": "int"},
            {"name": "port", "type": "port"},
            {"name": "extra", "type": "string"},
        ],
    }
)


def test_values_that_do_not_fit_are_counted_by_field(tmp_path: Path) -> None:
    path = tmp_path / "doors.csv"
    rows = ["2026-03-01 08:00:01,soon,80", "2026-03-01 08:00:02,late,http", "never,x,y", "2026-03-01 08:00:03,1,1"]
    path.write_text("when,ms,port\n" + "\n".join(rows) + "\n")
    trial = try_source(DOORS, path, 20)
    assert (trial.count, len(trial.rejected), dict(trial.misfits)) == (3, 1, {"ms": 2, "port": 1})
    assert trial.read_field("ms").to_pylist() == [1]
