"""Describes the surroundings of a measurement: the machine, the versions, the commit, the settings."""

from __future__ import annotations

import dataclasses
import os
import platform
import subprocess
import time
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.java_home import find_java

_PACKAGES = ("watchfloor", "pyarrow", "numpy", "jpype1", "kafka-python", "flask", "waitress")
_OPTIONAL = ("duckdb", "chdb", "tantivy", "polars")
_LOOPS = 5
_ENGINES = ("accumulo-core", "zookeeper", "kafka-clients", "arrow-c-data")


def describe_machine() -> dict[str, Any]:
    """Describes the machine, with its load average of the last minute and the time of a plain loop at this moment.

    On a shared host the time of the loop may double within minutes, which no load average shows.
    """
    memory = psutil.virtual_memory()
    return {
        "system": platform.platform(),
        "processor": _read_processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else None,
        "memory_bytes": memory.total,
        "available_bytes": memory.available,
        "load_average": round(os.getloadavg()[0], 2),
        "loop_ms": round(_time_loop(), 1),
    }


def find_versions(settings: Settings) -> dict[str, str]:
    """Returns the versions of Python, Java, the packages and the engines' jars, and the commit of a checkout."""
    found = {"python": platform.python_version(), "java": _find_java_version()}
    for package in _PACKAGES:
        found[package] = metadata.version(package)
    if commit := _find_commit():
        found["commit"] = commit
    for package in _OPTIONAL:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    jars = dict.fromkeys(_ENGINES, settings.jars)
    if home := os.environ.get("OPENSEARCH_HOME"):
        jars["opensearch"] = Path(home) / "lib"
    for engine, folder in jars.items():
        jar = next(iter(sorted(folder.glob(f"{engine}-[0-9]*.jar"))), None)
        if jar is not None:
            found[engine] = jar.stem.removeprefix(f"{engine}-")
    return found


def describe_settings(settings: Settings) -> dict[str, Any]:
    """Returns the settings with values that JSON can hold."""
    return {k: show_path(v) if isinstance(v, Path) else v for k, v in dataclasses.asdict(settings).items()}


def _find_commit() -> str:
    """Returns the name that ``git describe`` gives the checkout of this file; empty for an installed package."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return ""
    try:
        command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _time_loop() -> float:
    """Returns the milliseconds of a million steps of Python, the shortest of a few: a measure of the processor."""
    times = []
    for _ in range(_LOOPS):
        started = time.perf_counter()
        for _ in range(1_000_000):
            pass
        times.append(time.perf_counter() - started)
    return min(times) * 1000


def _read_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _find_java_version() -> str:
    said = subprocess.run([find_java() / "bin/java", "-version"], capture_output=True, text=True, timeout=20).stderr
    return said.splitlines()[0] if said else ""
