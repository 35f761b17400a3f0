"""Runs modules of the page without a browser, by scripts of this folder that read JSON and answer JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NODE = Path(__file__).parents[3] / ".ci" / "node.sh"


def run_script(name: str, given: Any) -> Any:
    """Returns the answer of a script to ``given``."""
    command = [NODE, "node", FOLDER / name]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
