"""The progress of a load on standard error: a bar on a terminal, else a line now and then, and a summary at its end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

from watchfloor.api.formats.visible import escape_controls
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.text import format_number

from .context import print_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchfloor.ingest.intake.load_result import FileResult, LoadProgress, LoadResult

LINE_SECONDS = 5.0
MAX_REASONS = 10


class RunningLoad(Protocol):
    """A load that runs while it is iterated, by this process or by a worker of the stack."""

    def __iter__(self) -> Iterator[LoadProgress]: ...

    @property
    def result(self) -> LoadResult: ...


def follow_load(load: RunningLoad) -> LoadResult:
    """Runs a load to its end and shows its progress."""
    if sys.stderr.isatty():
        _show_bar(load)
    else:
        printed_at = time.monotonic()
        for progress in load:
            if time.monotonic() - printed_at >= LINE_SECONDS:
                printed_at = time.monotonic()
                print_message(format_progress(progress))
    return load.result


def format_progress(progress: LoadProgress) -> str:
    """Returns ``loading: 1,234 events (567 events/s, 8.9 MB/s), 45 %, lag 2 items, 0 quarantined``."""
    share = 100 * progress.bytes // progress.total_bytes if progress.total_bytes else 100
    text = (
        f"{progress.phase}: {progress.events:,} events "
        f"({format_speed(progress.events, progress.bytes, progress.seconds)}), "
        f"{share} %, lag {progress.lag} item{'s' if progress.lag != 1 else ''}, {progress.quarantined:,} quarantined"
    )
    return f"{text}; {escape_controls(progress.problem)}" if progress.problem else text


def format_speed(events: int, size: int, seconds: float) -> str:
    """Returns mean speeds. ``size`` is in bytes of log; 1 MB is 10**6 bytes."""
    seconds = max(seconds, 1e-3)
    return f"{events / seconds:,.0f} events/s, {size / seconds / 1e6:,.1f} MB/s"


def format_summary(result: LoadResult) -> str:
    """Returns what was loaded: a line per file if there are several, the failures, and the totals.

    Files that were loaded before do not count in the totals.
    """
    count = len(result.files) + len(result.unread)
    lines = [format_file(f) for f in result.files] if count > 1 else []
    lines += [f"  skipped: {escape_controls(reason)}" for reason in result.unread]
    lines += [f"  failed: {escape_controls(reason)}" for reason in result.failed[:MAX_REASONS]]
    lines += [f"  left out: {escape_controls(reason)}" for f in result.files for reason in f.left_out]
    lines += _format_misfits(result)
    notes = {
        "were loaded before": sum(f.is_known for f in result.files),
        "hold no lines: empty, blank or only headers": sum(f.has_no_lines for f in result.files),
        "were skipped, as their kind is not known": len(result.unread),
    }
    known = "".join(f", {number:,} of {count:,} files {note}" for note, number in notes.items() if number)
    lines.append(
        f"{result.lines:,} lines = {result.events:,} events + {result.quarantined:,} quarantined, in "
        f"{result.seconds:.1f} s ({format_speed(result.events, result.bytes, result.seconds)}){known}"
    )
    if any(f.quarantined for f in result.files):
        lines.append("`watchfloor quarantine list` shows the quarantined lines and why")
    return "\n".join(lines)


def _format_misfits(result: LoadResult) -> list[str]:
    """Returns a line for each field that has lost values, those with the most values first."""
    misfits = sorted(result.misfits.items(), key=lambda found: (-found[1], found[0]))
    lines = [
        f"  kept in extra: {format_number(count, 'value')} of {name} in {source}, not of its type"
        for (source, name), count in misfits[:MAX_REASONS]
    ]
    if len(misfits) > MAX_REASONS:
        rest = sum(count for _, count in misfits[MAX_REASONS:])
        lines.append(f"  kept in extra: {format_number(rest, 'value')} of {len(misfits) - MAX_REASONS:,} more fields")
    return lines


def format_file(file: FileResult) -> str:
    """Returns a line about one loaded file."""
    note = (
        ", loaded before" if file.is_known else ", FAILED" if file.failed else ", no lines" if file.has_no_lines else ""
    )
    return f"  {show_path(file.path)}: {file.events:,} events, {file.quarantined:,} quarantined{note}"


def _show_bar(load: RunningLoad) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bars

    def make_text_column(name: str) -> TextColumn:
        return TextColumn(f"{{task.fields[{name}]}}", markup=False)

    columns = (make_text_column("phase"), BarColumn(24), TaskProgressColumn(), make_text_column("text"))
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("load", total=None, phase="starting", text="")
        for now in load:
            text = f"{format_speed(now.events, now.bytes, now.seconds)}, lag {now.lag}, quarantined {now.quarantined:,}"
            if now.problem:
                text += "\n" + escape_controls(now.problem)
            bars.update(task, total=now.total_bytes or 1, completed=now.bytes, phase=now.phase, text=text)
