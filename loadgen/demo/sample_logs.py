"""Real logs for the demo: the small Zeek logs in the source distribution of the PyPI package zat (MIT licence)."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

from watchfloor.schema.errors import StackError

PACKAGE = "zat"
_LOGS = ("conn", "dns", "http", "files", "ssl", "x509", "weird", "notice", "dhcp", "ftp", "smtp")


def fetch_real_logs(cache: Path, target: Path) -> list[Path]:
    """Writes the logs to ``target``; returns their paths. pip downloads the distribution once into ``cache``."""
    archive = next(iter(sorted(cache.glob(f"{PACKAGE}-*.tar.gz"))), None) or _download_archive(cache)
    found = []
    with tarfile.open(archive) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            if member.isfile() and path.parent.name == "data" and path.suffix == ".log" and path.stem in _LOGS:
                content = tar.extractfile(member)
                assert content is not None
                out = target / f"{PACKAGE}-{path.name}"
                out.write_bytes(content.read())
                found.append(out)
    if not found:
        raise StackError(f"{archive} holds no logs; delete it, and it is fetched again")
    return sorted(found)


def _download_archive(cache: Path) -> Path:
    """Downloads the distribution with pip. Returns its path. Raises ``StackError`` if pip fails."""
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", PACKAGE, "--dest", str(cache), PACKAGE]
    print(f"$ pip download --no-deps --no-binary {PACKAGE} {PACKAGE}", flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise StackError(f"pip could not fetch {PACKAGE}, whose logs the demo loads: {last[0]}")
    return next(iter(sorted(cache.glob(f"{PACKAGE}-*.tar.gz"))))
