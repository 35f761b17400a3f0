"""Measures the costs of reading for a stack, whose settings come on standard input.

``python -m watchfloor.loadgen.calibration``
"""

from __future__ import annotations

import os

from watchfloor.store.runtime.lean_process import leave_out_pandas

_NICENESS = 10


def main() -> None:
    """Runs the process; the modules that it needs are imported once pandas is left out."""
    os.nice(_NICENESS)
    leave_out_pandas()
    from .background import run_in_background

    run_in_background()


if __name__ == "__main__":
    main()
