"""The comparison at the end, when all files are done: each must be in the store exactly once, by every way to ask."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from watchfloor.ingest.records.ledger import LedgerRow
from watchfloor.ingest.records.quarantine import OPEN, Quarantine
from watchfloor.loadgen.experiments.chaos.written.event_files import HOSTS, EventMaker
from watchfloor.loadgen.experiments.chaos.written.truth import Condition, SourceTruth
from watchfloor.store.store import Store

from .answer_checks import Differences
from .questions import BUCKETS, Inquirer
from .rest_client import Answer

ALL = Condition()


class FinalChecks:
    """Asks everything about one source, whose files are all done. ``when`` names the state of the store."""

    def __init__(
        self, inquirer: Inquirer, maker: EventMaker, truth: SourceTruth, found: Differences, when: str
    ) -> None:
        self._inquirer, self._maker, self._truth, self._found, self._when = inquirer, maker, truth, found, when

    def run(self) -> int:
        """Records differences; returns the number of answers that were compared."""
        done = set(self._truth.files)
        answers = {"all rows": self._inquirer.ask_rows(ALL, done)}
        for host in range(HOSTS):
            at = Condition(host=host)
            answers[f"rows of host{host} by the index"] = self._inquirer.ask_rows(
                at, done, where=f'host = "host{host}"', scheme="batched-index"
            )
            answers[f"count of host{host}"] = self._inquirer.ask_count(at, done)
        answers["count"] = self._inquirer.ask_count(ALL, done)
        answers["top"] = self._inquirer.ask_top_hosts(ALL, done)
        for bucket in BUCKETS:
            answers[f"timeline by {bucket}"] = self._inquirer.ask_timeline(ALL, bucket, done)
            for host in (0, HOSTS // 2):
                answers[f"timeline of host{host} by {bucket}"] = self._inquirer.ask_timeline(
                    Condition(host=host), bucket, done
                )
        for name, answer in answers.items():
            self._check_complete(name, answer)
        return len(answers)

    def _check_complete(self, name: str, answer: Answer) -> None:
        if answer.outcome != "ok" or answer.status not in ("", "complete"):
            self._found.add(
                "final answer",
                self._maker.source_name,
                f"{name}, {self._when}: {answer.outcome} {answer.status} {answer.problem}",
            )


def check_records(
    store: Store, maker: EventMaker, truth: SourceTruth, rows: tuple[LedgerRow, ...], found: Differences
) -> None:
    """Compares ledger and quarantine with the files of a source."""
    files = truth.files
    own = [row for row in rows if row.item is not None and row.item.feed == maker.source_name]
    sums = _sum_by_file(own)
    for file in files.values():
        expected = {"events": len(file.times), "quarantined": len(file.bad)}
        if sums.get(file.path) != expected:
            found.add("ledger", maker.source_name, str(file.path), ledger=sums.get(file.path), expected=expected)
    items = {row.item_id for row in own}
    lines = [line for line in Quarantine(store).open_lines(None, None) if line.item_id.hex() in items]
    raw = sorted(line.raw for line in lines if line.state == OPEN)
    bad = sorted(line for file in files.values() for line in file.bad)
    if raw != bad:
        missing, more = set(bad) - set(raw), set(raw) - set(bad)
        found.add(
            "quarantine",
            maker.source_name,
            f"{len(raw):,} lines, expected are {len(bad):,}",
            missing=[repr(line) for line in sorted(missing)[:20]],
            more=[repr(line) for line in sorted(more)[:20]],
        )


def describe_items(rows: tuple[LedgerRow, ...]) -> list[Mapping[str, Any]]:
    """Returns the state of every item, for the evidence of a run with differences."""
    return [
        {
            "path": row.path,
            "item": row.item_id,
            "range": [row.item.start, row.item.end],
            "state": row.state,
            "reason": row.reason,
            "run": vars(row.run) if row.run else None,
            "end": vars(row.end) if row.end else None,
        }
        for row in rows
        if row.item is not None
    ]


def _sum_by_file(rows: list[LedgerRow]) -> dict[Path, dict[str, int]]:
    sums: dict[Path, dict[str, int]] = {}
    for row in rows:
        file = sums.setdefault(Path(row.path), {"events": 0, "quarantined": 0})
        file["events"] += row.events
        file["quarantined"] += row.quarantined
    return sums
