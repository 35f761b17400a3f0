"""``bench ingest`` refuses bad options, runs on a stack of its own, and shows the paper's rate of a client beside ours.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from watchfloor.loadgen.experiments.ingest.figures import CLIENT_RATE, make_published_figure
from watchfloor.loadgen.harness.ingest.work_supply import FILE_ITEMS, WorkSupply
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.suite import bench
from watchfloor.schema.errors import UserError


def test_it_runs_on_no_stack_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a stack of its own .*--home"):
        bench.main(["ingest", "--home", str(tmp_path)])


@pytest.mark.parametrize("wrong", ["--clients=0,1", "--tservers=two", "--shares=", "--layout=heap"])
def test_bad_options_are_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["ingest", wrong])
    assert wrong.split("=")[0] in capsys.readouterr().err


def test_the_published_rate_of_a_client_is_shown_beside_ours() -> None:
    of = {"clients": "2 clients", "tservers": "1 tablet server", "load": "closed loop"}
    figure = make_published_figure([Figure(CLIENT_RATE, (20.0, 30.0), of)])
    assert (figure.value, figure.metric.unit, figure.metric.better) == (1.1, "MB/s", None)
    assert "O'Gwynn, IEEE HPEC 2014 (arXiv 1407.5661), section V" in figure.note and figure.note.endswith(
        "ours: 25.0 (2 clients, 1 tablet server)"
    )


def test_the_same_file_again_is_other_work_of_the_same_size(tmp_path: Path) -> None:
    work = WorkSupply(tmp_path, 100, seed=3)
    items = list(islice(work.make_items("proxy.events"), 2 * FILE_ITEMS + 1))
    assert len({item.item_id for item in items}) == len(items)
    assert [(item.start, item.end) for item in items[:FILE_ITEMS]] == [
        (item.start, item.end) for item in items[FILE_ITEMS : 2 * FILE_ITEMS]
    ]
    sizes = [item.end - item.start for item in items]
    assert max(sizes) - min(sizes) < 1000 < min(sizes)
    again = islice(WorkSupply(tmp_path, 100, seed=3).make_items("proxy.events"), 5)
    of_content = {"ticket": "", "inode": 0, "mtime_ns": 0, "ctime_ns": 0}
    assert [replace(item, **of_content) for item in items[:5]] == [replace(item, **of_content) for item in again]
