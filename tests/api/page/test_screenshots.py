"""The command that takes pictures of the page works as it is written in the documentation.

In `make soak`: it starts a stack of its own with generated logs, and takes a minute.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from make_command import ROOT, run_make

pytestmark = [pytest.mark.stack, pytest.mark.soak, pytest.mark.timeout(900)]


def test_pictures_are_taken(tmp_path: Path) -> None:
    names = ["page", "wrapped-dark", "sign-in-phone"]
    printed = run_make("screenshots", f"PICTURES={tmp_path / 'new'}", f"VIEWS={' '.join(names)}")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(f"{name}.png" for name in names)
    for name in names:
        assert str(tmp_path / f"new/{name}.png") in printed
        picture = (tmp_path / f"new/{name}.png").read_bytes()
        width = 390 if name.endswith("phone") else 1280
        assert picture.startswith(b"\x89PNG") and int.from_bytes(picture[16:20]) == width and len(picture) > 5000
    for text in ((ROOT / "README.md").read_text(), (ROOT / "docs/using/page.md").read_text()):
        assert "make screenshots PICTURES=docs/using VIEWS=page" in text
