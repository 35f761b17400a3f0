"""A new scan option is three files: the request, the Java that uses it, and its user. Shown on a copy of the rooms.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from watchfloor.schema.settings.load import load_settings
from watchfloor.store.runtime.jars import client_class_path
from watchfloor.store.runtime.java_home import find_java

ROOT = Path(__file__).parents[2]
ROOMS = ("schema", "store")
CELL_STREAM = "store/java/src/main/java/watchfloor/cell/CellStream.java"

# What each of the three files has more: the text that stands there, and what is put before or in place of it.
REQUEST = (
    "store/bridge/requests.py",
    {
        "    server: ServerOptions = ServerOptions()\n": (
            "    server: ServerOptions = ServerOptions()\n    skipped_rows: int = 0\n"
        ),
        "    most: int | None = None\n": "    most: int | None = None\n    sample: int | None = None\n",
    },
)
JAVA = (
    CELL_STREAM,
    {
        "    super(connection, request, EventFilterIterator.class);\n": (
            "    super(connection, request, EventFilterIterator.class);\n"
            '    skippedRows = request.number("skipped_rows");\n'
            '    sample = request.options("server").get("sample");\n'
        ),
        "extends EventStream {\n": (
            "extends EventStream {\n  public final int skippedRows;\n  public final String sample;\n\n"
        ),
    },
)
USER = (
    "store/layouts/cell/cell_layout.py",
    {
        "server=ServerOptions(program, source.time_field, sets=list_sets(request.where)),\n": (
            "server=ServerOptions(program, source.time_field, sample=7),\n        skipped_rows=40,\n"
        ),
    },
)
# A layout asks; the scan is begun in the JVM, over no ranges and so without a store.
PROGRAM = """
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from watchfloor.schema.definition import parse_definition
from watchfloor.store.bridge import jvm
from watchfloor.store.bridge.streams import EventStream
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.layout import ReadRequest
from watchfloor.store.layouts.cell.cell_layout import CellLayout

own_classes, jars = map(Path, sys.argv[1:])
class_path = jvm.client_class_path
jvm.client_class_path = lambda folder: [str(own_classes), *class_path(folder)]
jvm.start_jvm(jars)


class Reader:
    def begin_events(self, request):
        stream = EventStream(SimpleNamespace(java=None), (), replace(request, ranges=Ranges()))
        print("skipped rows", stream._java.skippedRows, "sample", stream._java.sample)
        return stream


source = parse_definition({
    "name": "web.proxy",
    "parser": {"format": "json"},
    "timestamp": {"field": "ts"},
    "fields": [{"name": "ts", "type": "time"}],
    "shards": 1,
})
assert list(CellLayout().scan_events(Reader(), source, ReadRequest(0, 10, None, ["ts"], 20))) == []
"""


def patch_file(folder: Path, name: str, changes: dict[str, str]) -> None:
    path = folder / "watchfloor" / name
    text = path.read_text()
    for before, after in changes.items():
        assert text.count(before) == 1, (name, before)
        text = text.replace(before, after)
    path.write_text(text)


def compile_java(folder: Path, jars: Path) -> Path:
    """Compiles the changed class alone, against the jars as they are built."""
    classes = folder / "classes"
    command = [find_java() / "bin/javac", "-cp", os.pathsep.join(client_class_path(jars)), "-d", classes]
    subprocess.run([*map(str, command), str(folder / "watchfloor" / CELL_STREAM)], check=True)
    return classes


@pytest.mark.parametrize("forgotten", [None, REQUEST], ids=["all three", "not declared"])
def test_a_scan_option_is_three_files(tmp_path: Path, forgotten: object) -> None:
    jars = load_settings().jars
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / "watchfloor" / room, ignore=shutil.ignore_patterns("target", "test"))
    for change in (REQUEST, JAVA, USER):
        if change is not forgotten:
            patch_file(tmp_path, *change)
    classes = compile_java(tmp_path, jars)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM, str(classes), str(jars)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    if forgotten is None:
        assert done.stdout == "skipped rows 40 sample 7\n", done.stderr
    else:
        assert done.returncode != 0 and "unexpected keyword argument" in done.stderr
