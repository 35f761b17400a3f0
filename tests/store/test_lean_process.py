"""Commands and workers import no pandas, also where it is installed, and workers keep memory that they have freed.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

SAID = "pandas was imported"
MAKE_ARRAY = "import pyarrow; pyarrow.array([1])"
COUNT_NEW_PAGES = """
from resource import RUSAGE_SELF, getrusage
def fill():
    pieces = [bytearray(4 << 20) for _ in range(8)]
fill()
before = getrusage(RUSAGE_SELF).ru_minflt
fill()
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""
KEEP = "from watchfloor.store.runtime.lean_process import keep_freed_memory; keep_freed_memory()"
needs_glibc = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which the import of pandas ends the process."""
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas/__init__.py").write_text(f"raise SystemExit({SAID!r})\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, input="")


def test_arrow_imports_pandas_for_its_first_array(environment: dict[str, str]) -> None:
    assert SAID in run(environment, "-c", MAKE_ARRAY).stderr


def test_a_command_leaves_it_out(environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "a.json"
    log.write_text('{"ts": "2026-01-01T00:00:00Z", "n": 1}\n')
    code = f"import sys; sys.argv = ['watchfloor', 'sources', 'infer', {str(log)!r}]; "
    done = run(
        environment,
        "-c",
        f"{code}from watchfloor.api.cli.main import main; status = main(); {MAKE_ARRAY}; sys.exit(status)",
    )
    assert (done.returncode, SAID in done.stderr) == (0, False), done.stderr


def test_a_worker_leaves_it_out(environment: dict[str, str]) -> None:
    """Without settings on its standard input a worker ends once it has imported what it needs."""
    done = run(environment, "-m", "watchfloor.ingest.worker")
    assert "EOFError" in done.stderr and SAID not in done.stderr


@needs_glibc
def test_freed_memory_is_used_again_without_new_pages() -> None:
    given_back, kept = (int(run({**os.environ}, "-c", code + COUNT_NEW_PAGES).stdout) for code in ("", KEEP))
    assert given_back > 4000 and kept < 400, "of 32 MB, which are 8,192 pages"
