"""All folders of text formats are found, and a definition names one of them.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from watchfloor.ingest import formats
from watchfloor.ingest.formats.registry import check_format, find_family, find_format, load_formats, open_parser
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.errors import DefinitionError, UnknownSourceError
from watchfloor.schema.source import Source


def source_of(text_format: str) -> Source:
    definition: dict[str, Any] = {
        "name": "lab.x",
        "parser": {"format": text_format},
        "timestamp": {"field": "ts"},
        "fields": [{"name": "ts", "type": "time"}],
    }
    return parse_definition(definition)


def test_each_folder_is_a_format_of_its_name() -> None:
    folders = {path.parent.name for path in Path(formats.__path__[0]).glob("*/__init__.py")}
    assert set(load_formats()) == folders >= {"access_log", "eve", "json", "zeek"}
    assert all(text_format.name == name for name, text_format in load_formats().items())
    families = [text_format.family for text_format in load_formats().values() if text_format.family]
    assert len(families) == len(set(families))


def test_all_definitions_that_ship_name_a_format() -> None:
    for name, source in builtin_definitions().items():
        assert check_format(source, name) is source


def test_a_feed_is_a_source_or_of_a_family() -> None:
    sources = {"lab.x": source_of("eve")}
    assert find_format("lab.x", sources).name == "eve"
    assert find_format("zeek", {}).name == find_format("zeek.any", {}).name == "zeek"
    assert find_format("suricata.alert", {}).name == "eve"
    assert (find_family("zeek.conn"), find_family("zeekish"), find_family("web.access")) == ("zeek", "", "")
    with pytest.raises(UnknownSourceError, match="unknown source"):
        find_format("lab.y", sources)


def test_a_definition_with_a_format_that_there_is_not_is_refused(tmp_path: Path) -> None:
    wrong, log = source_of("jsn"), tmp_path / "some.log"
    log.write_text('{"ts":1}\n')
    known = ", ".join(load_formats())
    message = rf"\.parser\.format: 'jsn' is not one of {known}; did you mean json\?"
    with pytest.raises(DefinitionError, match=r"door\.json" + message):
        check_format(wrong, "door.json")
    with pytest.raises(DefinitionError, match=r"lab\.x" + message):
        sniff_file(log, "lab.x", {"lab.x": wrong})
    with pytest.raises(DefinitionError, match=r"lab\.x" + message):
        open_parser("lab.x", b"", lambda name, derive: wrong)
