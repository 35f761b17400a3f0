"""Finds the Java installation for this process and for the stack's servers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path

SUPPORTED_VERSIONS = (17, 21)


def find_java() -> Path:
    """Returns the home of a JDK or JRE of version 17 or 21: JAVA_HOME's, the PATH's, or the first that is installed.

    Raises ``StackError`` if there is none. Hadoop's libraries do not run on newer versions.
    """
    rejected = []
    for home in _list_java_homes():
        version = read_java_version(home)
        if version in SUPPORTED_VERSIONS:
            return home
        rejected.append(f"{show_path(home)} is {version or 'not a JDK'}")
    found = "; found: " + ", ".join(dict.fromkeys(rejected)) if rejected else ""
    raise StackError(f"Java 17 or 21 is wanted (package openjdk-17-jdk-headless; or set JAVA_HOME){found}")


def _list_java_homes() -> Iterator[Path]:
    """Yields folders that may be Java homes, in the order in which they are preferred."""
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for folder in (Path("/usr/lib/jvm"), Path("/Library/Java/JavaVirtualMachines")):
        for home in sorted(folder.glob("*")):
            yield home / "Contents/Home" if (home / "Contents/Home").is_dir() else home


def read_java_version(home: Path) -> int | None:
    """Returns the feature version (17, 21, …) of the Java in ``home``; None if there is no Java that runs."""
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK):
        return None
    try:
        text = (home / "release").read_text()
    except OSError:
        try:
            text = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20).stderr
        except (OSError, subprocess.TimeoutExpired):
            return None
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None
