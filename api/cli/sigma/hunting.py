"""Runs hunts for the command line: cost first, progress on standard error, and the matches to writers."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pyarrow as pa

from watchfloor.api.cli.terminal.command_group import OK, PARTLY
from watchfloor.api.cli.terminal.context import open_store, print_message, read_settings
from watchfloor.api.cli.terminal.output import open_output
from watchfloor.api.cli.terminal.rows import print_rows
from watchfloor.api.formats.writers import Writer, open_writer
from watchfloor.api.requests import parse_time_range
from watchfloor.query.rules.hunt import Hunt, HuntCost, RuleCount
from watchfloor.query.rules.packing import pack_rules
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import UserError
from watchfloor.schema.filter.sigma.convert import ConvertedRule
from watchfloor.schema.filter.sigma.correlations.model import Correlation
from watchfloor.schema.filter.sigma.correlations.rule_set import RuleSet, convert_rules
from watchfloor.schema.filter.sigma.rule_file import RuleInfo, read_rules
from watchfloor.schema.source import Source
from watchfloor.schema.text import format_duration, format_number
from watchfloor.schema.times import format_micros

from .report import write_report

LINE_SECONDS = 5.0
LEVELS = ("critical", "high", "medium", "low", "informational")
COLUMNS = ("level", "rule", "id", "matches", "sources", "first", "last")
DEFAULT_LIMIT = 100
SLOW_SHOWN = 5
"""The number of slow rules that are named."""


@dataclass(frozen=True)
class OpenHunt:
    """A hunt that is ready to run, the rules that cannot be run with the reasons, and the expected cost."""

    hunt: Hunt
    failed: list[tuple[RuleInfo, str]]
    cost: HuntCost


@contextmanager
def open_hunt(args: Namespace, limit: int | None, tells: bool = True) -> Iterator[OpenHunt]:
    """Yields the hunt that a command line asks for, after it has said what the hunt and its slow rules will cost.

    A hunt that does not tell its matches only counts them. Raises ``UserError`` if no rule can be run, or if the hunt
    would take longer than ``--max-seconds``.
    """
    if limit is not None and limit < 1:
        raise UserError("--limit must be at least 1")
    since, until = parse_time_range(args.since, args.until)
    with open_store(read_settings(args)) as store:
        known = store.catalog.read_sources()
        rules = convert_rules(read_rules(args.rules), known)
        ready, correlations, failed = choose_runnable(rules, known)
        packs = [pack for pack in pack_rules(ready, correlations) if pack.source.name in known]
        _tell_failed(len(rules.outcomes), failed)
        if not packs:
            raise UserError("no rule can be run: `watchfloor sigma check RULES --store` tells why of each")
        hunt = Hunt(QueryService(store), packs, since, until, limit if tells else 0, correlations)
        cost = hunt.estimate_cost()
        print_message(_describe_cost(cost, hunt))
        for line in _describe_slow(cost, args.rule_seconds):
            print_message(line)
        if args.max_seconds is not None and cost.seconds > args.max_seconds:
            raise UserError(
                f"that is more than --max-seconds {args.max_seconds:g}; allow more, name fewer rules, or shorten the "
                f"time range with --since and --until"
            )
        yield OpenHunt(hunt, failed, cost)


def choose_runnable(
    rules: RuleSet, known: Mapping[str, Source]
) -> tuple[list[ConvertedRule], list[Correlation], list[tuple[RuleInfo, str]]]:
    """Returns the rules and correlations that have sources in the store, and the reasons of the others."""
    # A source may stand for one that comes with its first events; only those of the store can be read.
    ready = [rule for rule in rules.rules if any(one.source.name in known for one in rule.filters)]
    correlations = [one for one in rules.correlations if any(name in known for name in one.list_sources())]
    places = {*(one.info.place for one in ready), *(one.info.place for one in correlations)}
    runnable = [*(one.info for one in rules.rules), *(one.info for one in rules.correlations)]
    lacking = [info for info in runnable if info.place not in places]
    failed = [*rules.failed, *((info, "the store has no events of its sources") for info in lacking)]
    return ready, correlations, failed


def run_hunt(opened: OpenHunt, writers: Sequence[Writer], kept: list[pa.RecordBatch] | None = None) -> int:
    """Runs a hunt and writes its matches. Returns the exit status: PARTLY if a rule could not be run."""
    hunt, printed = opened.hunt, time.monotonic()
    for batch in hunt:
        for writer in writers:
            writer.write(batch)
        if kept is not None:
            kept.append(batch)
        if time.monotonic() - printed >= LINE_SECONDS:
            printed = time.monotonic()
            print_message(
                f"{hunt.done} of {format_number(len(hunt.packs), 'query', 'queries')}, {_describe_found(hunt)}"
            )
    for writer in writers:
        writer.close()
    print_message(f"{_describe_found(hunt)} in {format_duration(hunt.seconds)}")
    return PARTLY if opened.failed else OK


def hunt_with_report(args: Namespace) -> int:
    """Runs a hunt, prints the rules that match with their numbers, and writes the report and the matches."""
    limit = None if args.limit == 0 else DEFAULT_LIMIT if args.limit is None else args.limit
    with open_hunt(args, limit, bool(args.report or args.matches)) as opened, ExitStack() as stack:
        if args.cost:
            return OK
        report = stack.enter_context(open_output(args.report)) if args.report else None
        matches = stack.enter_context(open_output(args.matches)) if args.matches else None
        kept: list[pa.RecordBatch] | None = None if report is None else []
        status = run_hunt(opened, () if matches is None else (open_writer("ndjson", matches),), kept)
        counts = list_counts(opened.hunt)
        if report is not None:
            report.write(write_report(counts, kept or [], opened.failed, opened.hunt.seconds).encode())
    print_rows([_make_row(count) for count in counts if count.matches], COLUMNS, args.format)
    return status


def list_counts(hunt: Hunt) -> list[RuleCount]:
    """Returns the counts of all rules, the gravest levels first, and of one level those with the fewest matches."""
    return sorted(hunt.counts.values(), key=_rank_count)


def _rank_count(count: RuleCount) -> tuple[int, int, str]:
    level = count.info.level
    return LEVELS.index(level) if level in LEVELS else len(LEVELS), count.matches, count.info.title


def _make_row(count: RuleCount) -> dict[str, object]:
    return {
        "level": count.info.level,
        "rule": count.info.title,
        "id": count.info.id,
        "matches": count.matches,
        "sources": ", ".join(f"{name} {number}" for name, number in sorted(count.sources.items())),
        "first": "" if count.oldest is None else format_micros(count.oldest),
        "last": "" if count.newest is None else format_micros(count.newest),
    }


def _describe_found(hunt: Hunt) -> str:
    found = [count.matches for count in hunt.counts.values() if count.matches]
    matches, rules = format_number(sum(found), "match", "matches"), format_number(len(hunt.counts), "rule")
    return f"{matches} of {len(found):,} of {rules} among {format_number(hunt.events, 'event')}"


def _describe_cost(cost: HuntCost, hunt: Hunt) -> str:
    rules, sources = len(hunt.counts), len({pack.source.name for pack in hunt.packs})
    return (
        f"{format_number(rules, 'rule')} over {format_number(sources, 'source')} with "
        f"{format_number(cost.events, 'event')}: {format_number(cost.queries, 'query', 'queries')}, expected to take "
        f"about {format_duration(cost.seconds)}"
    )


def _describe_slow(cost: HuntCost, bound: float) -> Iterator[str]:
    """Yields lines that name the rules that are expected to add more than ``bound`` seconds each, most first."""
    slow = [(info, seconds) for info, seconds in cost.rules if seconds > bound]
    for info, seconds in slow[:SLOW_SHOWN]:
        yield (
            f"of that about {format_duration(seconds)} for the rule {info.title!r} of {info.place}: its patterns or "
            f"expressions are tested on many events; without it, or in a shorter time range, it takes less"
        )
    if len(slow) > SLOW_SHOWN:
        yield f"and {format_number(len(slow) - SLOW_SHOWN, 'rule')} more above --rule-seconds {bound:g}"


def _tell_failed(total: int, failed: Sequence[tuple[RuleInfo, str]]) -> None:
    if failed:
        print_message(
            f"{len(failed):,} of {format_number(total, 'rule')} cannot be run; `sigma check --failed` tells why"
        )
