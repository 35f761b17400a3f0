"""Shows that `bench chaos` finds a fault: runs it on a copy of the project whose worker does not flush.

So an item is recorded as done, and its offset committed, while events are still in the worker's buffers. They are lost
when the worker is killed then. `make chaos-fault` runs it. The exit status is 0 if the run found differences, and 1 if
the fault went unseen.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ROOMS = ("api", "ingest", "loadgen", "planner", "query", "schema", "store")
JARS = Path("store/java/target")
READER = Path("ingest/reading/item_reader.py")
FLUSH = """            task.events_to.flush()
            task.sink.flush()
"""
NO_FLUSH = "            pass\n"


def make_faulty_copy(folder: Path) -> None:
    """Copies the rooms into ``folder``, and lets the worker end an item without a flush."""
    for room in ROOMS:
        left_out = shutil.ignore_patterns("__pycache__", "target", "node_modules")
        shutil.copytree(PROJECT / room, folder / "watchfloor" / room, ignore=left_out)
    (folder / "watchfloor" / JARS).symlink_to(PROJECT / JARS)
    (folder / "watchfloor" / "__init__.py").touch()
    reader = folder / "watchfloor" / READER
    text = reader.read_text()
    if text.count(FLUSH) != 1:
        raise SystemExit(f"{READER} does not read as expected; write the fault of this script anew")
    reader.write_text(text.replace(FLUSH, NO_FLUSH))


def main(minutes: str = "1", seed: str = "25") -> int:
    """Runs the faulty copy, and prints the first differences.

    With this seed the live worker is killed while both tablet servers pause.
    """
    with tempfile.TemporaryDirectory(prefix="watchfloor-fault-") as name:
        folder = Path(name)
        make_faulty_copy(folder)
        out = folder / "out"
        command = [sys.executable, "-m", "watchfloor.api.cli.main", "bench", "chaos", "--out", str(out)]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        environment.pop("WATCHFLOOR_HOME", None)
        subprocess.run([*command, "--minutes", minutes, "--seed", seed], env=environment, check=False)
        file = out / "differences.json"
        differences = json.loads(file.read_text()) if file.exists() else []
    for difference in differences[:5]:
        print(f"found: {difference['check']}, {difference['source']}: {str(difference['detail'])[:200]}")
    print(f"{len(differences)} differences" if differences else "the fault was not found")
    return 0 if differences else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
