"""Removes a table that a workload has made."""

from __future__ import annotations

from watchfloor.schema.settings.settings import Settings

from .client_process import run_client


def drop_table(settings: Settings, name: str) -> bool:
    """Removes a table; returns whether it was there. Raises ``StoreError``."""
    (record,) = run_client(settings, "DropTable", {"table": name}, heap="64m")
    return bool(record["dropped"])
