"""Ports of the loopback address on which processes serve metrics, and the files by which Prometheus finds them.

Each file of ``run/metrics`` in the stack's folder names one port, in the form of Prometheus' ``file_sd_configs``. What
is served there needs no token, so it names no source, no user and no value.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from prometheus_client import CollectorRegistry, start_http_server

from watchfloor.schema.settings.settings import Settings

from .private_files import make_private_folder, write_private

LOOPBACK = "127.0.0.1"
_OF_PROCESS = re.compile(r".*-(\d+)\.json")


def targets_folder(settings: Settings) -> Path:
    """Returns the folder of the files that name ports of metrics."""
    return settings.home / "run" / "metrics"


@contextmanager
def serve_metrics(settings: Settings, process: str, registry: CollectorRegistry) -> Iterator[None]:
    """Serves a registry of this process on a free port while the ``with`` block runs, if ``metrics`` is on.

    ``process`` is the kind of the process, which becomes a label of all that it serves.
    """
    if not settings.has_metrics:
        yield
        return
    server, _ = start_http_server(0, LOOPBACK, registry)
    # Workers of tests are threads of one process.
    target = write_target(settings, f"{process}-{server.server_port}-{os.getpid()}", process, server.server_port)
    try:
        yield
    finally:
        target.unlink(missing_ok=True)
        server.shutdown()
        server.server_close()


def write_target(settings: Settings, name: str, process: str, port: int) -> Path:
    """Writes the file ``name`` for a port, and returns its path. Removes the files of processes that have died."""
    folder = targets_folder(settings)
    make_private_folder(folder)
    for path in folder.glob("*.json"):
        found = _OF_PROCESS.fullmatch(path.name)
        if found and not psutil.pid_exists(int(found[1])):
            path.unlink(missing_ok=True)
    path = folder / f"{name}.json"
    write_private(path, json.dumps([{"targets": [f"{LOOPBACK}:{port}"], "labels": {"process": process}}]) + "\n")
    return path


def remove_targets(settings: Settings, names: Iterable[str]) -> None:
    """Removes the files of servers that have stopped."""
    for name in names:
        (targets_folder(settings) / f"{name}.json").unlink(missing_ok=True)


def make_scrape_configuration(settings: Settings, token_file: Path) -> dict[str, Any]:
    """Returns the part of Prometheus' configuration that reads all metrics of a stack; as JSON it is YAML too.

    ``token_file`` has an operator's token, without which the REST service does not answer.
    """
    service = {"targets": [f"{settings.host}:{settings.port}"], "labels": {"process": "service"}}
    return {
        "scrape_configs": [
            {
                "job_name": "watchfloor",
                "file_sd_configs": [{"files": [f"{targets_folder(settings)}/*.json"], "refresh_interval": "15s"}],
            },
            {
                "job_name": "watchfloor-service",
                "scheme": "http" if settings.tls_certificate is None else "https",
                "authorization": {"credentials_file": str(token_file)},
                "static_configs": [service],
            },
        ]
    }
