"""Starts a worker process: ``python -m watchfloor.ingest.worker``."""

from __future__ import annotations

from watchfloor.store.runtime.lean_process import keep_freed_memory, leave_out_pandas


def main() -> None:
    """Runs the worker; the modules that it needs are imported once pandas is left out."""
    leave_out_pandas()
    keep_freed_memory()
    from .process import run_process
    from .worker import run_worker

    run_process(run_worker)


if __name__ == "__main__":
    main()
