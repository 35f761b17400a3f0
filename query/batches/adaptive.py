"""Policy ``llcysa``: the paper's adaptive batches."""

from __future__ import annotations

from watchfloor.schema.text import format_duration

from .distribution import MatchDistribution
from .policy import BatchRange, BatchRun, BatchWidth, WidthSettings, describe_rows

SHORTEST_SECONDS = 1e-6
"""The least seconds that a batch counts as running, because a coarse clock may measure none."""


class AdaptivePolicy:
    """Chooses the width of a batch by the rows and the seconds of the batch before.

    In the paper's letters: the last batch aimed at k rows, was b wide, gave r rows and ran T seconds; c is the growth.
    The next batch aims at k' = c·k rows and has the width b' = b·k'/r, or c·b if there were no rows. It is expected to
    run T' = T·b'/b seconds. If T' is outside [T_min, T_max], b' is scaled so that T' is the nearer bound. If the query
    wants only w more rows, b' is at most b·c·w/r (not in the paper).
    """

    name = "llcysa"

    def __init__(self, settings: WidthSettings, expected: MatchDistribution | None) -> None:
        self._settings = settings

    def choose_first_width(self, left: BatchRange, suggested: int) -> BatchWidth:
        return BatchWidth(suggested, f"for {describe_rows(self._settings.first_rows)} by the counts")

    def choose_next_width(self, left: BatchRange, run: BatchRun) -> BatchWidth:
        settings, rows = self._settings, run.rows
        factor, because = settings.growth, "wider: the last one found nothing"
        if rows:
            factor, because = (
                left.target_rows / rows,
                f"for {describe_rows(left.target_rows)} at the rate of the last one",
            )
        spent = max(run.seconds, SHORTEST_SECONDS)
        seconds = spent * factor
        if seconds < settings.min_seconds:
            factor, because = settings.min_seconds / spent, describe_bound("at least", settings.min_seconds)
        elif seconds > settings.max_seconds:
            factor, because = settings.max_seconds / spent, describe_bound("at most", settings.max_seconds)
        if rows and settings.growth * left.rows_left / rows < factor:
            factor = settings.growth * left.rows_left / rows
            because = f"for the {describe_rows(left.rows_left)} still wanted"
        return BatchWidth(run.batch.width * factor, because)


def describe_bound(bound: str, seconds: float) -> str:
    """Returns the reason for a width that follows from a bound on a batch's seconds."""
    return f"to run {bound} {format_duration(seconds)}"
