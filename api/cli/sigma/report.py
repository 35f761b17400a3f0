"""The report of a hunt as one HTML page, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape

import pyarrow as pa

from watchfloor.api.formats.visible import escape_controls
from watchfloor.query.rules.hunt import RuleCount
from watchfloor.query.texts.columns import format_times
from watchfloor.schema.filter.sigma.rule_file import RuleInfo
from watchfloor.schema.text import format_duration
from watchfloor.schema.times import format_micros

_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }
table { border-collapse: collapse; margin: 0 0 1.5em; }
th, td { text-align: left; padding: 3px 10px; vertical-align: top; }
th { border-bottom: 2px solid #999; } td { border-bottom: 1px solid #ddd; } td.number { text-align: right; }
pre { margin: 0; white-space: pre-wrap; word-break: break-all; font-size: 12px; }
.critical, .high { color: #a00; font-weight: bold; } .medium { color: #960; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #161616; } .critical, .high { color: #f66; }
  .medium { color: #fb4; } a { color: #8bf; } td { border-color: #333; } }
"""


def write_report(
    counts: Sequence[RuleCount],
    matches: Iterable[pa.RecordBatch],
    failed: Sequence[tuple[RuleInfo, str]],
    seconds: float,
) -> str:
    """Returns the page: the rules that matched with their events, and the rules that could not be run."""
    found = [count for count in counts if count.matches]
    events = _group_events(matches)
    total = sum(count.matches for count in found)
    lines = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>Hunt: {total:,} matches</title>',
        f"<style>{_STYLE}</style></head><body>",
        "<h1>Hunt</h1>",
        f"<p>{total:,} matches of {len(found):,} of {len(counts):,} rules, found in {format_duration(seconds)}.</p>",
        *_list_rules(found),
        *(line for number, count in enumerate(found) for line in _list_events(number, count, events)),
        *_list_failed(failed),
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def _group_events(matches: Iterable[pa.RecordBatch]) -> dict[tuple[str, str], list[tuple[str, str, str]]]:
    """Returns for each ID and title of a rule the time, the source and the object of each event."""
    events: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    for batch in matches:
        key = (batch.column("id")[0].as_py(), batch.column("rule")[0].as_py())
        times, objects = format_times(batch.column("time")), batch.column("event").storage
        events[key] += zip(times.to_pylist(), batch.column("source").to_pylist(), objects.to_pylist(), strict=True)
    return events


def _list_rules(found: Sequence[RuleCount]) -> Iterator[str]:
    yield "<table><tr><th>level</th><th>rule</th><th>matches</th><th>sources</th><th>first</th><th>last</th></tr>"
    for number, count in enumerate(found):
        level = _show(count.info.level)
        first, last = ("" if at is None else format_micros(at) for at in (count.oldest, count.newest))
        yield (
            f'<tr><td class="{level}">{level}</td><td><a href="#r{number}">{_show(count.info.title)}</a></td>'
            f'<td class="number">{count.matches:,}</td><td>{_show(", ".join(sorted(count.sources)))}</td>'
            f"<td>{first}</td><td>{last}</td></tr>"
        )
    yield "</table>"


def _list_events(
    number: int, count: RuleCount, events: dict[tuple[str, str], list[tuple[str, str, str]]]
) -> Iterator[str]:
    info = count.info
    shown = events.get((info.id, info.title), [])
    rest = f", of which the {len(shown):,} newest are shown" if len(shown) < count.matches else ""
    yield f'<h2 id="r{number}">{_show(info.title)}</h2>'
    about = " · ".join(filter(None, (info.level, info.id, ", ".join(info.tags))))
    yield f"<p>{_show(about)}<br>{count.matches:,} matches{rest}</p>"
    yield "<table><tr><th>time</th><th>source</th><th>event</th></tr>"
    for time, source, event in shown:
        yield f"<tr><td>{_show(time)}</td><td>{_show(source)}</td><td><pre>{_show(event)}</pre></td></tr>"
    yield "</table>"


def _list_failed(failed: Sequence[tuple[RuleInfo, str]]) -> Iterator[str]:
    if not failed:
        return
    yield f"<h2>{len(failed):,} rules could not be run</h2><table><tr><th>rule</th><th>file</th><th>reason</th></tr>"
    for info, reason in failed:
        yield f"<tr><td>{_show(info.title)}</td><td>{_show(info.place)}</td><td>{_show(reason)}</td></tr>"
    yield "</table>"


def _show(text: str) -> str:
    """Returns a text for HTML, its control characters written out."""
    return escape(escape_controls(text))
