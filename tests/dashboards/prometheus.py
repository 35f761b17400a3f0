"""A Prometheus for tests: its programs where they are installed, a server with a configuration, and its answers."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from missing import skip_test

ROOT = Path(__file__).parents[2]
FETCHED = ROOT / "build/prometheus/usr/bin"
"""The folder into which `make test` fetches the programs as root on Debian."""


def find_program(name: str) -> str:
    """Returns the path of ``prometheus`` or ``promtool``; skips the test if this machine lacks it (``missing.py``)."""
    found = shutil.which(name) or shutil.which(name, path=str(FETCHED))
    if found is None:
        skip_test(f"no {name} here: `make test` fetches it as root on Debian")
    return found


@dataclass(frozen=True)
class Prometheus:
    """A running server. ``query`` returns the samples of an instant query; a bad one is an ``AssertionError``."""

    url: str

    def get(self, path: str, **parameters: str) -> str:
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        try:
            with urllib.request.urlopen(f"{self.url}{path}{query}", timeout=30) as response:
                return str(response.read().decode())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path} {parameters}: {error.read().decode()}") from error

    def query(self, expression: str) -> list[dict[str, Any]]:
        answer = json.loads(self.get("/api/v1/query", query=expression))
        assert answer["status"] == "success"
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result

    def value(self, expression: str) -> float | None:
        samples = self.query(expression)
        return float(samples[0]["value"][1]) if samples else None


@contextmanager
def run_prometheus(folder: Path, configuration: Mapping[str, Any], consoles: Path) -> Iterator[Prometheus]:
    """Runs a server with this configuration, which JSON suffices for, and its data in ``folder``."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    file = folder / "prometheus.yml"
    file.write_text(json.dumps(configuration))
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                find_program("prometheus"), f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}", f"--web.console.templates={consoles}",
                f"--web.console.libraries={folder}",
            ],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        server, until = Prometheus(f"http://{address}"), time.monotonic() + 60
        while True:
            try:
                server.get("/-/ready")
                break
            except (OSError, AssertionError):
                assert process.poll() is None and time.monotonic() < until, (folder / "prometheus.log").read_text()
                time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        process.wait(30)
