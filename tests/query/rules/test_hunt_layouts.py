"""A hunt with made rules over made process events finds in both layouts what each rule matches by itself.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from loaded import LAYOUTS, in_layout, parse

from watchfloor.loadgen.experiments.hunt.events import SOURCE, write_process_events
from watchfloor.loadgen.experiments.hunt.rules import make_rules
from watchfloor.query.rules import hunt
from watchfloor.query.rules.hunt import Hunt
from watchfloor.query.rules.packing import pack_rules
from watchfloor.query.service import QueryService
from watchfloor.schema.filter.sigma.convert import convert_rule
from watchfloor.schema.filter.sigma.rule_file import ParsedRule, parse_rules
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.stats.having import find_rows
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

EVENTS, RULES, SEED = 2_000, 60, 2


def test_a_hunt_finds_in_both_layouts_what_each_rule_matches(
    store_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hunt, "MAX_ROWS", 1_000)
    path = tmp_path / "process.json"
    write_process_events(path, EVENTS, SEED)
    (loaded,) = parse(path)
    entries = [entry for number, text in enumerate(make_rules(RULES, SEED)) for entry in parse_rules(text, f"{number}")]
    rules = [convert_rule(entry, {SOURCE: loaded.source}) for entry in entries if isinstance(entry, ParsedRule)]
    types = loaded.source.scalar_types
    table = pa.Table.from_batches([loaded.batch])
    lines = table.column("CommandLine").to_pylist()
    expected: Counter[tuple[str, str]] = Counter()
    for rule in rules:
        tree = rule.filters[0].tree
        assert tree is not None
        expected.update((rule.info.id, lines[row]) for row in find_rows(table, tree, types).nonzero()[0])
    assert len(rules) == RULES and len({rule for rule, _ in expected}) > 3
    with Store.open(store_settings) as store:
        for layout in LAYOUTS:
            source = in_layout(store, loaded, layout).source
            here = [replace(rule, filters=(replace(rule.filters[0], source=source),)) for rule in rules]
            run = Hunt(QueryService(store), pack_rules(here))
            found: Counter[tuple[str, str]] = Counter()
            for batch in run:
                events = [json.loads(event) for event in batch.column("event").storage.to_pylist()]
                found.update((batch.column("id")[0].as_py(), event["CommandLine"]) for event in events)
            assert found == expected
            assert {one.info.id: one.matches for one in run.counts.values() if one.matches} == Counter(
                rule for rule, _ in expected.elements()
            )
            counted = Hunt(QueryService(store), pack_rules(here), limit=0)
            assert not list(counted)
            assert [one.matches for one in counted.counts.values()] == [one.matches for one in run.counts.values()]
