"""Query batches: the pieces of a query's time range that are run one after the other, newest first.

A policy is a pure state machine. ``start`` gives the first batch, ``next`` the one after a batch that has run, from
the rows it gave and the seconds it took; None is the end. A batch carries all the state there is. Batches are
half-open ranges of whole microseconds that touch and do not overlap, so together they cover [since, until) exactly
once, save the time that is known to be empty, which is jumped over.

A query has at most ``FREE_BATCHES`` batches and as many more as ``growth`` needs to grow one microsecond to the
whole range (at most 107 at the default, 4,320 at the smallest growth): batch ``FREE_BATCHES + n`` is at least
``growth ** n`` µs wide, whatever the policy asks for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from watchfloor.planner.estimate import PAGE
from watchfloor.schema.errors import InternalError, UserError
from watchfloor.schema.units import format_duration, format_number, format_percent

from .expected import Expected, Span

FREE_BATCHES = 10_000
"""Batches of one query whose width is the policy's affair alone."""
MAX_WIDTH = 2**62
"""Microseconds: more than any time range, and small enough that no width overflows."""

_SPARE = 1.25
"""How many times the rows that are wanted a batch should have, by the counts: with just as many, chance would ask for
another batch every other time."""
FIRST_PAGE = _SPARE * PAGE
"""Rows that the first batch should have by the counts, for a page of 100: the newest of them are handed over first, be
they scanned for or looked up."""
FEW_PAGES = 10 * PAGE
"""Rows that the first batch is for if the query wants no more: a second one costs as much as what it saves."""
_PRIOR = 10.0
"""So many rows as the counts expect are taken to have been found before the first batch: of few rows found, or none,
less is concluded."""


@dataclass(frozen=True)
class BatchSettings:
    """How queries are batched. Raises ``UserError`` for values that could not work.

    ``policy``: a key of ``POLICIES``. ``first_rows`` (the paper's k_0) rows are aimed at first, then each time
    ``growth`` (c) times as many. A batch should run ``min_seconds`` to ``max_seconds`` (T_min, T_max) and is never
    narrower than ``min_width`` µs (t_min). ``width`` (µs) is the width of policy ``fixed``.
    """

    policy: str = "density"
    growth: float = 1.5
    min_width: int = 1_000
    min_seconds: float = 1.0
    max_seconds: float = 30.0
    first_rows: float = 10.0
    width: int = 3_600_000_000

    def __post_init__(self) -> None:
        for name, good, wanted in (
            ("policy", self.policy in POLICIES, f"one of {', '.join(POLICIES)}"),
            ("growth", 1.01 <= self.growth <= 1_000, "between 1.01 and 1,000"),
            ("min_width", 1 <= self.min_width <= MAX_WIDTH, "at least 1 µs"),
            ("min_seconds", 0 < self.min_seconds <= self.max_seconds, "above 0 s and at most max_seconds"),
            ("max_seconds", math.isfinite(self.max_seconds), "finite"),
            ("first_rows", 1 <= self.first_rows <= 1e9, "at least 1 row"),
            ("width", 1 <= self.width <= MAX_WIDTH, "at least 1 µs"),
        ):
            if not good:
                raise UserError(f"batching: {name} = {getattr(self, name)!r} must be {wanted}")


@dataclass(frozen=True)
class Batch:
    """The time range [since, until) in µs, run as one unit, and the policy's whole state.

    ``start`` is where the query's range begins, ``number`` counts from 0, ``target`` is the rows aimed at (k_i).
    For people: ``expected`` rows by the counts, None if they are not known, and ``because``, the reason for the width.
    """

    since: int
    until: int
    start: int
    number: int
    target: float
    expected: float | None = field(default=None, compare=False)
    because: str = field(default="", compare=False)

    @property
    def width(self) -> int:
        """Microseconds."""
        return self.until - self.since


Width = tuple[float, str]
"""Microseconds, and why."""


class Policy(Protocol):
    """What the executor needs of a policy."""

    def start(self, since: int, until: int, first_width: int | None = None, wanted: int | None = None) -> Batch | None:
        """The newest batch of [since, until), about ``first_width`` µs wide; None if the range has no events.

        ``wanted``: how many rows the query wants; None is all of them.
        """
        ...

    def next(self, batch: Batch, rows: int, seconds: float, wanted: int | None = None) -> Batch | None:
        """The batch before ``batch``, which gave ``rows`` in ``seconds``; None when nothing is left.

        ``wanted``: how many more rows the query wants; None is all of them.
        """
        ...


def make_policy(
    settings: BatchSettings, busy: Iterable[Span] | None = None, expected: Expected | None = None
) -> Policy:
    """The policy that ``settings`` name.

    ``busy`` are the time ranges in µs that may hold events, in any order (None: all of time may); the rest is jumped
    over, so they must be complete. ``expected`` is what the counts say about the query's matches, and may be wrong.
    """
    return POLICIES[settings.policy](settings, None if busy is None else _merged(busy), expected)


def first_width(
    matches: float, since: int, until: int, settings: BatchSettings, busy: Iterable[Span] | None = None
) -> int:
    """b_0 in µs: the width that should hold ``settings.first_rows`` of the ``matches`` expected in [since, until).

    With ``busy`` the matches are taken to lie there, and not in the empty time between.
    """
    whole = max(0, until - since)
    held = whole
    if busy is not None:
        held = sum(max(0, min(until, hi) - max(since, lo)) for lo, hi in _merged(busy))
    if matches <= settings.first_rows:
        return max(1, whole)
    return max(1, min(whole, max(settings.min_width, int(held * settings.first_rows / matches))))


@dataclass(frozen=True)
class _Base:
    """What all policies share: covering the range, jumping over empty time, and an end."""

    settings: BatchSettings
    busy: tuple[Span, ...] | None = None
    expected: Expected | None = None

    def start(self, since: int, until: int, first_width: int | None = None, wanted: int | None = None) -> Batch | None:
        end = self._end(since, until)
        width = until - since if first_width is None else first_width
        first = self._first(width, since, end, math.inf if wanted is None else wanted)
        return self._batch(since, end, first, 0, self.settings.first_rows)

    def next(self, batch: Batch, rows: int, seconds: float, wanted: int | None = None) -> Batch | None:
        if rows < 0 or not seconds >= 0:
            raise InternalError(f"a batch cannot give {rows} rows in {seconds} s")
        target = min(1e12, self.settings.growth * batch.target)
        end = self._end(batch.start, batch.since)
        width = self._following(batch, end, target, rows, seconds, math.inf if wanted is None else wanted)
        return self._batch(batch.start, end, width, batch.number + 1, target)

    def _first(self, width: int, start: int, end: int, wanted: float) -> Width:
        """The width of the first batch of [start, end); ``width`` (µs) is what the counts suggest. ``wanted`` are all
        rows."""
        raise NotImplementedError

    def _following(self, batch: Batch, end: int, target: float, rows: int, seconds: float, wanted: float) -> Width:
        """The width of the batch after ``batch``, which ends at ``end`` and should give ``target`` rows;
        ``wanted`` are the last."""
        raise NotImplementedError

    def _end(self, start: int, until: int) -> int:
        """Where the newest time before ``until`` ends that is not empty; ``start`` if there is none."""
        if self.busy is None:
            return until
        return next((min(until, hi) for lo, hi in reversed(self.busy) if lo < until), start)

    def _batch(self, start: int, until: int, asked: Width, number: int, target: float) -> Batch | None:
        if until <= start:
            return None
        width, because = asked
        past = max(0, number - FREE_BATCHES)
        floor = self.settings.growth ** min(past, math.log(MAX_WIDTH) / math.log(self.settings.growth))
        least = max(1.0, floor, self.settings.min_width)
        if width < least:
            because = "the least width" if floor <= self.settings.min_width else "wider: there are too many batches"
        since = max(start, until - int(min(MAX_WIDTH, max(width, least))))
        if since == start and until - since < width:
            because = f"{because}, which is all that is left" if because else "all that is left"
        expected = None if self.expected is None else self.expected.rows(since, until)
        return Batch(since, until, start, number, target, expected, because)


class Single(_Base):
    """``none``: the whole range as one batch."""

    def _first(self, width: int, start: int, end: int, wanted: float) -> Width:
        return end - start, "the whole time range"

    def _following(self, batch: Batch, end: int, target: float, rows: int, seconds: float, wanted: float) -> Width:
        return end - batch.start, "the whole time range"


class Fixed(_Base):
    """``fixed``: batches of one width, that of the settings."""

    def _first(self, width: int, start: int, end: int, wanted: float) -> Width:
        return self.settings.width, "the width of the settings"

    def _following(self, batch: Batch, end: int, target: float, rows: int, seconds: float, wanted: float) -> Width:
        return self.settings.width, "the width of the settings"


class Bisect(_Base):
    """``bisect``: halves of the range, by the rows found.

    The range is halved until the counts expect no more than k_0 rows. A batch that gave more than twice the rows aimed
    at is followed by one of half its width, and one that gave less than half of them by one of twice its width.
    """

    def _first(self, width: int, start: int, end: int, wanted: float) -> Width:
        whole = max(1, end - start)
        halvings = max(0, math.ceil(math.log2(whole / max(1, width))))
        return (
            whole / 2**halvings,
            f"halved {halvings} times, until the counts expect {_rows(self.settings.first_rows)}",
        )

    def _following(self, batch: Batch, end: int, target: float, rows: int, seconds: float, wanted: float) -> Width:
        aimed = f"the last one gave {_rows(rows)} where {_rows(batch.target)} were aimed at"
        if rows > 2 * batch.target:
            return batch.width / 2, f"half as wide: {aimed}"
        if rows < batch.target / 2:
            return batch.width * 2, f"twice as wide: {aimed}"
        return batch.width, f"as wide as before: {aimed}"


class Adaptive(_Base):
    """``llcysa``: widths follow the rows and the seconds of the batch before.

    k' = c·k, b' = b·k'/r (no rows: c·b), T' = T·b'/b; where T' would leave [T_min, T_max], b' is scaled back to it.
    With only w rows wanted any more b' is no wider than b·c·w/r (not in the paper).
    """

    def _first(self, width: int, start: int, end: int, wanted: float) -> Width:
        return width, f"for {_rows(self.settings.first_rows)} by the counts"

    def _following(self, batch: Batch, end: int, target: float, rows: int, seconds: float, wanted: float) -> Width:
        settings = self.settings
        factor = target / rows if rows else settings.growth
        because = f"for {_rows(target)} at the rate of the last one" if rows else "wider: the last one found nothing"
        # A clock may see no time pass at all; a microsecond is less than any batch takes.
        spent = max(seconds, 1e-6)
        expected = spent * factor
        if expected < settings.min_seconds:
            factor, because = settings.min_seconds / spent, _runs(settings.min_seconds, "at least")
        elif expected > settings.max_seconds:
            factor, because = settings.max_seconds / spent, _runs(settings.max_seconds, "at most")
        if rows and settings.growth * wanted / rows < factor:
            factor, because = settings.growth * wanted / rows, f"for the {_rows(wanted)} still wanted"
        return batch.width * factor, because


class Density(Adaptive):
    """``density``: widths that by the counts have the rows aimed at, whatever the batch before happened to give. The
    first one is for a page, for all that is wanted if that is a few pages, or k_0 if that is more; if the first rows of
    a page come later than those of fewer (``Expected.paged``), it is for k_0, and the next one for a page.

    What batches find corrects the counts, which know nothing of conditions without any: after r rows where e were
    expected they are taken to be (r + 10) / (e + 10) of what they say. As soon as a batch has found something, the next
    one of a query with a limit is for all that is still wanted. Otherwise a batch should run T_min at least, and T_max
    if its rows come as soon as from a narrow one (``Expected.streams``); none should run longer than T_max.
    """

    def _first(self, width: int, start: int, end: int, wanted: float) -> Width:
        if self.expected is None:
            return super()._first(width, start, end, wanted)
        few = self.settings.first_rows
        page = max(few, FIRST_PAGE, _SPARE * wanted if wanted <= FEW_PAGES else 0)
        if self.expected.rows(start, end) < page:
            return end - start, f"the whole time range: by the counts it has fewer than {_rows(page)}"
        rows = page if self.expected.paged else few
        return self._width(start, end, rows), f"for {_rows(rows)} by the counts"

    def _following(self, batch: Batch, end: int, target: float, rows: int, seconds: float, wanted: float) -> Width:
        if self.expected is None:
            return super()._following(batch, end, target, rows, seconds, wanted)
        share = (rows + _PRIOR) / (self.expected.rows(batch.since, batch.until) + _PRIOR)
        corrected = f"by the counts, of which {format_percent(share)} are found"
        speed = batch.width / max(seconds, 1e-6)
        most = speed * self.settings.max_seconds, _runs(self.settings.max_seconds, "at most")
        page = batch.number == 0 and not self.expected.paged and wanted > PAGE
        if page or (rows and math.isfinite(wanted)):
            aimed, what = (PAGE, "a page") if page else (wanted, f"the {_rows(wanted)} still wanted")
            width = self._width(batch.start, end, _SPARE * aimed / share)
            return min(most, (width, f"for {what} {corrected}"))
        if self.expected.streams:
            return most
        least = speed * self.settings.min_seconds, _runs(self.settings.min_seconds, "at least")
        width = self._width(batch.start, end, target / share)
        return min(most, max(least, (width, f"for {_rows(target)} {corrected}")))

    def _width(self, start: int, end: int, rows: float) -> float:
        """The width of what ends at ``end`` and should have so many rows."""
        since = None if self.expected is None else self.expected.back(end, rows)
        return end - (start if since is None else since)


POLICIES: dict[str, type[_Base]] = {
    "none": Single, "fixed": Fixed, "bisect": Bisect, "llcysa": Adaptive, "density": Density,
}  # fmt: skip
"""Policies by the name that settings and requests use."""


def _rows(rows: float) -> str:
    return format_number(round(rows), "row")


def _runs(seconds: float, bound: str) -> str:
    return f"to run {bound} {format_duration(seconds)}"


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same time as disjoint spans, oldest first."""
    found: list[Span] = []
    for lo, hi in sorted(span for span in spans if span[0] < span[1]):
        if found and lo <= found[-1][1]:
            found[-1] = (found[-1][0], max(hi, found[-1][1]))
        else:
            found.append((lo, hi))
    return tuple(found)
