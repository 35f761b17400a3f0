"""The JVM inside this process: its start and all its options.

A JVM lives as long as its process and cannot be started a second time. It does not survive a fork: its threads exist
only in the parent, and the first call into it from the child hangs. So a server that forks starts the JVM after the
fork, and workers are processes of their own.
"""

from __future__ import annotations

import atexit
import gc
import os
import threading
from functools import cache
from pathlib import Path
from typing import Any

import jpype
import jpype.config

from watchfloor.schema.errors import InternalError, StoreError
from watchfloor.schema.files.paths import show_path
from watchfloor.store.runtime.class_archive import CLIENT_ARCHIVE, archive_folder, archive_options
from watchfloor.store.runtime.jars import ZSTD_OPTION, client_class_path, list_archivable_jars
from watchfloor.store.runtime.java_home import find_java

_OPTIONS = (
    # Arrow reads the addresses of buffers from classes in java.nio.
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "-Darrow.enable_unsafe_memory_access=true",
    "-Darrow.enable_null_check_for_get=false",
    # Python handles signals: ^C becomes a KeyboardInterrupt, and the worker handles SIGTERM.
    "-Xrs",
    "-XX:+UseSerialGC",
    # The second compiler costs queries and workers more than it gains: long loops run on the servers and in Python.
    "-XX:TieredStopAtLevel=1",
    # The writer of sorted files compares keys by ``byteAt``, which the first compiler does not inline by itself.
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=inline,org.apache.accumulo.core.data.ArrayByteSequence::byteAt",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    "-Dlog4j2.configurationFile=classpath:watchfloor-bridge-log4j2.properties",
    "-Dlog4j2.disableJmx=true",
    "-Dlog4j.shutdownHookEnabled=false",
    ZSTD_OPTION,
)

# A service runs the same code again soon, and its clients wait for it: code is compiled after a tenth of the calls.
_LASTING = ("-XX:CompileThresholdScaling=0.1",)

_lock = threading.Lock()
_owner: int | None = None


def _find_jvm_library(home: Path) -> Path:
    """Returns the JVM's shared library in a Java home. Raises ``StoreError`` if there is none."""
    for name in ("libjvm.so", "libjvm.dylib"):
        if (home / "lib/server" / name).exists():
            return home / "lib/server" / name
    raise StoreError(f"no lib/server/libjvm in {show_path(home)}: it is not a whole Java installation")


def start_jvm(jars: Path, heap: str = "256m", is_lasting: bool = False) -> None:
    """Starts the JVM if it does not run yet; later calls change nothing, whatever their arguments.

    ``jars`` is the folder that the Maven module has filled, and ``heap`` the value of the JVM's option ``-Xmx``. With
    ``is_lasting`` code is compiled sooner, which pays where the process answers many requests.

    Raises ``StackError`` if there is no Java 17 or 21, ``StoreError`` if the JVM does not start, and ``InternalError``
    in a process that was forked from one with a JVM.
    """
    global _owner
    with _lock:
        if _owner is not None:
            _check_owner()
            return
        # At exit Python may still hold batches in Java's memory, which it releases by calls into the JVM. So the JVM is
        # not destroyed before; it ends with the process.
        jpype.config.destroy_jvm = False
        java = find_java()
        archive = archive_folder(jars, java, list_archivable_jars(jars)) / CLIENT_ARCHIVE
        try:
            jpype.startJVM(
                str(_find_jvm_library(java)),
                *_OPTIONS,
                *(_LASTING if is_lasting else ()),
                *archive_options(archive),
                f"-Xmx{heap}",
                classpath=client_class_path(jars),
                convertStrings=False,
                interrupt=False,
            )
        except (OSError, RuntimeError, jpype.JVMNotFoundException, jpype.JVMNotSupportedException) as error:
            raise StoreError(f"the JVM does not start: {error}") from error
        _leave_garbage_to_python()
        # Most objects that exist now stay. Frozen, they take no part in collections, which block Python's threads.
        gc.collect()
        gc.freeze()
        _owner = os.getpid()
        atexit.register(_stop_calling_python)


def is_running() -> bool:
    """Returns whether a JVM runs in this process; after a fork it runs in the parent alone."""
    return _owner == os.getpid()


def _leave_garbage_to_python() -> None:
    """Takes JPype out of Python's collections of garbage, by removing what it registers for each of them.

    At each collection JPype walks over the allocator's memory, to ask Java for a full one if the process has grown,
    which a worker's always has. And after each of Java's it has Python collect everything, which stops a worker for
    18 ms. It does so only once if it is not told when that has ended. Java's objects are freed by reference counts.
    """
    gc.callbacks[:] = [callback for callback in gc.callbacks if callback is not jpype._jpype._collect]


def _stop_calling_python() -> None:
    """Ends JPype's thread in the JVM that drops references to Python objects.

    Otherwise only destroying the JVM would end that thread. If it waits for the interpreter's lock while the
    interpreter ends, it is killed in a way that aborts the whole process.
    """
    if _owner == os.getpid():
        jpype.JClass("org.jpype.ref.JPypeReferenceQueue").getInstance().stop()


def java_class(name: str) -> Any:
    """Returns a Java class by its full name. Raises ``InternalError`` if no JVM runs in this process."""
    if _owner is None:
        raise InternalError("the JVM has not been started")
    _check_owner()
    return _find_class(name)


@cache
def _find_class(name: str) -> Any:
    return jpype.JClass(name)


def _check_owner() -> None:
    """Raises ``InternalError`` in a process that was forked from one with a JVM."""
    if _owner != os.getpid():
        raise InternalError("the JVM does not survive a fork: start it in the process that uses it")
