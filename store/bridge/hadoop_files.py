"""Files of Hadoop's file systems as input: their states, and their bytes. They need no connection to Accumulo."""

from __future__ import annotations

from collections.abc import Sequence

from watchfloor.schema.settings.settings import Settings

from . import jvm
from .call import call_java
from .connection import use_hadoop

_CLASS = "watchfloor.bridge.InputFiles"


def prepare_hadoop(settings: Settings) -> None:
    """Starts the JVM if none runs, and says how it reaches HDFS. Raises ``StoreError``."""
    jvm.start_jvm(settings.jars, settings.jvm_heap)
    use_hadoop(settings)


def find_files(pattern: str) -> Sequence[str]:
    """Returns the addresses of the files that fit a pattern, and of those in folders that do, sorted.

    Raises ``StoreError``.
    """
    return [str(name) for name in call_java(jvm.java_class(_CLASS).find, pattern)]


def read_file_state(address: str) -> tuple[int, int, int]:
    """Returns size, time of change (ms since 1970 UTC) and identity of a file.

    Raises ``FileNotFoundError`` or ``StoreError``.
    """
    state = call_java(jvm.java_class(_CLASS).state, address)
    if state is None:
        raise FileNotFoundError(address)
    size, changed, identity = (int(number) for number in state)
    return size, changed, identity


def fetch_file(address: str, start: int, end: int, descriptor: int) -> None:
    """Writes the bytes [start, end) of a file to the same place of an open file. Raises ``StoreError``."""
    call_java(jvm.java_class(_CLASS).fetch, address, start, end, f"/proc/self/fd/{descriptor}")
