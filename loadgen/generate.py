"""Web-proxy events in any number, the same bytes for the same arguments: JSON lines, oldest first.

Each event is joined from fragments of JSON that were made and escaped once (``vocabulary``), a chunk of events at a
time, so memory does not grow with the number of events. Three domains have known frequencies, for queries that need a
dense, a middling and a rare value:

- *popular*: 20 % of the events (less what the other two take of them: a thousandth at most, and 10);
- *middling*: one in every 1,000 events (none in fewer than 1,000 if the one falls beyond the end);
- *rare*: exactly 10 events, one in each tenth of the range, when there are 1,000 events or more (else one per 100).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.schema.errors import UserError

from .vocabulary import CATEGORIES, MIDDLING, NUMBERS, POPULAR, RARE, TABLE_BITS, Vocabulary, vocabulary

KINDS = ("proxy.events",)
FIELDS = ("ts", "src_ip", "src_port", "user", "dest_ip", "dest_port", "method", "domain", "path", "query", "status",
          "bytes_in", "bytes_out", "duration_ms", "user_agent", "referrer", "content_type", "action", "category",
          "cached")  # fmt: skip
DEFAULT_END = datetime(2026, 1, 8, tzinfo=UTC)
DEFAULT_DAYS = 7.0
CHUNK = 50_000  # events; a multiple of BLOCK. Part of the format: other chunks would draw other events
BLOCK = 1_000
POPULAR_SHARE = 0.2
RARE_EVENTS = 10
# Requests per hour of the day relative to each other, UTC: an office that wakes at six and empties after five.
RHYTHM = (2, 1, 1, 1, 1, 2, 5, 9, 14, 16, 16, 15, 12, 14, 16, 15, 14, 11, 8, 6, 5, 4, 3, 2)
WEEKEND = 0.3
DAY = 86_400_000_000  # µs

Indices = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Frequency:
    """A domain and how many of the events have it."""

    domain: str
    events: int


@dataclass(frozen=True)
class Generated:
    """What ``generate`` wrote; ``since`` ≤ every time < ``until``; ``seconds`` of wall time."""

    events: int
    bytes: int
    seconds: float
    since: datetime
    until: datetime
    popular: Frequency
    middling: Frequency
    rare: Frequency


def generate(
    out: BinaryIO, events: int, seed: int = 1, days: float = DEFAULT_DAYS, end: datetime = DEFAULT_END
) -> Generated:
    """Writes ``events`` lines over the ``days`` before ``end`` to ``out``; raises ``UserError`` for bad arguments."""
    if events < 0 or seed < 0:
        raise UserError("the number of events and the seed must not be negative")
    if not 0.001 <= days <= 36_500:
        raise UserError("days must lie between 0.001 and 36500")
    if end.tzinfo is None or end - timedelta(days=days) < datetime(1970, 1, 1, tzinfo=UTC):
        raise UserError("the end must be a time with a zone, and the range must not begin before 1970")
    started, written, words = time.perf_counter(), 0, vocabulary()
    until = round(end.timestamp() * 1_000_000)
    clock = _Clock(until - round(days * DAY), until)
    seen = np.zeros(len(words.domain), np.int64)
    for first in range(0, events, CHUNK):
        size = min(CHUNK, events - first)
        rng = np.random.Generator(np.random.PCG64([seed, first // CHUNK]))
        times = clock.times(rng, first, size, events)
        domains = _domains(rng, first, size, events, words)
        seen += np.bincount(domains, minlength=len(seen))
        text = _text(rng, times, domains, words)
        out.write(text)
        written += len(text)
    named = [
        Frequency(name, int(seen[index]))
        for name, index in ((POPULAR, words.popular), (MIDDLING, words.middling), (RARE, words.rare))
    ]
    return Generated(events, written, time.perf_counter() - started, end - timedelta(days=days), end, *named)


class _Clock:
    """Turns shares of all events into times: its inverse cumulative curve follows the rhythm of days and weeks."""

    def __init__(self, since: int, until: int) -> None:
        hour = DAY // 24
        inner = np.arange(since // hour + 1, (until - 1) // hour + 1, dtype=np.int64) * hour
        self.knots = np.concatenate(([since], inner, [until])).astype(np.int64)
        starts = self.knots[:-1]
        # 1970-01-01 was a Thursday: days 2 and 3 of each seven are a weekend.
        weekend = np.isin((starts // DAY) % 7, (2, 3))
        rate = np.array(RHYTHM)[(starts // hour) % 24] * np.where(weekend, WEEKEND, 1.0)
        mass = rate * np.diff(self.knots)
        self.share = np.concatenate(([0.0], np.cumsum(mass) / mass.sum()))
        self.share[-1] = 1.0

    def times(self, rng: np.random.Generator, first: int, size: int, total: int) -> npt.NDArray[np.int64]:
        """Ascending µs of the events ``first`` … ``first + size`` of ``total``."""
        share = (first + np.sort(rng.random(size)) * size) / total
        offset = np.interp(share, self.share, (self.knots - self.knots[0]).astype(np.float64))
        return np.minimum(self.knots[0] + offset.astype(np.int64), self.knots[-1] - 1)


def _domains(rng: np.random.Generator, first: int, size: int, total: int, words: Vocabulary) -> Indices:
    """The domain of each event, the three named ones dealt out as promised."""
    domains = _draw(rng, words.domain_table, size)
    domains[rng.permutation(size)[: round(size * POPULAR_SHARE)]] = words.popular
    rare_events = RARE_EVENTS if total >= BLOCK else total // 100
    rare = [(2 * k + 1) * total // (2 * rare_events) for k in range(rare_events)]
    starts = np.arange(0, size, BLOCK)
    middling = starts + (rng.random(len(starts)) * BLOCK).astype(np.int64)
    # A rare event has at least 99 others before the next, so the place after it is free.
    middling += np.isin(first + middling, rare)
    domains[middling[middling < size]] = words.middling
    domains[[i - first for i in rare if first <= i < first + size]] = words.rare
    return domains


def _text(rng: np.random.Generator, times: npt.NDArray[np.int64], domains: Indices, words: Vocabulary) -> memoryview:
    """The events as lines of JSON, ready to be written."""
    size = len(times)
    days, day_of = np.unique(times // DAY, return_inverse=True)
    day_texts = pa.array([f'{{"ts":"{datetime.fromtimestamp(int(d) * 86_400, UTC):%Y-%m-%d}T' for d in days])
    clients = _draw(rng, words.client_table, size)
    # A client's user is item client + 1; one event in twelve comes without (item 0 is the null).
    users = np.where(rng.random(size) < 1 / 12, 0, clients + 1)
    # Most requests of a client come from its one browser.
    agents = np.where(rng.random(size) < 0.8, words.agent_of[clients], _draw(rng, words.agent_table, size))
    methods, paths = _draw(rng, words.method_table, size), _draw(rng, words.path_table, size)
    statuses = _draw(rng, words.status_table, size)
    queries, referrers = _draw(rng, words.query_table, size), _draw(rng, words.referrer_table, size)
    categories = words.category_of[domains]
    denied = statuses == words.denied_status
    cached = (rng.random(size) < 0.25) & ~denied
    # The index into ``tails``, whose last members vary fastest.
    tails = ((words.type_of[paths] * 2 + denied) * len(CATEGORIES) + categories) * 2 + cached
    parts = [
        day_texts.take(pa.array(day_of)),
        pa.array(times % DAY, pa.time64("us")).cast(pa.string()),
        pa.scalar('Z"'),
        words.src_ip.take(pa.array(clients)),
        words.src_port.take(_number(rng, size)),
        words.user.take(pa.array(users)),
        words.dest_ip.take(pa.array(domains)),
        words.port_method.take(pa.array(methods)),
        words.domain.take(pa.array(domains)),
        words.path.take(pa.array(paths)),
        words.query.take(pa.array(queries)),
        words.status.take(pa.array(statuses)),
        words.bytes_in.take(_number(rng, size)),
        words.bytes_out.take(_number(rng, size)),
        words.duration.take(_number(rng, size)),
        words.agent.take(pa.array(agents)),
        words.referrer.take(pa.array(referrers)),
        words.tails.take(pa.array(tails)),
    ]
    joined = pc.binary_join_element_wise(*parts, "")
    return memoryview(joined.buffers()[2])[: pc.sum(pc.binary_length(joined)).as_py()]


def _draw(rng: np.random.Generator, table: Indices, size: int) -> Indices:
    return table[rng.integers(0, 1 << TABLE_BITS, size, dtype=np.uint32)]


def _number(rng: np.random.Generator, size: int) -> pa.Array:
    return pa.array(rng.integers(0, NUMBERS, size, dtype=np.uint32))
