"""JSON lines are told by the keys that definitions name; of several sources the one that names most keys counts.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from watchfloor.ingest.formats.json.json_keys import has_keys
from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.errors import InputFileError
from watchfloor.schema.source import Source


def source_with(name: str, keys: list[Any]) -> Source:
    return parse_definition(
        {
            "name": name,
            "parser": {"format": "json", "keys": keys, "loose": True},
            "timestamp": {"field": "ts", "format": "iso8601"},
            "unknown_fields": "extra",
            "fields": [{"name": "ts", "type": "time"}, {"name": "extra", "type": "string"}],
        }
    )


def sniff(folder: Path, sources: list[Source], *records: dict[str, Any]) -> str:
    path = folder / "some.json"
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return sniff_file(path, None, {source.name: source for source in sources}).feed


@pytest.mark.parametrize(
    ("keys", "record", "fits"),
    [
        (["a"], {"a": 0}, True),
        (["a"], {"a": None}, False),
        (["a", "b.c"], {"a": 1, "b": {"c": 1}}, True),
        (["a", "b.c"], {"a": 1, "b.c": 1}, True),
        (["a", "b.c"], {"a": 1, "b": {"d": 1}}, False),
        (["l.x"], {"l": [{"y": 1}, {"x": 1}]}, True),
        ([["a", "b"], "c"], {"b": 1, "c": 1}, True),
        ([["a", "b"], "c"], {"c": 1}, False),
        ([{"k": "v"}], {"k": "v"}, True),
        ([{"k": "v"}], {"k": "V"}, False),
        ([{"k": ["1", "true"]}], {"k": True}, True),
        ([{"k": "a/*"}], {"k": "a/v1"}, True),
        ([{"k": "a/*", "n": "1"}], {"k": "a/v1", "n": 1}, True),
        ([{"k": "a/*", "n": "1"}], {"k": "a/v1", "n": 2}, False),
        ([{"k": "v"}], {}, False),
    ],
)
def test_keys_of_a_record(keys: list[Any], record: dict[str, Any], fits: bool) -> None:
    assert has_keys(record, keys) is fits


def test_the_source_that_names_most_keys_has_the_file(tmp_path: Path) -> None:
    wide, narrow = source_with("lab.wide", ["a"]), source_with("lab.narrow", ["a", {"kind": "door"}])
    assert sniff(tmp_path, [wide, narrow], {"a": 1, "kind": "door"}) == "lab.narrow"
    assert sniff(tmp_path, [wide, narrow], {"a": 1, "kind": "gate"}) == "lab.wide"
    assert sniff(tmp_path, [wide], {"a": 1}, {"a": 2}, {"b": 3}) == "lab.wide", "most lines decide"
    with pytest.raises(InputFileError, match="no known source fits"):
        sniff(tmp_path, [wide], {"a": 1}, {"b": 2}, {"b": 3})
    with pytest.raises(InputFileError, match=r"the sources lab\.wide, lab\.other all fit"):
        sniff(tmp_path, [wide, source_with("lab.other", ["a"])], {"a": 1})
