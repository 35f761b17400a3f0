"""The page on one's own logs does what it says: its commands are run as they stand there, on a real stack.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command_line import run_command
from ingest_support import RUN

from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs/using/logs/own-logs.md").read_text("utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
OUTPUTS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.stack
def test_the_page_runs(store_settings: Settings, tmp_path: Path) -> None:
    source = f"test{RUN}.doors"
    script = "set -e\n" + "\n".join(BLOCKS).replace("lab.doors", source)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "WATCHFLOOR_HOME": str(store_settings.home),
    }
    command = ["sh", "-c", script]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    proposed, table = (text.replace("lab.doors", source) for text in OUTPUTS)
    assert proposed in ran.stderr
    assert table in ran.stdout
    assert "8 lines = 8 events" in ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    asked = [row for row in rows if "result" in row]
    assert [(row.get("badge"), row["result"]) for row in asked] == [
        (None, "forced"),
        ("B-1041", "denied"),
        ("B-1041", "denied"),
    ]
    assert {row["value"]: row["count"] for row in rows if "value" in row} == {"B-1041": 3, "B-2210": 2, "B-3307": 2}


def test_lines_that_do_not_fit_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "doors.csv"
    file.write_text("when,door\n2026-03-01 08:00:01,north\n2026-03-01 08:00:02,south\n")
    proposed = run_command(load_settings(home=tmp_path), "sources", "infer", str(file))
    (tmp_path / "doors.json").write_text(proposed[1])
    file.write_text(file.read_text() + "yesterday,vault\n")
    status, out, err = run_command(
        load_settings(home=tmp_path), "sources", "try", str(tmp_path / "doors.json"), str(file)
    )
    assert status == 1
    assert [json.loads(line)["events"] for line in out.splitlines()] == [2, 2, 0]
    assert "3 lines: 2 events of logs.doors, 1 quarantined" in err
    assert "line 4: field when: 'yesterday' is not a time (ISO 8601): yesterday,vault" in err


def test_a_log_that_is_known_needs_no_definition(tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    file.write_text('192.0.2.1 - - [08/Jan/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5\n')
    status, out, err = run_command(load_settings(home=tmp_path), "sources", "infer", str(file))
    assert (status, out) == (2, "")
    assert "is read as it is, by web.access" in err


def test_a_log_of_the_last_resort_may_get_a_definition_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "doors.log"
    file.write_text("".join(f"ts=2026-03-01T08:00:0{n}Z door=north badge=B-{n} ms={n}\n" for n in range(5)))
    status, out, _ = run_command(load_settings(home=tmp_path), "sources", "infer", str(file))
    assert (status, json.loads(out)["name"]) == (0, "logs.doors")


def test_a_member_of_an_archive_is_named_or_chosen_and_told(tmp_path: Path) -> None:
    archive = tmp_path / "doors.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for name in ("north.csv", "south.csv"):
            out.writestr(name, f"when,door\n2026-03-01 08:00:01,{name}\n2026-03-01 08:00:02,{name}\n")
    settings = load_settings(home=tmp_path)
    status, out_text, err = run_command(settings, "sources", "infer", str(archive))
    assert (status, json.loads(out_text)["name"]) == (0, "logs.north")
    assert "doors.zip is an archive: this is its member north.csv" in err
    (tmp_path / "doors.json").write_text(out_text)
    status, out_text, err = run_command(
        settings, "sources", "try", str(tmp_path / "doors.json"), str(archive / "south.csv")
    )
    assert status == 0 and "this is its member south.csv" in err
    assert "south.csv" in json.loads(out_text.splitlines()[1])["examples"]
