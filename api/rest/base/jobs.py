"""Query jobs: queries that run on their own and keep their rows until their owner has taken them.

Jobs, and the bytes of their rows, are bounded per token and in all. To make room, the oldest jobs of the same token
that have ended are removed. A job that nobody asks for is removed after some time, and at once when its token ends.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from watchfloor.api.results import StreamedResult
from watchfloor.query.batches.policy import BatchRun
from watchfloor.schema.times import format_micros
from watchfloor.store.bridge.threads import start_thread

from .problems import RETRY_SECONDS, Problem, to_problem
from .query_queue import QuerySlot

POLL_SECONDS = 0.25
ROOM_POLL_SECONDS = 0.1
"""The pause between two looks at whether there is room for another job."""
JOB_STATUSES = ("running", "complete", "limit", "deadline", "failed", "finalized", "full")


@dataclass(frozen=True)
class JobLimits:
    """The most jobs and bytes of their rows, in all and per token, and the most requests that wait for jobs at once.

    A job that nobody asks for is removed after ``keep_seconds``, if its owner has named no other time.
    """

    jobs: int
    jobs_per_token: int
    bytes: int
    bytes_per_token: int
    keep_seconds: float
    waiting: int


class JobResult(StreamedResult, Protocol):
    """A running query as a job needs it."""

    @property
    def batch_runs(self) -> tuple[BatchRun, ...]: ...


@dataclass(frozen=True)
class JobOwner:
    """The token of a job: its digest, which no other token ever has, and whether it is still in force.

    ``on_end`` is called with the summary when the job has ended.
    """

    digest: str
    is_in_force: Callable[[], bool]
    on_end: Callable[[Mapping[str, Any]], None] = lambda summary: None


class QueryJob:
    """A query that runs in a thread of its own, with its rows so far. Any thread may call any method.

    ``status`` is one of ``JOB_STATUSES``: that of the query, ``finalized`` if its owner has ended it, or ``full`` if no
    more of its rows could be kept.
    """

    def __init__(
        self, owner: JobOwner, asked: Mapping[str, Any], result: JobResult, slot: QuerySlot, keep_seconds: float
    ) -> None:
        """``asked`` is the request's body, which the owner is shown again.

        The job is kept for ``keep_seconds`` after its owner has asked for it.
        """
        self.id, self.owner = secrets.token_hex(16), owner
        self.rows = self.bytes = 0
        self.status = "running"
        self._keep_seconds, self._used_at = keep_seconds, time.monotonic()
        self._asked, self._result, self._slot = asked, result, slot
        self._created = time.time_ns() // 1000
        self._batches: list[pa.RecordBatch] = []
        self._problem: Problem | None = None
        self._changed = threading.Condition()

    def keep(self) -> None:
        """Keeps the job for its time from now on."""
        self._used_at = time.monotonic()

    @property
    def seconds_left(self) -> float:
        """The seconds after which the job is to be removed if nobody asks for it."""
        return self._used_at + self._keep_seconds - time.monotonic()

    def start(self, has_room: Callable[[QueryJob], bool]) -> None:
        """Starts the query. Rows are kept as long as ``has_room`` returns True."""
        start_thread(lambda: self._run(has_room), "job")

    def stop(self, status: str) -> None:
        """Ends the query, if it runs, with this status. The rows that it has found stay."""
        with self._changed:
            if self.status != "running":
                return
            self._end(status)
        self._result.close()

    def wait(self, rows: int, seconds: float) -> None:
        """Returns when there are more than so many rows, when the query has ended, or after ``seconds``."""
        with self._changed:
            self._changed.wait_for(lambda: self.rows > rows or self.status != "running", seconds)

    def read_rows(self, first: int, most: int) -> Iterator[pa.RecordBatch]:
        """Yields ``most`` rows, or those that there are, from the row ``first`` on."""
        with self._changed:
            batches = list(self._batches)
        for batch in batches:
            if most <= 0:
                return
            if first < len(batch):
                yield (part := batch.slice(first, most))
                most -= len(part)
            first = max(0, first - len(batch))

    def describe(self) -> dict[str, Any]:
        """Returns the job as its owner sees it; its summary when it has ended."""
        summary = self._result.summary
        seconds = summary["seconds"]
        runs = self._result.batch_runs
        with self._changed:
            status, rows, problem = self.status, self.rows, self._problem
        described = {
            "job": self.id,
            "status": status,
            "rows": rows,
            "rows_per_second": round(rows / seconds, 3) if seconds else 0.0,
            "seconds": seconds,
            "created": format_micros(self._created),
            "expires": format_micros(time.time_ns() // 1000 + int(self.seconds_left * 1e6)),
            "request": dict(self._asked),
        }
        if runs:
            described["covered_since"] = format_micros(runs[-1].batch.since)
        if problem is not None:
            described["problem"] = problem.to_json()
        return described if status == "running" else {**described, "summary": {**summary, "status": status}}

    def _run(self, has_room: Callable[[QueryJob], bool]) -> None:
        try:
            for batch in self._result:
                with self._changed:
                    if self.status != "running":
                        break
                    self._batches.append(batch)
                    self.rows += len(batch)
                    self.bytes += batch.nbytes
                    self._changed.notify_all()
                if not has_room(self):
                    self.stop("full")
                    break
        except Exception as error:
            self._problem = to_problem(error)
        finally:
            self._result.close()
            self._slot.release()
            with self._changed:
                self._end("failed" if self._problem is not None else self._result.summary["status"])
            problem = {} if self._problem is None else {"problem": self._problem.to_json()}
            self.owner.on_end({**self._result.summary, "status": self.status, **problem})

    def _end(self, status: str) -> None:
        if self.status == "running":
            self.status = status
        self._changed.notify_all()


class JobStore:
    """The jobs of all tokens. ``wait_seconds`` is how long a request waits for room for another job."""

    def __init__(self, limits: JobLimits, wait_seconds: float) -> None:
        self.limits, self._wait_seconds = limits, wait_seconds
        self._lock = threading.Lock()
        # By ID, the oldest first.
        self._jobs: dict[str, QueryJob] = {}
        self._is_watching = False
        self._waiting = threading.BoundedSemaphore(limits.waiting)

    def wait_for_room(self, owner: JobOwner, is_client_gone: Callable[[], bool]) -> None:
        """Returns when there is room for another job of an owner, or would be without those that have ended.

        Raises the problem ``too-many-requests`` or ``busy``, for a limit per token or of all, if there is none in time,
        if too many requests wait already, or if the client has gone.
        """
        deadline, may_wait = time.monotonic() + self._wait_seconds, self._waiting.acquire(blocking=False)
        try:
            while kind := self._foresee_fullness(owner):
                if not may_wait or time.monotonic() >= deadline or is_client_gone():
                    raise _refuse_job(kind)
                time.sleep(ROOM_POLL_SECONDS)
        finally:
            if may_wait:
                self._waiting.release()

    def add_job(self, job: QueryJob) -> None:
        """Starts a job. Raises ``Problem`` if there are too many that still run."""
        with self._lock:
            self._remove_ended(job.owner, lambda: self._find_fullness(job.owner, self._jobs.values()) is None)
            if kind := self._find_fullness(job.owner, self._jobs.values()):
                raise _refuse_job(kind)
            self._jobs[job.id] = job
            if not self._is_watching:
                self._is_watching = True
                start_thread(self._watch_jobs, "jobs")
        job.start(self._has_room)

    def list_jobs(self, digest: str) -> list[QueryJob]:
        """Returns the jobs of a token, the newest first."""
        with self._lock:
            return [job for job in reversed(self._jobs.values()) if job.owner.digest == digest]

    def find_job(self, digest: str, job_id: str) -> QueryJob:
        """Returns a job of a token, and keeps it longer. Raises the problem ``unknown-job`` for those of others too."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None or job.owner.digest != digest:
            raise Problem("unknown-job", "this token has no such job; jobs that nobody asks for are removed")
        job.keep()
        return job

    def wait_for_job(self, job: QueryJob, rows: int, seconds: float) -> None:
        """Waits as ``QueryJob.wait`` does; not at all if too many requests wait already."""
        if self._waiting.acquire(blocking=False):
            try:
                job.wait(rows, seconds)
            finally:
                self._waiting.release()

    def remove_job(self, job: QueryJob) -> None:
        """Ends a job and forgets its rows."""
        with self._lock:
            self._jobs.pop(job.id, None)
        job.stop("finalized")

    def _has_room(self, job: QueryJob) -> bool:
        """Returns whether a job may keep more rows. Removes ended jobs of its owner for them."""
        with self._lock:
            self._remove_ended(job.owner, lambda: self._has_bytes(job.owner), spared=job)
            return self._has_bytes(job.owner)

    def _has_bytes(self, owner: JobOwner) -> bool:
        own = sum(job.bytes for job in self._list_of(owner))
        whole = sum(job.bytes for job in self._jobs.values())
        return own < self.limits.bytes_per_token and whole < self.limits.bytes

    def _foresee_fullness(self, owner: JobOwner) -> str | None:
        """Returns what ``_find_fullness`` returns when the owner's ended jobs are removed."""
        with self._lock:
            kept = [job for job in self._jobs.values() if job.status == "running" or job.owner.digest != owner.digest]
            return self._find_fullness(owner, kept)

    def _find_fullness(self, owner: JobOwner, jobs: Collection[QueryJob]) -> str | None:
        """Returns the kind of the problem by which ``jobs`` keep an owner from another one; None if there is room."""
        own, limits = [job for job in jobs if job.owner.digest == owner.digest], self.limits
        if len(own) >= limits.jobs_per_token or sum(job.bytes for job in own) >= limits.bytes_per_token:
            return "too-many-requests"
        return "busy" if len(jobs) >= limits.jobs or sum(job.bytes for job in jobs) >= limits.bytes else None

    def _list_of(self, owner: JobOwner) -> list[QueryJob]:
        return [job for job in self._jobs.values() if job.owner.digest == owner.digest]

    def _remove_ended(self, owner: JobOwner, is_enough: Callable[[], bool], spared: QueryJob | None = None) -> None:
        """Removes the oldest jobs of an owner that have ended, until it is enough."""
        for job in self._list_of(owner):
            if is_enough():
                return
            if job is not spared and job.status != "running":
                del self._jobs[job.id]

    def _watch_jobs(self) -> None:
        """Removes jobs whose token has ended, or that nobody asks for, until there are none left."""
        while True:
            time.sleep(POLL_SECONDS)
            with self._lock:
                if not self._jobs:
                    self._is_watching = False
                    return
                jobs = list(self._jobs.values())
            for job in jobs:
                if job.seconds_left < 0 or not job.owner.is_in_force():
                    self.remove_job(job)


def _refuse_job(kind: str) -> Problem:
    detail = "too many jobs run, or their rows take too much memory; cancel one, or wait"
    return Problem(kind, detail, headers={"Retry-After": str(RETRY_SECONDS)})
