"""The JDK, the jars and the native library that servers run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.make_archive import SERVERS, cache, flags

VERSIONS = (17, 21)
OURS = "watchfloor-accumulo-"
# One jar of each thing that a start needs; a folder without them was not built to the end.
_WANTED = ("accumulo-tserver-", "accumulo-manager-", "accumulo-gc-", "zookeeper-", "kafka_2.13-", OURS)


def find_java() -> Path:
    """The home of a JDK or JRE of version 17 or 21: JAVA_HOME's, the PATH's, then what is installed.

    StackError when there is none; Hadoop's libraries do not run on newer ones.
    """
    seen = []
    for home in _java_homes():
        version = java_version(home)
        if version in VERSIONS:
            return home
        seen.append(f"{home} is {version or 'not a JDK'}")
    found = "; found: " + ", ".join(dict.fromkeys(seen)) if seen else ""
    raise StackError(f"Java 17 or 21 is wanted (package openjdk-17-jdk-headless; or set JAVA_HOME){found}")


def _java_homes() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for folder in (Path("/usr/lib/jvm"), Path("/Library/Java/JavaVirtualMachines")):
        for home in sorted(folder.glob("*")):
            yield home / "Contents/Home" if (home / "Contents/Home").is_dir() else home


def java_version(home: Path) -> int | None:
    """The feature version (17, 21, …) of the Java in ``home``; None when there is none that runs."""
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


def jars(settings: Settings) -> list[Path]:
    """All jars, sorted: the order of the class path must not depend on the file system. StackError when some miss."""
    found = sorted(settings.jars.glob("*.jar"))
    missing = [name for name in _WANTED if not any(jar.name.startswith(name) for jar in found)]
    if missing:
        raise StackError(f"no {missing[0]}*.jar in {settings.jars}: run `make setup`")
    return found


def stage_jar(settings: Settings) -> None:
    """Copies our own jar into the stack's ``lib``: a build that replaces it does not disturb servers that run."""
    ours = next(jar for jar in jars(settings) if jar.name.startswith(OURS))
    folder = settings.home / "lib"
    folder.mkdir(exist_ok=True)
    temporary = folder / "new"
    shutil.copyfile(ours, temporary)
    temporary.replace(folder / "watchfloor.jar")


def archived_jars(folder: Path) -> list[Path]:
    """All jars of a folder but ours, the one that changes: what a class archive can be made of."""
    return [jar for jar in sorted(folder.glob("*.jar")) if not jar.name.startswith(OURS)]


def class_path(settings: Settings, java: Path) -> list[str]:
    """JVM flags for every server: core-site.xml, all jars, ours last; and the class archive if there is one."""
    found, others = jars(settings), archived_jars(settings.jars)
    folder = cache(settings.jars, java, others)
    core_site = folder / "core-site.jar"
    staged = settings.home / "lib/watchfloor.jar"
    ours = [staged] if staged.exists() else [jar for jar in found if jar not in others]
    path = [core_site if core_site.exists() else settings.conf, *others, *ours]
    return [*flags(folder / SERVERS), "-cp", ":".join(map(str, path))]


def native_library(settings: Settings) -> Path | None:
    """The folder of the compiled native map, beside the jars; None when `make setup` found no g++."""
    folder = settings.jars.parent / "native-lib"
    return folder if any(folder.glob("libaccumulo.*")) else None
