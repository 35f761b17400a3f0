"""Options that cannot be are refused by name, latencies of several clients are merged, and the study is shown.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from watchfloor.loadgen.experiments.lookups.figures import LookupTurns, make_figures, make_published_figures
from watchfloor.loadgen.experiments.lookups.run import EXPERIMENT
from watchfloor.loadgen.harness.plots.canvas import render_pictures
from watchfloor.loadgen.lookups.latencies import BUCKETS, merge_latencies
from watchfloor.loadgen.lookups.look_up import LookupResult, look_up_rows
from watchfloor.loadgen.lookups.options import LookupLoad, LookupTable
from watchfloor.loadgen.lookups.study import list_writes
from watchfloor.loadgen.lookups.write_table import BulkWrite, write_table
from watchfloor.loadgen.suite import bench
from watchfloor.schema.errors import SettingsError, StoreError, UserError
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.workloads.client_process import Record


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "proxy.events"}, r"--table 'proxy\.events': .*none of the pipeline's"),
        ({"name": ""}, "--table ''"),
        ({"rows": 0}, "--rows is 0; it lies between 1 and 1,000,000,000,000"),
        ({"tablets": 100_001}, "--tablets is 100,001"),
        ({"codec": "rar"}, "--codec 'rar': it is one of gz, none, snappy, zstd, lz4"),
    ],
)
def test_a_table_that_cannot_be_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        replace(LookupTable(), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"executors": 0}, "--executors is 0"),
        ({"queries": -1}, "--queries is -1"),
        ({"batch": 0}, "--batch is 0"),
        ({"threads": 1001}, "--threads is 1,001; it lies between 1 and 1,000"),
        ({"processes": 17}, "--processes is 17; each needs one of the 16 executors"),
        ({"warm_up": -0.5}, "--warm-up is -0.5"),
        ({"warm_up": float("nan")}, "--warm-up is nan"),
    ],
)
def test_a_load_that_cannot_be_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        replace(LookupLoad(), **given)  # type: ignore[arg-type]


def test_what_is_wrong_is_said_before_a_client_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = load_settings(home=tmp_path)
    with pytest.raises(UserError, match="--writers is 0"):
        write_table(settings, LookupTable(), 0)
    with pytest.raises(UserError, match="none of the pipeline's"):
        look_up_rows(settings, "watchfloor.items", LookupLoad())
    with pytest.raises(SystemExit):
        bench.main(["lookups", "--codecs", "gz,rar"])
    assert "--codecs" in capsys.readouterr().err


def test_a_store_that_was_never_started_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises((StoreError, SettingsError), match="watchfloor up"):
        write_table(load_settings(home=tmp_path), LookupTable(), 1)


def make_record(times: list[float]) -> Record:
    """The record of a client that saw these times in ms."""
    buckets = [0] * len(BUCKETS)
    for time in times:
        buckets[min(20, int(time // 50))] += 1
    counts = sorted(Counter(round(time * 1000) for time in times).items())
    ends = {"min_ms": min(times, default=9e9), "sum_ms": sum(times), "max_ms": max(times, default=0)}
    return {"lookups": len(times), **ends, "buckets": buckets, "counts": counts, "seconds": 1.0}


def test_latencies_of_several_clients_are_those_of_all_look_ups() -> None:
    drawn = random.Random(3)
    times = [round(drawn.expovariate(1 / 300), 3) for _ in range(1000)]
    found = merge_latencies(
        [make_record(times[:1]), make_record(times[1:700]), make_record([]), make_record(times[700:])]
    )
    times.sort()
    assert (found.lookups, found.min, found.max) == (1000, times[0], times[-1])
    assert found.mean == pytest.approx(sum(times) / 1000)
    assert [found.find_percentile(percent) for percent in (0.1, 50, 99, 99.9, 100)] == [
        times[place] for place in (0, 499, 989, 998, 999)
    ]
    listed = found.list_buckets()
    assert sum(count for _, count, _ in listed) == 1000 and sum(share for *_, share in listed) == pytest.approx(100)
    assert {name: count for name, count, _ in listed}["50 to 100 ms"] == sum(50 <= t < 100 for t in times)
    assert listed[-1][:2] == ("1 s and more", sum(t >= 1000 for t in times))


def test_figures_have_the_studys_beside_them_and_are_drawn() -> None:
    assert {write.codec: round(write.bytes_per_row, 1) for write in list_writes()} == {
        "gz": 53.2,
        "none": 396.2,
        "snappy": 96.0,
    }
    turns = LookupTurns()
    for codec in ("gz", "zstd"):
        table = LookupTable(rows=1000, codec=codec)
        turns.writes[codec].append(BulkWrite(table, 2, 0.5, 0.1, 53_000, "1"))
        for state in ("cold", "warm"):
            found = merge_latencies([make_record([1.0, 2.0, 60.0, 1200.0])])
            turns.lookups[codec, state].append(LookupResult(1000, 10, 2.0, found))
    figures = [*make_figures(("gz", "zstd"), turns), *make_published_figures()]
    assert {figure.metric for figure in figures} == set(EXPERIMENT.metrics)
    values = {(f.metric.name, *f.labels.values()): f.value for f in figures}
    assert values["rows_per_second_per_writer", "gz"] == 1000 and values["bytes_per_row", "zstd"] == 53
    assert values["lookup_ms", "gz", "cold", "longest"] == 1200 and values["lookups_per_second", "gz", "warm"] == 2
    shares = [f.value for f in figures if f.metric.name == "bucket_share" and f.labels["codec"] == "gz"]
    assert sum(shares) == 200  # of two states
    assert values["study_lookup_ms", "Replication, 16 nodes", "mean"] == 23
    assert len(render_pictures("lookups", EXPERIMENT.draw, figures)) == 5
