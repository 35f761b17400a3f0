"""Looks at events as they arrive tell each match once, late ones too, and correlations when their condition holds.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from correlation_oracle import OracleMatch, tell_correlation
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_tables import TableService, add_ids, read_documents

from watchfloor.query.rules.alerts.alert_state import AlertState
from watchfloor.query.rules.alerts.detect import SETTLE_SECONDS, Detector, WatchedRules
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.source import Source
from watchfloor.schema.times import format_micros
from watchfloor.store.encoding.keys import HOUR, MINUTE


def make_source(visibility: str = "") -> Source:
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "mark", "type": "string"},
        {"name": "user", "type": "string", "ecs": "user.name", **({"visibility": visibility} if visibility else {})},
        {"name": "other", "type": "string"},
    ]
    return parse_definition(
        {"name": "zeek.made", "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields}
    )


SOURCE = make_source()
RULE = {
    "title": "One",
    "name": "one",
    "id": "1",
    "logsource": {"product": "zeek", "service": "made"},
    "detection": {"sel": {"mark": "a", "user|contains": ["n", "o"]}, "condition": "sel"},
}
COUNTED: dict[str, Any] = {"type": "event_count", "rules": ["one"], "group-by": ["user"], "timespan": "3m"}
ARRIVALS = st.lists(
    st.lists(
        st.fixed_dictionaries(
            {
                "ts": st.integers(0, 1_200).map(lambda seconds: seconds * 1_000_000),
                "mark": st.sampled_from(["a", "b"]),
                "user": st.sampled_from(["ann", "bob"]),
            }
        ),
        max_size=6,
    ),
    min_size=1,
    max_size=6,
)


class ArrivingEvents(TableService):
    """A store in memory to which events can be added."""

    def __init__(self, source: Source) -> None:
        self.source, self.rows = source, list[dict[str, Any]]()
        super().__init__({})

    def add(self, rows: list[dict[str, Any]]) -> None:
        self.rows += rows
        columns = [pa.array([row.get(one.name) for row in self.rows], one.type) for one in self.source.arrow_schema]
        self.tables = {self.source.name: add_ids(self.source, pa.table(columns, self.source.arrow_schema))}

    def count_over_time(
        self, source: str, since: int | None = None, until: int | None = None, bucket: str = "hour"
    ) -> list[tuple[int, int]]:
        width = {"minute": MINUTE, "hour": HOUR}[bucket]
        times = [row["ts"] for row in self.rows]
        chosen = [at for at in times if (since is None or at >= since) and (until is None or at < until)]
        return sorted(Counter(at // width * width for at in chosen).items())


def watch(
    arrivals: list[list[dict[str, Any]]],
    folder: Path,
    *correlations: dict[str, Any],
    before: list[dict[str, Any]] | None = None,
    source: Source = SOURCE,
) -> list[dict[str, Any]]:
    """Returns the alerts, after a look at each arrival; the watch ends and begins again after every second one."""
    store = ArrivingEvents(source)
    store.add(before or [])
    documents = [RULE, *({"title": "Many", "id": "2", "correlation": one} for one in correlations)]
    rules = read_documents(documents, {source.name: source})
    assert not rules.failed, rules.failed
    watched = WatchedRules(rules.rules, rules.correlations, {source.name: source})
    said: list[str] = []
    for number, rows in enumerate([[], *arrivals]):
        state = AlertState(folder / "state.db")
        clock = 1_000.0 + 100 * number
        detector = Detector(cast(QueryService, store), state, watched, said.append, lambda at=clock: at)  # type: ignore[misc]
        detector.begin_watch(None)
        store.add(rows)
        detector.find_alerts()
        if number % 2:
            assert detector.find_alerts() == 0
        state.close()
    state = AlertState(folder / "state.db")
    found = state.next_file(10_000)
    state.close()
    assert not said
    return [] if found is None else [json.loads(line) for line in found[1]]


def list_marked(rows: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    return [(number, row) for number, row in enumerate(rows) if row["mark"] == "a"]


@settings(max_examples=60, deadline=None)
@given(ARRIVALS)
def test_each_match_is_told_once_however_late_it_comes(arrivals: list[list[dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        alerts = watch(arrivals, Path(folder))
    rows = [row for rows in arrivals for row in rows]
    assert sorted(alert["event_id"] for alert in alerts) == sorted(f"{n}-zeek.made" for n, _ in list_marked(rows))
    for alert in alerts:
        row = rows[int(alert["event_id"].partition("-")[0])]
        assert alert["event_time"] == format_micros(row["ts"])
        assert json.loads(alert["event"]) == {"mark": "a", "user": row["user"]} and alert["user"] == row["user"]


@settings(max_examples=60, deadline=None)
@given(ARRIVALS, st.sampled_from([{"gte": 2}, {"gt": 2}, {"eq": 2}, {"lt": 2}]))
def test_correlations_are_told_when_their_condition_holds(
    arrivals: list[list[dict[str, Any]]], condition: dict[str, int]
) -> None:
    rows = sorted((row for rows in arrivals for row in rows), key=lambda row: row["ts"])
    lengths = [len(rows) for rows in arrivals]
    in_order = [rows[sum(lengths[:n]) : sum(lengths[: n + 1])] for n in range(len(lengths))]
    # Events of one time arrive together, so that a window is whole when it is looked at.
    for earlier, later in itertools.pairwise(in_order):
        while later and earlier and later[0]["ts"] == earlier[-1]["ts"]:
            earlier.append(later.pop(0))
    in_order = [rows for rows in in_order if rows]
    correlation = {**COUNTED, "condition": condition}
    with tempfile.TemporaryDirectory() as folder:
        alerts = watch(in_order, Path(folder), correlation)
    arrived = [row for rows in in_order for row in rows]
    matches = [OracleMatch("one", row["ts"], str(number), row) for number, row in list_marked(arrived)]
    expected = [(told.group[0][1], format_micros(told.time)) for told in tell_correlation(correlation, matches)]
    found = [(alert["event"], alert["event_time"]) for alert in alerts]
    assert sorted((json.loads(event)["group"]["user"], at) for event, at in found) == sorted(expected)


def test_what_was_there_before_is_not_told(tmp_path: Path) -> None:
    old = [{"ts": 0, "mark": "a", "user": "ann"}]
    alerts = watch([[{"ts": 5 * MINUTE, "mark": "a", "user": "bob"}]], tmp_path, before=old)
    assert [alert["user"] for alert in alerts] == ["bob"]


class CountedBeforeEvents(ArrivingEvents):
    """A store that counts events before a query finds them."""

    def add(self, rows: list[dict[str, Any]]) -> None:
        super().add(rows)
        self.tables[self.source.name] = (self.source, self.tables[self.source.name][1].slice(0, 0))


def test_events_that_are_found_later_than_their_counts_are_told(tmp_path: Path) -> None:
    store = CountedBeforeEvents(SOURCE)
    store.add([])
    rules = read_documents([RULE], {SOURCE.name: SOURCE})
    state, moment = AlertState(tmp_path / "state.db"), [1_000.0]
    watched = WatchedRules(rules.rules, rules.correlations, {SOURCE.name: SOURCE})
    detector = Detector(cast(QueryService, store), state, watched, print, lambda: moment[0])
    detector.begin_watch(None)
    store.add([{"ts": 5 * MINUTE, "mark": "a", "user": "ann"}])
    assert detector.find_alerts() == 0
    ArrivingEvents.add(store, [])
    moment[0] += SETTLE_SECONDS - 1
    assert detector.find_alerts() == 0
    moment[0] += 1
    assert [detector.find_alerts(), detector.find_alerts()] == [1, 0]


def test_labelled_values_stay_out_of_alerts(tmp_path: Path) -> None:
    rows = [{"ts": n, "mark": "a", "user": "ann"} for n in range(3)]
    correlation = {**COUNTED, "condition": {"gte": 3}, "generate": True}
    alerts = watch([rows], tmp_path, correlation, source=make_source("secret"))
    assert len(alerts) == 4
    assert not any("ann" in json.dumps(alert) for alert in alerts)
    assert json.loads(alerts[0]["event"]) == {"mark": "a"}
