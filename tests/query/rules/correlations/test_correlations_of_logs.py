"""Correlations over real logs of Zeek tell what the oracle tells that looks at each window of all events.

In `make test`: it needs no servers; it skips where the real logs are absent.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from correlation_oracle import OracleMatch, tell_correlation
from parsing_support import parse_file, shared_log
from rule_tables import add_ids, hunt_documents, to_told

from watchfloor.schema.source import Source
from watchfloor.schema.times import to_micros

ROWS = 4_000
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "lookup": ("dns", {"qtype_name": ["A", "AAAA"]}),
    "missing": ("dns", {"rcode_name": "NXDOMAIN"}),
    "web": ("conn", {"service": "http"}),
    "rejected": ("conn", {"conn_state": ["S0", "REJ", "RSTO"]}),
}
CORRELATIONS: list[dict[str, Any]] = [
    {"type": "event_count", "rules": ["lookup"], "group-by": ["id.orig_h"], "timespan": "1m", "condition": {"gte": 20}},
    {"type": "event_count", "rules": ["rejected"], "group-by": ["id.orig_h", "id.resp_p"], "timespan": "10s",
     "condition": {"gt": 2}},
    {"type": "value_count", "rules": ["lookup", "missing"], "group-by": ["id.orig_h"], "timespan": "5m",
     "condition": {"gte": 15, "field": "query"}},
    {"type": "value_count", "rules": ["rejected"], "timespan": "1h", "condition": {"lt": 4, "field": "id.resp_p"}},
    {"type": "temporal", "rules": ["missing", "web"], "group-by": ["id.orig_h"], "timespan": "2m"},
    {"type": "temporal_ordered", "rules": ["lookup", "missing", "web"], "group-by": ["id.orig_h"], "timespan": "30s"},
    {"type": "event_count", "rules": ["web"], "timespan": "1s", "condition": {"eq": 3}},
]  # fmt: skip


@pytest.fixture(scope="module")
def tables() -> dict[str, tuple[Source, pa.Table]]:
    found = {}
    for name in ("dns", "conn"):
        parsed = parse_file(shared_log(f"zeek/brobeat/{name}.log"))
        source = parsed.events[0][0]
        found[name] = add_ids(source, pa.Table.from_batches([batch for _, batch in parsed.events]).slice(0, ROWS))
    return found


@pytest.mark.parametrize("correlation", CORRELATIONS, ids=range(len(CORRELATIONS)))
def test_real_logs_are_correlated_as_the_oracle_says(
    correlation: dict[str, Any], tables: dict[str, tuple[Source, pa.Table]]
) -> None:
    documents = [
        {
            "title": name,
            "name": name,
            "logsource": {"product": "zeek", "service": service},
            "detection": {"sel": wanted, "condition": "sel"},
        }
        for name, (service, wanted) in RULES.items()
    ]
    found = hunt_documents(
        [*documents, {"title": "It", "correlation": correlation}], tables["dns"], tables["conn"]
    ).get("It", [])
    expected = tell_correlation(
        correlation, [match for name in correlation["rules"] for match in match_rule(name, tables)]
    )
    assert to_told(found) == expected
    assert expected


def match_rule(name: str, tables: dict[str, tuple[Source, pa.Table]]) -> list[OracleMatch]:
    """Returns the events that a rule matches."""
    service, wanted = RULES[name]
    source, table = tables[service]
    return [
        OracleMatch(name, to_micros(row[source.time_field]), row["_id"], row)
        for row in table.to_pylist()
        if all(
            str(row[field]).lower() in [one.lower() for one in (values if isinstance(values, list) else [values])]
            for field, values in wanted.items()
        )
    ]
