"""Practice: users and their daily limits, runs, and jobs with their workers."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import date
from typing import Any, Literal

from .core import Program, Response, path, present
from .decode import decode
from .drivers import Awaiting, Blocking, aeach, awaiting, blocking, each
from .progress import AsyncFollower, Follower
from .session import Pager, Session, get, post, put
from .types import Job, Plan, ProgressStep, Run, TakenUsage, UsageLogEntry, User, UserUsage
from .types.practice import ClaimedJob
from .worker import AsyncClaim, Claim, JobType, WorkerCalls

ROOT = "/v1/practice"
Action = Literal["hint", "execution"]


class PracticeCalls:
    """Practice, as programs."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def create_user(
        self,
        email: str,
        name: str,
        *,
        plan_id: int | None = None,
        google_id: str | None = None,
        picture_url: str | None = None,
        is_staff: bool | None = None,
    ) -> Program[User]:
        """Create a user, on the plan Free by default."""
        fields = {
            "plan_id": plan_id,
            "google_id": google_id,
            "picture_url": picture_url,
            "is_staff": is_staff,
        }
        body = present({"email": email, "name": name, **fields})
        return (yield from self.session.fetch(User, post(ROOT + "/users", body)))

    def get_user(self, user: str) -> Program[User]:
        """Return a user."""
        return (yield from self.session.fetch(User, get(path(ROOT + "/users/{}", user))))

    def users(self, *, email: str | None = None, google_id: str | None = None, plan: int | None = None) -> Pager[User]:
        """List users: all of them, those of a plan, or the one with an email address or Google id."""
        plan_id = None if plan is None else str(plan)
        params = {"email": email, "google_id": google_id, "plan": plan_id}
        return self.session.pager(User, ROOT + "/users", params)

    def move_user(self, user: str, plan_id: int) -> Program[User]:
        """Put a user on another plan."""
        where = path(ROOT + "/users/{}/plan", user)
        return (yield from self.session.fetch(User, put(where, {"plan_id": plan_id})))

    def plans(self) -> Pager[Plan]:
        """List all plans."""
        return self.session.pager(Plan, ROOT + "/plans")

    def take_usage(
        self,
        user: str,
        action: Action,
        *,
        problem_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Program[TakenUsage]:
        """Count an action of a user, once however often the request is sent.

        Raises `DailyLimitExceeded` when the plan allows no more today.
        """
        key = idempotency_key or str(uuid.uuid4())
        fields = {"problem_id": problem_id, "metadata": metadata, "idempotency_key": key}
        body = present({"action": action, **fields})
        request = post(path(ROOT + "/users/{}/usage", user), body, idempotent=True)
        return (yield from self.session.fetch(TakenUsage, request))

    def usage(self, user: str, day: date | None = None) -> Program[UserUsage]:
        """Return the usage of a user on a day, today by default."""
        where = path(ROOT + "/users/{}/usage", user)
        return (yield from self.session.fetch(UserUsage, get(where, {"date": day})))

    def usage_log(self, user: str, day: date | None = None) -> Pager[UsageLogEntry]:
        """List the counted actions of a user on a day, today by default."""
        params = {"date": None if day is None else day.isoformat()}
        return self.session.pager(UsageLogEntry, path(ROOT + "/users/{}/usage/log", user), params)

    def record_run(
        self,
        platform: str,
        problem_number: str,
        code: str,
        *,
        user_id: str | None = None,
        language: str | None = None,
        passed: int = 0,
        failed: int = 0,
        hints: list[str] | None = None,
        public: bool = False,
        fields: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Program[Run]:
        """Record a run, once however often the request is sent; `fields` has further ones of the API."""
        body = present(
            {
                "platform": platform,
                "problem_number": problem_number,
                "code": code,
                "user_id": user_id,
                "language": language,
                "passed_count": passed,
                "failed_count": failed,
                "total_count": passed + failed,
                "hints": hints,
                "is_code_public": public,
                "idempotency_key": idempotency_key or str(uuid.uuid4()),
                **(fields or {}),
            }
        )
        return (yield from self.session.fetch(Run, post(ROOT + "/history", body, idempotent=True)))

    def get_run(self, run: str) -> Program[Run]:
        """Return a run with its code."""
        return (yield from self.session.fetch(Run, get(path(ROOT + "/history/{}", run))))

    def runs(self, user: str) -> Pager[Run]:
        """List the runs of a user, newest first."""
        return self.session.pager(Run, path(ROOT + "/users/{}/history", user))

    def feed(self) -> Pager[Run]:
        """List public runs, newest first."""
        return self.session.pager(Run, ROOT + "/feed")

    def submit_job(
        self, kind: JobType, fields: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> Program[Job]:
        """Submit a job with the fields of the API, once however often the request is sent."""
        body = {**fields}
        if "job_id" not in body:
            body.setdefault("idempotency_key", idempotency_key or str(uuid.uuid4()))
        where = path(ROOT + "/jobs/{}", kind)
        return (yield from self.session.fetch(Job, post(where, body, idempotent=True)))

    def get_job(self, kind: JobType, job: str) -> Program[Job]:
        """Return a job."""
        return (yield from self.session.fetch(Job, get(path(ROOT + "/jobs/{}/{}", kind, job))))

    def jobs(self, kind: JobType, *, status: str | None = None) -> Pager[Job]:
        """List the jobs of a type, or those of one status."""
        return self.session.pager(Job, path(ROOT + "/jobs/{}", kind), {"status": status})

    def retry_job(self, kind: JobType, job: str) -> Program[Job]:
        """Put a failed job back."""
        return (yield from self.session.fetch(Job, post(path(ROOT + "/jobs/{}/{}/retry", kind, job), {})))

    def cancel_job(self, kind: JobType, job: str) -> Program[Job]:
        """Cancel a job that has not ended."""
        return (yield from self.session.fetch(Job, post(path(ROOT + "/jobs/{}/{}/cancel", kind, job), {})))

    def progress(self, kind: JobType, job: str) -> Pager[ProgressStep]:
        """List the progress steps of a job so far; `follow` waits for more."""
        return self.session.pager(ProgressStep, path(ROOT + "/jobs/{}/{}/progress", kind, job))

    def claim_next(self, kind: JobType, worker: str, lease_ms: int | None) -> Program[ClaimedJob | None]:
        """Claim the next job, if there is one."""
        body = present({"worker_id": worker, "lease_ms": lease_ms})
        return (yield from self.session.exchange(post(path(ROOT + "/jobs/{}/claim-next", kind), body), read_claimed))

    def worker_calls(self, kind: JobType, claimed: ClaimedJob) -> WorkerCalls:
        """Return the requests of the worker of a claimed job."""
        return WorkerCalls(self.session, kind, claimed)


def read_claimed(response: Response) -> ClaimedJob | None:
    """Read the response to a claim: a job, or nothing when none waits."""
    return None if response.status == 204 else decode(ClaimedJob, response.json())


class Practice(Blocking[PracticeCalls]):
    """Practice: users, daily limits, runs, jobs."""

    create_user = blocking(PracticeCalls.create_user)
    get_user = blocking(PracticeCalls.get_user)
    users = each(PracticeCalls.users)
    move_user = blocking(PracticeCalls.move_user)
    plans = each(PracticeCalls.plans)
    take_usage = blocking(PracticeCalls.take_usage)
    usage = blocking(PracticeCalls.usage)
    usage_log = each(PracticeCalls.usage_log)
    record_run = blocking(PracticeCalls.record_run)
    get_run = blocking(PracticeCalls.get_run)
    runs = each(PracticeCalls.runs)
    feed = each(PracticeCalls.feed)
    submit_job = blocking(PracticeCalls.submit_job)
    get_job = blocking(PracticeCalls.get_job)
    jobs = each(PracticeCalls.jobs)
    retry_job = blocking(PracticeCalls.retry_job)
    cancel_job = blocking(PracticeCalls.cancel_job)
    progress = each(PracticeCalls.progress)

    def claim(self, kind: JobType, worker: str, *, lease_ms: int | None = None) -> Claim | None:
        """Claim the next job for a worker, or return `None`; use it in a `with` block, which sends heartbeats."""
        claimed = self._driver.run(self._calls.claim_next(kind, worker, lease_ms))
        return None if claimed is None else Claim(self._calls.worker_calls(kind, claimed), self._driver)

    def follow(self, kind: JobType, job: str, *, after: str | None = None) -> Iterator[ProgressStep]:
        """Yield the steps of a job as they come, and end with the job; a lost connection is resumed after the last one.

        `after` is the id of the last step that is known already.
        """
        return Follower(self._calls.session, self._driver, kind, job, after).steps()


class AsyncPractice(Awaiting[PracticeCalls]):
    """Practice: users, daily limits, runs, jobs, for asyncio."""

    create_user = awaiting(PracticeCalls.create_user)
    get_user = awaiting(PracticeCalls.get_user)
    users = aeach(PracticeCalls.users)
    move_user = awaiting(PracticeCalls.move_user)
    plans = aeach(PracticeCalls.plans)
    take_usage = awaiting(PracticeCalls.take_usage)
    usage = awaiting(PracticeCalls.usage)
    usage_log = aeach(PracticeCalls.usage_log)
    record_run = awaiting(PracticeCalls.record_run)
    get_run = awaiting(PracticeCalls.get_run)
    runs = aeach(PracticeCalls.runs)
    feed = aeach(PracticeCalls.feed)
    submit_job = awaiting(PracticeCalls.submit_job)
    get_job = awaiting(PracticeCalls.get_job)
    jobs = aeach(PracticeCalls.jobs)
    retry_job = awaiting(PracticeCalls.retry_job)
    cancel_job = awaiting(PracticeCalls.cancel_job)
    progress = aeach(PracticeCalls.progress)

    async def claim(self, kind: JobType, worker: str, *, lease_ms: int | None = None) -> AsyncClaim | None:
        """Claim the next job for a worker, or return `None`; use it in an `async with` block, which sends heartbeats."""
        claimed = await self._driver.run(self._calls.claim_next(kind, worker, lease_ms))
        return None if claimed is None else AsyncClaim(self._calls.worker_calls(kind, claimed), self._driver)

    def follow(self, kind: JobType, job: str, *, after: str | None = None) -> AsyncIterator[ProgressStep]:
        """Yield the steps of a job as they come, and end with the job; a lost connection is resumed after the last one."""
        return AsyncFollower(self._calls.session, self._driver, kind, job, after).steps()
