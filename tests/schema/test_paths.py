"""Any path is shown as printable text and taken back.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchfloor.api.formats.visible import escape_controls
from watchfloor.schema.files.paths import find_path, is_path_of, read_shown_path, show_path

NAMES = st.binary(min_size=1, max_size=20).map(lambda name: name.replace(b"\0", b"\n"))


@given(name=st.one_of(NAMES, st.text(min_size=1, max_size=9).map(lambda text: text.encode("utf-8", "replace"))))
def test_any_path_is_shown_and_taken_back(name: bytes) -> None:
    path = os.fsdecode(name)
    shown = show_path(path)
    assert shown.encode().decode() == shown == escape_controls(shown)
    assert read_shown_path(shown) == path
    assert is_path_of(shown, path) and is_path_of(path, path)


def test_how_odd_names_are_shown() -> None:
    assert show_path("/var/log/größe.log") == "/var/log/größe.log"
    assert show_path(os.fsdecode(b"/x/\xff\n\x1b[31m\\.log")) == r"/x/\xff\x0a\x1b[31m\\.log"
    assert show_path("a\x9b\u202eb") == r"a\xc2\x9b\xe2\x80\xaeb"
    for text in ("a\\", "a\\n", "a\\x1", "\\xFF"):
        with pytest.raises(ValueError):
            read_shown_path(text)


def test_a_file_is_found_by_its_path_or_as_it_is_shown(tmp_path: Path) -> None:
    odd = os.path.join(tmp_path, os.fsdecode(b"a\xff\\.log"))  # noqa: PTH118 - no UTF-8
    assert find_path(show_path(odd)) == show_path(odd), "there is no such file yet"
    Path(odd).touch()
    assert find_path(show_path(odd)) == find_path(odd) == odd
    assert find_path("a\\nothing") == "a\\nothing"
