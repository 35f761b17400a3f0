"""Reads a table of linked lists while clients go on writing into it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from watchfloor.schema.settings.settings import Settings

from .clients import ClientKind, run_clients, start_clients
from .ingest import sum_ingest
from .readers import ReadResult, sum_reads


def read_beside_ingest(
    settings: Settings, reader: ClientKind, writer: ClientKind, writers: int, seeds: tuple[int, int], seconds: float
) -> tuple[ReadResult, float]:
    """Runs one reader for ``seconds`` beside ``writers``; returns what it found, and the entries written a second.

    ``seeds`` are those of the reader and of the first writer.
    """
    with start_clients(settings, writer, writers, seeds[1]) as running, ThreadPoolExecutor(1) as pool:
        written = pool.submit(running.wait)
        try:
            found = sum_reads(run_clients(settings, reader, 1, seeds[0], seconds=seconds))
        finally:
            running.stop()
    return found, sum_ingest(written.result()).rate
