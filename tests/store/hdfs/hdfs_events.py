"""A source of numbered words for tests of HDFS, and its commands, each a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.servers.process import find_process

SMALL = {"tserver_heap": "256m", "tserver_maps": "64m", "manager_heap": "128m", "kafka_heap": "256m", "up_seconds": 200}
SOURCE = {
    "name": "hdfs.events",
    "title": "Events of the test of HDFS",
    "timestamp": {"field": "ts", "format": "epoch"},
    "parser": {"format": "json"},
    "fields": [{"name": "ts", "type": "time"}, {"name": "word", "type": "string", "indexed": True}],
}


def run(settings: Settings, *arguments: str, policy: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "watchfloor.api.cli.main", "--home", str(settings.home), *arguments]
    coded = os.environ | ({"WATCHFLOOR_ERASURE_CODING": policy} if policy else {})
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=settings.home, env=coded)


def write_events(path: Path, events: int) -> Path:
    lines = (json.dumps({"ts": 1_700_000_000 + n, "word": f"{path.stem}-{n}-{n * n}"}) for n in range(events))
    path.write_text("\n".join(lines) + "\n")
    return path


def read_words(settings: Settings) -> list[str]:
    done = run(settings, "query", SOURCE["name"], "--since", "2023-01-01", "--format", "ndjson")  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    return sorted(json.loads(line)["word"] for line in done.stdout.splitlines())


def list_words(*loads: tuple[str, int]) -> list[str]:
    return sorted(f"{name}-{n}-{n * n}" for name, events in loads for n in range(events))


def kill(settings: Settings, name: str) -> None:
    process = find_process(settings.home / "run" / f"{name}.json")
    assert process is not None
    process.kill()
