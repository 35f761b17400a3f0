"""Looks up random rows by executors in Java processes, in tables that are cold, warm, or as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise

from watchfloor.loadgen.harness.cold_tables import drop_pages
from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.workloads.client_process import ClientProcess, Record, run_client, start_client

from .latencies import Latencies, merge_latencies
from .options import LookupLoad, State, check_table_name

Report = Callable[[int], None]
"""Called every few seconds with the number of look-ups until then."""


@dataclass(frozen=True)
class LookupResult:
    """The look-ups of a run, all of whose rows were right. ``rows`` are those of the table, ``batch`` of a look-up."""

    rows: int
    batch: int
    seconds: float
    latencies: Latencies

    @property
    def lookup_rate(self) -> float:
        return self.latencies.lookups / self.seconds


def look_up_rows(
    settings: Settings, table: str, load: LookupLoad, state: State = "as-is", report: Report = lambda lookups: None
) -> LookupResult:
    """Brings the table into the state, and looks up rows. Each cell that comes is compared with what was written.

    Cold: all files are written anew, so that no block of them is in a cache of the servers, and a local operating
    system drops its pages of them. Warm: the same rows have been looked up just before. Raises ``StoreError`` that
    names the first row that is missing or wrong, and ``UserError`` if the table is not one for look-ups.
    """
    check_table_name(table)
    if state == "cold":
        (record,) = run_client(settings, "lookups.RewriteFiles", {"table": table}, heap="64m")
        drop_table_pages(settings, record["id"])
    return repeat_lookups(settings, table, load, 2 if state == "warm" else 1, report)[-1]


def repeat_lookups(
    settings: Settings, table: str, load: LookupLoad, rounds: int, report: Report = lambda lookups: None
) -> list[LookupResult]:
    """Does the same look-ups in so many rounds, by the same clients; returns the result of each. Raises the same."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(start_client(settings, "lookups.ReadRows", {**options, "rounds": rounds}))
            for options in _share_load(table, load)
        ]
        ended = [_await_end(client, report if number == 0 else None) for number, client in enumerate(clients)]
    results = [_merge_round(records) for records in zip(*ended, strict=False)]
    if len(results) < rounds or not all(result.latencies.lookups for result in results):
        raise StoreError(f"table {table}: the look-ups were stopped")
    return results


def drop_table_pages(settings: Settings, table_id: str) -> None:
    """Has a local operating system drop the pages of a table's files. On a cluster it does nothing."""
    if settings.is_accumulo_local:
        drop_pages(settings.home / "data/accumulo/tables" / table_id)


def _merge_round(records: Sequence[Record]) -> LookupResult:
    seconds = max(record["seconds"] for record in records)
    return LookupResult(records[0]["rows"], records[0]["batch"], seconds, merge_latencies(records))


def _share_load(table: str, load: LookupLoad) -> Sequence[dict[str, object]]:
    """Returns the options of each process. The executors have numbers, by which they draw different rows."""
    ends = [load.executors * number // load.processes for number in range(load.processes + 1)]
    return [
        {
            "table": table,
            "first": first,
            "executors": end - first,
            "queries": load.queries,
            "batch": load.batch,
            "threads": load.threads,
            "draw": load.seed,
            "warm_up": load.warm_up,
        }
        for first, end in pairwise(ends)
    ]


def _await_end(client: ClientProcess, report: Report | None) -> list[Record]:
    """Returns a client's record of each round. Reports how far it is meanwhile."""
    ended = []
    for record in client.read_records():
        if record["phase"] == "done":
            ended.append(record)
        elif report is not None:
            report(record["lookups"])
    return ended
