"""``--explain`` describes query batches before they run, and the summary describes them afterwards.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run_command
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded import LAYOUTS, in_layout, parse
from query_strategies import BATCH_SETTINGS, DAY, EXPECTED_COUNTS, HOUR, expect_matches

from watchfloor.query.batches.distribution import MatchDistribution
from watchfloor.query.batches.policy import BatchRun
from watchfloor.query.batches.registry import POLICIES
from watchfloor.query.batches.sequence import make_sequence
from watchfloor.query.batches.settings import BatchSettings
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.result import LISTED_BATCHES
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

FLAT = MatchDistribution.from_counts([(0, 10 * DAY, 10_000.0)])


@pytest.mark.parametrize(
    ("policy", "counts", "first", "next_"),
    [
        ("none", FLAT, "the whole time range", None),
        ("fixed", None, "the width of the settings", "the width of the settings"),
        (
            "bisect",
            FLAT,
            "halved 7 times, until the counts expect 10 rows",
            "half as wide: the last one gave 1,000 rows",
        ),
        ("llcysa", FLAT, "for 10 rows by the counts", "to run at least 1 s"),
        ("density", FLAT, "for 125 rows by the counts", "to run at least 1 s"),
        ("density", MatchDistribution.from_counts([(0, DAY, 5.0)]), "it has fewer than 125 rows", None),
    ],
)
def test_each_policy_says_why(policy: str, counts: MatchDistribution | None, first: str, next_: str | None) -> None:
    chosen = make_sequence(BatchSettings(policy=policy), None, counts)
    batch = chosen.first_batch(0, 10 * DAY, DAY // 10)
    assert batch is not None and first in batch.because
    assert batch.expected_rows == (None if counts is None else counts.count_rows(batch.since, batch.until))
    after = chosen.next_batch(BatchRun(batch, 1000, 0.9), None)
    assert (after is None) == (next_ is None)
    if after is not None and next_ is not None:
        assert next_ in after.because


@pytest.mark.parametrize(
    ("seconds", "wanted", "because"),
    [
        (30.0, None, "for 15 rows by the counts, of which 37 % are found"),
        (0.1, 5, "for the 5 rows still wanted by the counts, of which 37 % are found"),
        (0.1, None, "to run at least 1 s"),
        (10_000.0, None, "to run at most 30 s"),
    ],
)
def test_a_width_by_the_counts_says_how_these_were_corrected(seconds: float, wanted: int | None, because: str) -> None:
    sequence = make_sequence(BatchSettings(), None, FLAT)
    batch = sequence.first_batch(0, 10 * DAY)
    assert batch is not None
    after = sequence.next_batch(BatchRun(batch, 40, seconds), wanted)
    assert after is not None and after.because == because


@pytest.mark.parametrize(
    ("rows", "seconds", "wanted", "because"),
    [
        (0, 2.0, None, "wider: the last one found nothing"),
        (20, 2.0, None, "for 15 rows at the rate of the last one"),
        (1, 25.0, None, "to run at most 30 s"),
        (20, 2.0, 3, "for the 3 rows still wanted"),
        (20, 2.0, 10_000, "for 15 rows"),
    ],
)
def test_an_adaptive_width_says_what_bound_it(rows: int, seconds: float, wanted: int | None, because: str) -> None:
    sequence = make_sequence(BatchSettings(policy="llcysa"))
    batch = sequence.first_batch(0, 10 * DAY, HOUR)
    assert batch is not None
    after = sequence.next_batch(BatchRun(batch, rows, seconds), wanted)
    assert after is not None and because in after.because


@given(
    BATCH_SETTINGS,
    st.none() | EXPECTED_COUNTS,
    st.integers(0, 10**6),
    st.floats(0, 100),
    st.none() | st.integers(0, 10**6),
)
@settings(max_examples=200)
def test_every_batch_has_a_reason(
    chosen: BatchSettings,
    counts: list[tuple[int, int, float]] | None,
    rows: int,
    seconds: float,
    wanted: int | None,
) -> None:
    assert set(POLICIES) >= {chosen.policy}
    sequence = make_sequence(chosen, None, None if counts is None else expect_matches(counts, 0, 100 * DAY))
    batch = sequence.first_batch(0, 100 * DAY, HOUR)
    for _ in range(4):
        if batch is None:
            break
        assert batch.because and "nan" not in batch.because and len(batch.because) < 150
        assert batch.expected_rows is None or math.isfinite(batch.expected_rows)
        batch = sequence.next_batch(BatchRun(batch, rows, seconds), wanted)


# On the stack


@pytest.fixture(scope="module")
def conn(store_settings: Settings, data_dir: Path) -> dict[str, str]:
    """Zeek's conn of one office as a source of its own, by layout."""
    loaded = parse(data_dir / "zeek" / "brobeat" / "conn.log")[0]
    own = replace(loaded, source=parse_definition({**loaded.source.definition, "name": "zeek.explained"}))
    with Store.open(store_settings) as store:
        return {layout: in_layout(store, own, layout).source.name for layout in LAYOUTS}


@pytest.mark.stack
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_explain_says_what_the_first_batch_then_is(
    policy: str, layout: str, conn: dict[str, str], query_store: Store
) -> None:
    service, name = QueryService(query_store), conn[layout]
    for where in (None, "proto = udp", "proto = none-such"):
        request = QueryRequest(name, where=where, batching=BatchSettings(policy=policy, width=DAY))
        explained = service.explain(request)
        result = service.run(request)
        rows = sum(len(batch) for batch in result)
        first, ran = explained.to_json()["batching"]["first"], result.summary["query_batches"]
        assert explained.to_json()["batching"]["policy"] == policy
        assert first["expected_rows"] is not None
        assert [first["since"], first["until"], first["because"]] == [ran[0][k] for k in ("since", "until", "because")]
        assert len(ran) == min(LISTED_BATCHES, result.summary["batches"])
        assert sum(batch["rows"] for batch in ran) <= rows
        assert all(batch["seconds"] >= 0 and batch["because"] for batch in ran)
        assert explained.to_text().splitlines()[-1].startswith(f"batching  {policy}: first {first['since']} to ")


@pytest.mark.stack
def test_the_command_line_shows_batches(conn: dict[str, str], query_store: Store, store_settings: Settings) -> None:
    name = conn["block"]
    status, out, _ = run_command(store_settings, "query", name, "--explain")
    assert status == 0 and "\nbatching  density: first 20" in out
    status, out, err = run_command(store_settings, "query", name, "--limit", "300", "--columns", "ts")
    assert status == 0 and len(out.splitlines()) == 300
    assert "  batch 1   20" in err and " rows in " in err and json.loads(out.splitlines()[0])


@pytest.mark.stack
def test_explain_says_what_names_stand_for(
    conn: dict[str, str], query_store: Store, store_settings: Settings, layout: str
) -> None:
    service, name = QueryService(query_store), conn[layout]
    ((address, count),) = service.rank_values(name, "source.ip", limit=1)
    plan = service.explain(QueryRequest(name, where=f"ip = {address} and not port = 53")).plan
    assert plan.notes[:2] == ("ip stands for id.orig_h, id.resp_h", "port stands for id.orig_p, id.resp_p")
    assert f"note      {plan.notes[0]}\n" in plan.to_text()
    either = f"id.orig_h = {address} or id.resp_h = {address}"
    results = [service.run(QueryRequest(name, where=where)) for where in (f"ip = {address}", either)]
    rows = [[row for batch in result for row in batch.to_pylist()] for result in results]
    assert rows[0] == rows[1] and len(rows[0]) >= count
    plans = [result.summary["plan"] for result in results]
    assert plans[0]["notes"][0] == "ip stands for id.orig_h, id.resp_h" and plans[0]["notes"][1:] == plans[1]["notes"]
    assert service.count_events(name, field="source.ip", value=address) == count
    with pytest.raises(UserError, match=r"ip stands for 2 fields of .*: id\.orig_h, id\.resp_h; name one"):
        service.count_events(name, field="ip", value=address)
    with pytest.raises(UserError, match=r"has no field 'source\.ipp'; did you mean source\.ip"):
        service.count_over_time(name, field="source.ipp", value=address)
    status, out, err = run_command(store_settings, "sources", "show", name)
    fields = {field["name"]: field.get("ecs") for field in json.loads(out)["fields"]}
    assert status == 0 and fields["id.orig_h"] == "source.ip"
    assert "kind ip: id.orig_h (source.ip), id.resp_h (destination.ip)\n" in err
