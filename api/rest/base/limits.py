"""The limits of the REST service: what of it one token, and all tokens together, may take."""

from __future__ import annotations

from dataclasses import dataclass

from watchfloor.schema.settings.settings import Settings

from .jobs import WAITING as WAITING_FOR_JOBS
from .query_queue import QueueLimits

WAITING, WAITING_PER_TOKEN = 128, 64
PAUSED, PAUSED_PER_TOKEN = 48, 24
WATCHES_PER_QUERY = 2
SHORT_REQUEST_THREADS = 8


@dataclass(frozen=True)
class RestLimits:
    """The limits that the settings choose.

    At most ``queries`` requests read from the store at once, ``queries_per_token`` of them of one token, and twice as
    many watches run beside them. A request waits ``wait_seconds`` for its turn. A client that does not read its answer
    for ``stalled_seconds`` is cut off. ``deadline`` (seconds) bounds the deadlines of queries and watches; None sets no
    bound.
    """

    queries: int = 8
    queries_per_token: int = 4
    wait_seconds: float = 10.0
    stalled_seconds: float = 20.0
    deadline: float | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> RestLimits:
        """Returns the limits that the settings name."""
        return cls(
            queries=settings.max_queries,
            queries_per_token=min(settings.max_queries_per_token, settings.max_queries),
            wait_seconds=settings.query_wait_seconds,
            stalled_seconds=settings.stalled_reader_seconds,
            deadline=settings.deadline_seconds or None,
        )

    @property
    def for_queries(self) -> QueueLimits:
        """The limits of requests that read from the store and end by themselves."""
        return QueueLimits(
            running=self.queries,
            running_per_token=self.queries_per_token,
            waiting=WAITING,
            waiting_per_token=WAITING_PER_TOKEN,
            paused=PAUSED,
            paused_per_token=PAUSED_PER_TOKEN,
            wait_seconds=self.wait_seconds,
        )

    @property
    def for_watches(self) -> QueueLimits:
        """The limits of watches. No request waits for a watch to end, because it may last for days."""
        return QueueLimits(WATCHES_PER_QUERY * self.queries, WATCHES_PER_QUERY * self.queries_per_token)

    @property
    def threads(self) -> int:
        """Threads for all requests that may be running, waiting or paused, and some that no such request ever takes."""
        long_ones = self.for_watches.running + self.queries + WAITING + PAUSED + WAITING_FOR_JOBS
        return long_ones + SHORT_REQUEST_THREADS
