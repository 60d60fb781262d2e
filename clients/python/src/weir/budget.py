"""The budget of an app: selects the model to use, and reports the usage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import date
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from .clock import rfc3339
from .core import Program, Request, Response, path
from .decode import decode
from .drivers import Awaiting, Blocking, aeach, awaiting, blocking, each, with_signature
from .queue import DeadLetter, Queue
from .report import report_body
from .reporter import ReporterHandle
from .selection import SelectionCache
from .session import Pager, Session, get, post
from .types import DayTotals, ModelSelection
from .types.keeper import Submitted

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])


class BudgetCalls:
    """The budget of one app, as programs."""

    def __init__(self, session: Session, org: str, app: str, handle: ReporterHandle) -> None:
        self.session, self.org, self.app, self.handle = session, org, app, handle
        self._at = path("/api/v1/orgs/{}/apps/{}/", org, app)
        self._cache = SelectionCache(session.clock)

    @property
    def queue(self) -> Queue:
        """The queue of reports."""
        return self.handle.reporter.queue

    def select(self, *, force_check: bool = False) -> Program[ModelSelection]:
        """Return the model to use for the next call.

        A selection is kept as long as the server allows, and then checked by its tag. `force_check` always asks, and has the
        server sum all submissions received so far. Raises `QuotaExceeded` when all quotas of the day are spent.
        """
        kept = None if force_check else self._cache.fresh()
        if kept is not None:
            return kept
        check = self._cache.check(anew=force_check)
        where = get(self._at + "model-selection", {"force_check": "true" if force_check else None})
        request: Request = where.with_headers({"if-none-match": check.tag}) if check.tag else where
        return (yield from self.session.exchange(request, check.read))

    def submit(self, report: dict[str, Any]) -> Program[Submitted]:
        """Submit a report now."""
        body = {"timestamp": rfc3339(self.session.clock.server_ms()), **report}
        return (yield from self.session.exchange(post(self._at + "costs", body, idempotent=True), submitted))

    def enqueue(self, report: dict[str, Any]) -> str:
        """Store a report on disk, and return its `request_id`."""
        clock = self.session.clock
        self.handle.report(report, clock.wall_ms(), clock.skew_ms)
        return str(report["request_id"])

    def totals(self, day: date | None = None, *, whole_org: bool = False) -> Program[DayTotals]:
        """Return usage and spend of a day, today by default, of the app or of its whole org."""
        return (yield from self.session.fetch(DayTotals, get(self._aggregates(whole_org) + "/" + day_of(day))))

    def days(self, since: date, until: date, *, whole_org: bool = False) -> Pager[DayTotals]:
        """List usage and spend by day, both days included."""
        params = {"from": since.isoformat(), "to": until.isoformat()}
        return self.session.pager(DayTotals, self._aggregates(whole_org), params)

    def _aggregates(self, whole_org: bool) -> str:
        return path("/api/v1/orgs/{}/aggregates", self.org) if whole_org else self._at + "aggregates"


def submitted(response: Response) -> Submitted:
    """Read the response to a submission."""
    answer = decode(dict[str, Any], response.json())
    return decode(Submitted, {**(answer.get("processing") or {}), **answer})


def day_of(day: date | None) -> str:
    """Return a day as the path has it."""
    return "today" if day is None else day.isoformat()


DEAD_LETTERS = 1_000

REPORT = """Report the usage of a call, in the background.

Returns the `request_id` when the report is on disk. From then on it is counted exactly once, whatever happens to this process
or to the server. Raises `QueueFull` when the queue has no room. `model` is the selection or a label.
"""
SUBMIT = """Submit the usage of a call now, and return its cost. Takes the arguments of `report`."""


def reporting(build: Callable[P, dict[str, Any]]) -> Callable[Concatenate[Blocking[BudgetCalls], P], str]:
    """Make `report` of the function that builds a report."""

    def report(budget: Blocking[BudgetCalls], /, *args: P.args, **kwargs: P.kwargs) -> str:
        return budget._calls.enqueue(build(*args, **kwargs))

    return documented(report, build, REPORT, "str")


def areporting(
    build: Callable[P, dict[str, Any]],
) -> Callable[Concatenate[Awaiting[BudgetCalls], P], Coroutine[Any, Any, str]]:
    """Make the asynchronous `report`: the disk is written on a thread."""

    async def report(budget: Awaiting[BudgetCalls], /, *args: P.args, **kwargs: P.kwargs) -> str:
        return await asyncio.to_thread(budget._calls.enqueue, build(*args, **kwargs))

    return documented(report, build, REPORT, "str")


def submitting(
    build: Callable[P, dict[str, Any]],
) -> Callable[Concatenate[Blocking[BudgetCalls], P], Submitted]:
    """Make `submit` of the function that builds a report."""

    def submit(budget: Blocking[BudgetCalls], /, *args: P.args, **kwargs: P.kwargs) -> Submitted:
        return budget._driver.run(budget._calls.submit(build(*args, **kwargs)))

    return documented(submit, build, SUBMIT, "Submitted")


def asubmitting(
    build: Callable[P, dict[str, Any]],
) -> Callable[Concatenate[Awaiting[BudgetCalls], P], Coroutine[Any, Any, Submitted]]:
    """Make the asynchronous `submit`."""

    async def submit(budget: Awaiting[BudgetCalls], /, *args: P.args, **kwargs: P.kwargs) -> Submitted:
        return await budget._driver.run(budget._calls.submit(build(*args, **kwargs)))

    return documented(submit, build, SUBMIT, "Submitted")


def documented(method: F, build: Callable[..., Any], text: str, returned: str) -> F:
    """Give a method its text, and the signature of the function that gets its arguments."""
    method.__doc__ = text
    with_signature(method, build, returned, adds_self=True)
    return method


class Budget(Blocking[BudgetCalls]):
    """The budget of an app. As a context manager it closes at the end of the block, after sending the queued reports."""

    select = blocking(BudgetCalls.select)
    totals = blocking(BudgetCalls.totals)
    days = each(BudgetCalls.days)

    report = reporting(report_body)
    submit = submitting(report_body)

    @property
    def queue(self) -> Queue:
        """The queue of reports: `len(budget.queue)` wait, `budget.queue.dead_letter_count` were refused for good."""
        return self._calls.queue

    @property
    def last_error(self) -> Exception | None:
        """Why reports wait; `None` when the last batch was taken."""
        return self._calls.handle.reporter.last_error

    def dead_letters(self, limit: int = DEAD_LETTERS) -> list[DeadLetter]:
        """Return the oldest reports that the server refused for good, with the reasons."""
        return self._calls.queue.dead_letters(limit)

    def requeue_dead_letters(self) -> int:
        """Queue dead letters again, as many as find room, and return how many: for when their reason was mended."""
        return self._calls.handle.requeue()

    def delete_dead_letters(self) -> int:
        """Delete all dead letters, whose usage is counted nowhere then; return how many there were."""
        return self._calls.queue.delete_dead_letters()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every report stored before this call has left the queue; whether it has in time (seconds)."""
        return self._calls.handle.flush(timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Flush, and end the background thread; whether all is sent. The rest stays in the queue for the next process."""
        return self._calls.handle.close(timeout)

    def __enter__(self) -> Budget:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncBudget(Awaiting[BudgetCalls]):
    """The budget of an app, for asyncio. The disk is written, and reports are sent, on threads."""

    select = awaiting(BudgetCalls.select)
    totals = awaiting(BudgetCalls.totals)
    days = aeach(BudgetCalls.days)

    report = areporting(report_body)
    submit = asubmitting(report_body)

    @property
    def queue(self) -> Queue:
        """The queue of reports."""
        return self._calls.queue

    @property
    def last_error(self) -> Exception | None:
        """Why reports wait; `None` when the last batch was taken."""
        return self._calls.handle.reporter.last_error

    async def dead_letters(self, limit: int = DEAD_LETTERS) -> list[DeadLetter]:
        """Return the oldest reports that the server refused for good, with the reasons."""
        return await asyncio.to_thread(self._calls.queue.dead_letters, limit)

    async def requeue_dead_letters(self) -> int:
        """Queue dead letters again, as many as find room, and return how many: for when their reason was mended."""
        return await asyncio.to_thread(self._calls.handle.requeue)

    async def delete_dead_letters(self) -> int:
        """Delete all dead letters, whose usage is counted nowhere then; return how many there were."""
        return await asyncio.to_thread(self._calls.queue.delete_dead_letters)

    async def flush(self, timeout: float | None = None) -> bool:
        """Wait until every report stored before this call has left the queue; whether it has in time (seconds)."""
        return await asyncio.to_thread(self._calls.handle.flush, timeout)

    async def close(self, timeout: float = 5.0) -> bool:
        """Flush, and end the background thread; whether all is sent. The rest stays in the queue for the next process."""
        return await asyncio.to_thread(self._calls.handle.close, timeout)

    async def __aenter__(self) -> AsyncBudget:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
