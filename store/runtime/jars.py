"""The jars and the native library of servers and clients, and the class paths made of the jars."""

from __future__ import annotations

import shutil
from pathlib import Path

from watchfloor.schema.errors import StackError, StoreError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import Settings

from .class_archive import SERVER_ARCHIVE, archive_folder, archive_options
from .private_files import make_private_folder, open_private

_OWN_JAR = "watchfloor-accumulo-"
# The name of one jar of each program. If one is missing in the folder, its build did not complete.
_REQUIRED_JARS = ("accumulo-tserver-", "accumulo-manager-", "accumulo-gc-", "zookeeper-", "kafka_2.13-", _OWN_JAR)
# Jars that only servers need. A client's JVM starts faster without opening them.
_SERVER_JARS = ("kafka", "scala", "accumulo-tserver", "accumulo-manager", "accumulo-gc", "accumulo-server")


ZSTD_OPTION = "-Dio.compression.codec.zstd.class=watchfloor.stack.files.ZstdCodec"
"""The option of a JVM that reads or writes Accumulo's files, so that zstd needs no native library of Hadoop."""


def list_jars(settings: Settings) -> list[Path]:
    """Returns all jars, sorted, so that no class path depends on the file system's order.

    Raises ``StackError`` if a required jar is missing.
    """
    jars = sorted(settings.jars.glob("*.jar"))
    missing = [name for name in _REQUIRED_JARS if not any(jar.name.startswith(name) for jar in jars)]
    if missing:
        raise StackError(f"no {missing[0]}*.jar in {settings.jars}: run `make setup`")
    return jars


def list_archivable_jars(folder: Path) -> list[Path]:
    """Returns the jars of which a class archive can be made: all in a folder except our own, which changes."""
    return [jar for jar in sorted(folder.glob("*.jar")) if not jar.name.startswith(_OWN_JAR)]


def copy_own_jar(settings: Settings) -> None:
    """Copies our own jar into the stack's ``lib``, so that a later build does not disturb running servers."""
    own_jar = next(jar for jar in list_jars(settings) if jar.name.startswith(_OWN_JAR))
    folder = settings.home / "lib"
    make_private_folder(folder)
    temporary = folder / "new"
    with own_jar.open("rb") as source, open_private(temporary, "wb") as copy:
        shutil.copyfileobj(source, copy)
    temporary.replace(folder / "watchfloor.jar")


def server_class_path(settings: Settings, java: Path) -> list[str]:
    """Returns a server's JVM options: the class archive and the class path (all jars, our own last).

    The core-site.xml is that of the stack's folder of configuration if it has one.
    """
    jars, archivable = list_jars(settings), list_archivable_jars(settings.jars)
    folder = archive_folder(settings.jars, java, archivable)
    copied = settings.home / "lib/watchfloor.jar"
    own_jars = [copied] if copied.exists() else [jar for jar in jars if jar not in archivable]
    core_site = folder / "core-site.jar"
    sites = [settings.conf_folder, *([core_site] if core_site.exists() else [])]
    path = [*archivable, *sites, *own_jars]
    return [*archive_options(folder / SERVER_ARCHIVE), "-cp", ":".join(map(str, path))]


def find_own_jar(folder: Path) -> Path:
    """Returns our own jar. Raises ``StoreError`` if it is missing."""
    own_jars = sorted(folder.glob(f"{_OWN_JAR}*.jar"))
    if not own_jars:
        raise StoreError(
            f"no {_OWN_JAR}*.jar in {show_path(folder)}: run `make setup`, or set `jars` to the folder that holds it"
        )
    return own_jars[0]


def client_class_path(folder: Path) -> list[str]:
    """Returns the class path of a client's JVM, our own jar last. Raises ``StoreError`` if our jar is missing."""
    own_jar = find_own_jar(folder)
    others = [jar for jar in list_archivable_jars(folder) if not jar.name.startswith(_SERVER_JARS)]
    return [str(jar) for jar in (*others, own_jar)]


def ycsb_class_path(folder: Path) -> list[str]:
    """Returns the class path of a client that runs YCSB: YCSB's own jars, and those of clients but for their
    HdrHistogram, as YCSB needs an older one. Raises ``StoreError`` if jars are missing.
    """
    theirs = folder.parent / "ycsb"
    jars = sorted(theirs.glob("*.jar"))
    if not jars:
        raise StoreError(f"no jars of YCSB in {show_path(theirs)}: run `make setup`")
    ours = [path for path in client_class_path(folder) if not Path(path).name.startswith("HdrHistogram-")]
    return [*map(str, jars), *ours]


def hdfs_class_path(folder: Path, conf: Path) -> list[str]:
    """Returns the class path of HDFS's servers: their configuration and their own jars.

    ``folder`` is that of all other jars. Raises ``StackError`` if jars are missing.
    """
    theirs = folder.parent / "hdfs"
    jars = sorted(theirs.glob("*.jar"))
    if not any(jar.name.startswith("hadoop-hdfs-") for jar in jars):
        raise StackError(f"no jars of HDFS in {show_path(theirs)}: run `make setup`")
    return [str(conf), *map(str, jars)]


def find_native_library(settings: Settings) -> Path | None:
    """Returns the folder of the compiled native map, beside the jars; None if ``make setup`` found no g++."""
    folder = settings.jars.parent / "native-lib"
    return folder if any(folder.glob("libaccumulo.*")) else None
