"""YCSB's output is read whole, and workloads are found by their names.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import pytest

from watchfloor.loadgen.ycsb.output import PERCENTILES, parse_output
from watchfloor.loadgen.ycsb.workloads import WORKLOADS, find_workload
from watchfloor.loadgen.ycsb.ycsb_client import LoadRequest, RunRequest, load_records, run_workload
from watchfloor.schema.errors import UserError
from watchfloor.schema.settings.load import load_settings

OUTPUT = """\
YCSB Client 0.17.0, with words of its own
[OVERALL], RunTime(ms), 1657
[OVERALL], Throughput(ops/sec), 603.5003017501509
[TOTAL_GCS_G1_Young_Generation], Count, 4
[READ], Operations, 507
[READ], AverageLatency(us), 7114.031558185405
[READ], MinLatency(us), 828
[READ], MaxLatency(us), 98815
[READ], 50thPercentileLatency(us), 5139
[READ], 95thPercentileLatency(us), 17279
[READ], 99thPercentileLatency(us), 47935
[READ], 99.9PercentileLatency(us), 94975
[READ], Return=OK, 507
[READ], Return=NOT_FOUND, 400
[READ], Return=ERROR, 49
[INSERT], Operations, 0
[INSERT], AverageLatency(us), NaN
[INSERT], Return=ERROR, 44
[Intended-READ], Operations, 507
[Intended-READ], 99.9PercentileLatency(us), 94976
"""


def test_all_figures_of_an_output_are_read() -> None:
    output = parse_output(OUTPUT)
    assert (output.seconds, output.operations_per_second) == (1.657, 603.5003017501509)
    read = output.latencies["READ"]
    assert (read.operations, read.lowest, read.highest) == (507, 0.828, 98.815)
    assert read.mean == pytest.approx(7.114, abs=1e-3)
    assert read.percentiles == dict(zip(PERCENTILES, (5.139, 17.279, 47.935, 94.975), strict=True))
    assert output.latencies["Intended-READ"].percentiles == {"99.9": 94.976}
    assert "INSERT" not in output.latencies, "none was done, so that there is no latency"
    assert (output.count("READ"), output.count("READ", "NOT_FOUND"), output.count("SCAN")) == (956, 400, 0)
    assert (output.operations, output.failures) == (1000, 93)


@pytest.mark.parametrize("text", ["", "[READ], Return=OK, 5\n", OUTPUT.replace("RunTime", "Time")])
def test_an_output_without_overall_figures_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="no overall figures"):
        parse_output(text)


def test_the_shares_of_each_workload_are_whole() -> None:
    for workload in WORKLOADS.values():
        shares = {name: float(value) for name, value in workload.properties.items() if name.endswith("proportion")}
        assert len(shares) == 5 and sum(shares.values()) == 1
    assert [name for name, workload in WORKLOADS.items() if not workload.writes] == ["C"]


@pytest.mark.parametrize("name", ["a", "A"])
def test_a_workload_is_found_in_either_case(name: str) -> None:
    assert find_workload(name) is WORKLOADS["A"]


@pytest.mark.parametrize(
    ("name", "said"), [("X", "known are A, B"), ("inserts", "insert"), ("", "unknown workload ''")]
)
def test_an_unknown_workload_is_said(name: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        find_workload(name)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("operations", "operations is 0"),
        ("threads", "threads is 0"),
        ("target", "target is 0"),
        ("buffer", "buffer is"),
    ],
)
def test_a_run_of_nothing_is_refused(field: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        run_workload(load_settings(), RunRequest(WORKLOADS["A"], **{field: 0}))


@pytest.mark.parametrize("field", ["records", "fields", "field_length", "tablets", "threads"])
def test_a_load_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(UserError, match=f"{field.replace('_', ' ')} is -1; at least 1 is wanted"):
        load_records(load_settings(), LoadRequest(**{field: -1}))
