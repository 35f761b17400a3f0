"""The folder of a run of faults, for its logs and its history."""

from __future__ import annotations

import tempfile
from pathlib import Path

from watchfloor.schema.errors import UserError
from watchfloor.schema.files.paths import show_path


def make_run_folder(out: Path | None) -> Path:
    """Makes the run's folder; with None a temporary one. Raises ``UserError`` if it exists."""
    if out is None:
        return Path(tempfile.mkdtemp(prefix="watchfloor-chaos-"))
    try:
        out.mkdir(parents=True)
    except FileExistsError:
        raise UserError(f"{show_path(out)} exists; name a new folder with --out") from None
    return out.absolute()
