"""A claimed job: heartbeats in the background, progress, and its end.

`complete` and `fail` end the job. An exception that leaves the block fails it with its text; a block that does neither leaves
the job to another worker. A worker that lost its lease gets `LeaseLost` from whatever it does next, and none of it counts.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, TypeVar

from .core import Program, path, present
from .drivers import AsyncDriver, Driver
from .errors import LeaseLost, WeirError
from .retry import NO_RETRY, RetryPolicy
from .session import Session, post
from .types import Job, JobLease, ProgressStep
from .types.practice import ClaimedJob

log = logging.getLogger("weir")

T = TypeVar("T")

JobType = Literal["script-generation", "problem-extraction"]
StepStatus = Literal["started", "in_progress", "completed", "failed"]

BEATS_PER_LEASE = 3
BEAT_AGAIN_SECS = 1.0
"""Longest pause after a heartbeat that failed."""
ERROR_MAX = 8_000
"""Characters of an exception that are stored with a failed job."""


class WorkerCalls:
    """Requests of the worker of a job, as programs; every write carries the fence."""

    def __init__(self, session: Session, kind: JobType, claimed: ClaimedJob) -> None:
        self.session, self.job, self.fence = session, claimed.job, claimed.fence
        self._at = path("/v1/practice/jobs/{}/{}/", kind, claimed.job.id)
        self.is_lost = self.is_ended = False
        lease = claimed.job.lease
        self.beat_secs = (lease.lease_ms if lease else 60_000) / 1000 / BEATS_PER_LEASE

    def heartbeat(self) -> Program[JobLease]:
        """Extend the lease. The next heartbeat is its retry, so that the end of the block waits for one attempt at most."""
        return (yield from self._write(JobLease, "heartbeat", {}, idempotent=True, retry=NO_RETRY))

    def progress(self, step: str, status: StepStatus, message: str) -> Program[ProgressStep]:
        """Report a step."""
        body = {"step": step, "status": status, "message": message}
        return (yield from self._write(ProgressStep, "progress", body, idempotent=False))

    def complete(self, generator_code: str | None, problem: Mapping[str, str] | None) -> Program[Job]:
        """End the job with its result."""
        body = present({"generator_code": generator_code, "problem": problem})
        return (yield from self._end("complete", body))

    def fail(self, reason: str) -> Program[Job]:
        """End the job without a result."""
        return (yield from self._end("fail", {"error_message": reason[:ERROR_MAX] or "no reason given"}))

    def leave(self, error: BaseException | None) -> Program[None]:
        """Fail the job after an exception of the worker's own."""
        if error is None or self.is_ended or self.is_lost or not isinstance(error, Exception):
            return
        try:
            yield from self.fail(f"{type(error).__name__}: {error}")
        except WeirError as failure:
            log.warning("job %s was not failed: %s", self.job.id, failure)

    def _end(self, verb: str, body: dict[str, Any]) -> Program[Job]:
        job = yield from self._write(Job, verb, body, idempotent=True)
        self.is_ended = True
        return job

    def _write(
        self, kind: type[T], verb: str, body: dict[str, Any], *, idempotent: bool, retry: RetryPolicy | None = None
    ) -> Program[T]:
        request = post(self._at + verb, {"fence": self.fence, **body}, idempotent=idempotent)
        try:
            return (yield from self.session.fetch(kind, request, retry=retry))
        except LeaseLost:
            self.is_lost = True
            raise


class ClaimBase:
    """The part of both kinds of claims that needs no server."""

    def __init__(self, calls: WorkerCalls) -> None:
        self._calls = calls

    @property
    def job(self) -> Job:
        """The job as it was claimed."""
        return self._calls.job

    @property
    def fence(self) -> int:
        """Number of the claim."""
        return self._calls.fence

    @property
    def is_lost(self) -> bool:
        """Whether another worker has the job by now, or it was cancelled; a long work looks here between its steps."""
        return self._calls.is_lost


class Claim(ClaimBase):
    """A claimed job of `weir.Client`; a context manager that sends heartbeats on a thread."""

    def __init__(self, calls: WorkerCalls, driver: Driver) -> None:
        super().__init__(calls)
        self._driver = driver
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="weir-heartbeat", daemon=True)

    def __enter__(self) -> Claim:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._driver.run(self._calls.leave(error))

    def progress(self, step: str, status: StepStatus = "in_progress", message: str = "") -> ProgressStep:
        """Report a step; it extends the lease too."""
        return self._driver.run(self._calls.progress(step, status, message))

    def complete(self, *, generator_code: str | None = None, problem: Mapping[str, str] | None = None) -> Job:
        """End the job: script generation with its code, problem extraction with its problem."""
        return self._driver.run(self._calls.complete(generator_code, problem))

    def fail(self, reason: str) -> Job:
        """End the job with the reason of its failure."""
        return self._driver.run(self._calls.fail(reason))

    def _beat(self) -> None:
        pause = self._calls.beat_secs
        while not self._stop.wait(pause) and not self._calls.is_ended:
            pause = self._calls.beat_secs
            try:
                self._driver.run(self._calls.heartbeat())
            except LeaseLost:
                return
            except Exception as error:  # the next one may get through
                log.warning("no heartbeat for job %s: %s", self.job.id, error)
                pause = min(pause, BEAT_AGAIN_SECS)


class AsyncClaim(ClaimBase):
    """A claimed job of `weir.AsyncClient`; an asynchronous context manager that sends heartbeats in a task."""

    def __init__(self, calls: WorkerCalls, driver: AsyncDriver) -> None:
        super().__init__(calls)
        self._driver = driver
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> AsyncClaim:
        self._task = asyncio.get_running_loop().create_task(self._beat())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])  # which a cancellation of this task ends
        await self._driver.run(self._calls.leave(error))

    async def progress(self, step: str, status: StepStatus = "in_progress", message: str = "") -> ProgressStep:
        """Report a step; it extends the lease too."""
        return await self._driver.run(self._calls.progress(step, status, message))

    async def complete(self, *, generator_code: str | None = None, problem: Mapping[str, str] | None = None) -> Job:
        """End the job: script generation with its code, problem extraction with its problem."""
        return await self._driver.run(self._calls.complete(generator_code, problem))

    async def fail(self, reason: str) -> Job:
        """End the job with the reason of its failure."""
        return await self._driver.run(self._calls.fail(reason))

    async def _beat(self) -> None:
        pause = self._calls.beat_secs
        while not self._calls.is_ended:
            await asyncio.sleep(pause)
            pause = self._calls.beat_secs
            try:
                await self._driver.run(self._calls.heartbeat())
            except LeaseLost:
                return
            except Exception as error:  # the next one may get through
                log.warning("no heartbeat for job %s: %s", self.job.id, error)
                pause = min(pause, BEAT_AGAIN_SECS)
