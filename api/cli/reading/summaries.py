"""Summaries of queries and aggregations as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MAX_SHOWN_BATCHES = 5


def format_summary(summary: dict[str, Any]) -> str:
    """Returns the summary of a query for people.

    The first line is like ``12 rows in 2 batches, first after 8 ms, all after 31 ms``. Below it are the plan, the
    first query batches, and the cursor with which a next query continues.
    """
    first = summary.get("first_seconds")
    parts = [f"{format_count(summary['rows'], 'row')} in {format_count(summary['batches'], 'batch', 'batches')}"]
    if first is not None:
        parts.append(f"first after {first * 1000:,.0f} ms")
    parts.append(f"all after {summary['seconds'] * 1000:,.0f} ms")
    if summary["status"] == "limit":
        parts.append("stopped at the limit")
    if summary["status"] == "deadline":
        parts.append("stopped at the deadline: THE ANSWER IS PARTIAL")
    lines = [", ".join(parts)]
    if summary["plan"] is not None:
        lines += [f"  {line}" for line in summary["plan"]["text"].splitlines()]
    lines += [f"  {line}" for line in _list_sources(summary)]
    batches = summary.get("query_batches", [])
    lines += [
        f"  {'batch ' + str(n):<9} {_format_batch(batch)}" for n, batch in enumerate(batches[:MAX_SHOWN_BATCHES], 1)
    ]
    if summary["batches"] > MAX_SHOWN_BATCHES:
        lines.append(f"  {'':<9} and {format_count(summary['batches'] - MAX_SHOWN_BATCHES, 'batch', 'batches')} more")
    if "cursor" in summary:
        lines.append(f"go on with --cursor {summary['cursor']}")
    if "no_cursor" in summary:
        lines.append(f"it cannot be gone on with: {summary['no_cursor']}")
    return "\n".join(lines)


def _list_sources(summary: dict[str, Any]) -> list[str]:
    """Returns a line for each source of a query of several, and for those that were not read."""
    lines = [f"{name}: {plan['scheme']}, {plan['rule']}" for name, plan in summary.get("sources", {}).items()]
    if settled := summary.get("settled"):
        lines.append(f"not read, as the counts say that nothing matches: {', '.join(settled)}")
    if waiting := summary.get("not_reached"):
        lines.append(f"not read, as the query ended before it came to their events: {', '.join(waiting)}")
    return lines + [f"{name}: left out, {because}" for name, because in summary.get("left_out", {}).items()]


def _format_batch(batch: dict[str, Any]) -> str:
    found = f"{format_count(batch['rows'], 'row')} in {batch['seconds'] * 1000:,.0f} ms"
    return f"{batch['since']} to {batch['until']}: {found}; {batch['because']}"


def format_stats_summary(summary: dict[str, Any]) -> str:
    """Returns the summary of an aggregation for people: ``3 rows of 1,200 events after 31 ms``, then the plan."""
    parts = [
        f"{format_count(summary['rows'], 'row')} of {format_count(summary['events'], 'event')} "
        f"after {summary['seconds'] * 1000:,.0f} ms"
    ]
    if summary["status"] == "deadline":
        parts.append(f"stopped at the deadline: THE ANSWER COVERS THE NEWEST {summary['share']:.1%} OF THE RANGE")
    lines = [", ".join(parts)]
    lines += [f"  {name} is approximate: {error}" for name, error in summary["approximate"].items()]
    return "\n".join([*lines, *(f"  {line}" for line in summary["text"].splitlines())])


def format_hidden(names: Sequence[str]) -> str:
    """Returns the line about columns of a table that are not shown."""
    why = "for want of room or of a value in the first rows"
    return f"not shown, {why}: {', '.join(names)} (name them in --columns)"


def format_count(n: int, one: str, many: str = "") -> str:
    """Returns ``1 row`` or ``2,000 rows``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
