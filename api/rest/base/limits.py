"""All limits of the REST service: what of it one request, one token, and all tokens together may take."""

from __future__ import annotations

from dataclasses import dataclass

from watchfloor.api.tokens.sessions import SessionLimits
from watchfloor.schema.settings.settings import Settings

from .jobs import JobLimits
from .query_queue import QueueLimits
from .stream import AnswerLimits

WAITING, WAITING_PER_TOKEN = 128, 64
PAUSED, PAUSED_PER_TOKEN = 48, 24
WATCHES_PER_QUERY = 2
WATCHES_WAITING, WATCHES_WAITING_PER_TOKEN = 16, 8
SHORT_REQUEST_THREADS = 8

BODY_BYTES = 1 << 20
"""The largest body; a filter with some thousands of values fits."""
CONNECTIONS = 8192
"""The most connections, if the process may open as many files."""
REQUEST_SECONDS = 10.0
"""Seconds in which a request, with its body, must arrive."""
IDLE_SECONDS = 60
"""Seconds that a connection stays open without a request."""

ANSWER = AnswerLimits(rows=100_000_000, bytes=64 << 30)
JOBS = JobLimits(jobs=64, jobs_per_token=16, bytes=256 << 20, bytes_per_token=64 << 20, keep_seconds=600.0, waiting=32)
SESSIONS = SessionLimits(sessions=1024, sessions_per_token=16, lifetime_seconds=12 * 3600)


@dataclass(frozen=True)
class RestLimits:
    """The limits that the settings choose.

    At most ``queries`` requests read from the store at once, ``queries_per_token`` of them of one token, and twice as
    many watches run beside them. A request waits ``wait_seconds`` for its turn. A client that does not read its answer
    for ``stalled_seconds`` is cut off. ``deadline`` and ``watch_deadline`` (seconds) bound the deadlines of queries and
    of watches; None sets no bound.
    """

    queries: int = 8
    queries_per_token: int = 4
    wait_seconds: float = 10.0
    stalled_seconds: float = 20.0
    deadline: float | None = 3600.0
    watch_deadline: float | None = 86_400.0
    answer: AnswerLimits = ANSWER
    jobs: JobLimits = JOBS
    sessions: SessionLimits = SESSIONS

    @classmethod
    def from_settings(cls, settings: Settings) -> RestLimits:
        """Returns the limits that the settings name."""
        return cls(
            queries=settings.max_queries,
            queries_per_token=min(settings.max_queries_per_token, settings.max_queries),
            wait_seconds=settings.query_wait_seconds,
            stalled_seconds=settings.stalled_reader_seconds,
            deadline=settings.deadline_seconds or None,
            watch_deadline=settings.watch_seconds or None,
            answer=AnswerLimits(settings.max_answer_rows, settings.max_answer_mb << 20),
            jobs=JobLimits(
                jobs=settings.max_jobs,
                jobs_per_token=min(settings.max_jobs_per_token, settings.max_jobs),
                bytes=settings.job_memory_mb << 20,
                bytes_per_token=settings.job_memory_mb << 18,
                keep_seconds=settings.job_keep_seconds,
                waiting=JOBS.waiting,
            ),
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
        """The limits of watches. Few requests wait for a watch to end, because it may last for long."""
        return QueueLimits(
            running=WATCHES_PER_QUERY * self.queries,
            running_per_token=WATCHES_PER_QUERY * self.queries_per_token,
            waiting=WATCHES_WAITING,
            waiting_per_token=WATCHES_WAITING_PER_TOKEN,
            wait_seconds=self.wait_seconds,
        )

    @property
    def threads(self) -> int:
        """Threads for all requests that may be running, waiting or paused, and some that no such request ever takes."""
        watches = self.for_watches.running + WATCHES_WAITING
        return watches + self.queries + WAITING + PAUSED + self.jobs.waiting + SHORT_REQUEST_THREADS
