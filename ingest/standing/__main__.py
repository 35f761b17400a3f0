"""Starts a standing worker: ``python -m watchfloor.ingest.standing NAME DIGEST``."""

from __future__ import annotations

import sys

from watchfloor.store.runtime.lean_process import keep_freed_memory, leave_out_pandas


def main() -> None:
    """Runs the worker; the modules that it needs are imported once pandas is left out."""
    leave_out_pandas()
    keep_freed_memory()
    from .standing_worker import run_standing_worker

    run_standing_worker(*sys.argv[1:])


if __name__ == "__main__":
    main()
