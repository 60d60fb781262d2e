"""The budget of an app: selects the model to use, and reports the usage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from .clock import rfc3339
from .core import Blocks, Program, Request, Response, path
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
T = TypeVar("T")

DEAD_LETTERS = 1_000
CLOSE_SECS = 5.0


def with_report(
    send: Callable[[BudgetCalls, dict[str, Any]], Program[T]], build: Callable[P, dict[str, Any]], returned: str
) -> Callable[Concatenate[BudgetCalls, P], Program[T]]:
    """Make a program that takes the fields of a report of one that takes the report."""

    def program(calls: BudgetCalls, /, *args: P.args, **kwargs: P.kwargs) -> Program[T]:
        return send(calls, build(*args, **kwargs))

    program.__doc__, program.__name__ = send.__doc__, send.__name__.lstrip("_")
    with_signature(program, build, f"Program[{returned}]", adds_self=True)
    return program


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

    def _submit(self, report: dict[str, Any]) -> Program[Submitted]:
        """Submit the usage of a call now, and return its cost. Takes the arguments of `report`."""
        body = {"timestamp": rfc3339(self.session.clock.server_ms()), **report}
        return (yield from self.session.exchange(post(self._at + "costs", body, idempotent=True), submitted))

    def _enqueue(self, report: dict[str, Any]) -> Program[str]:
        """Report the usage of a call, in the background.

        Returns the `request_id` when the report is on disk. From then on it is counted exactly once, whatever happens to this
        process or to the server. Raises `QueueFull` when the queue has no room. `model` is the selection or a label.
        """
        clock = self.session.clock
        yield from self.handle.report(report, clock.wall_ms(), clock.skew_ms)
        return str(report["request_id"])

    report, submit = with_report(_enqueue, report_body, "str"), with_report(_submit, report_body, "Submitted")

    def dead_letters(self, limit: int = DEAD_LETTERS) -> Program[list[DeadLetter]]:
        """Return the oldest reports that the server refused for good, with the reasons."""
        letters: list[DeadLetter] = yield Blocks(partial(self.queue.dead_letters, limit))
        return letters

    def requeue_dead_letters(self) -> Program[int]:
        """Queue dead letters again, as many as find room, and return how many: for when their reason was mended."""
        return (yield from self.handle.requeue())

    def delete_dead_letters(self) -> Program[int]:
        """Delete all dead letters, whose usage is counted nowhere then; return how many there were."""
        count: int = yield Blocks(self.queue.delete_dead_letters)
        return count

    def flush(self, timeout: float | None = None) -> Program[bool]:
        """Wait until every report stored before this call has left the queue; whether it has in time (seconds)."""
        return (yield from self.handle.flush(timeout))

    def close(self, timeout: float = CLOSE_SECS) -> Program[bool]:
        """Flush, and end the background thread; whether all is sent. The rest stays in the queue for the next process."""
        return (yield from self.handle.close(timeout))

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


class Budget(Blocking[BudgetCalls]):
    """The budget of an app. As a context manager it closes at the end of the block, after sending the queued reports."""

    select = blocking(BudgetCalls.select)
    totals = blocking(BudgetCalls.totals)
    days = each(BudgetCalls.days)

    report = blocking(BudgetCalls.report)
    submit = blocking(BudgetCalls.submit)
    flush = blocking(BudgetCalls.flush)
    close = blocking(BudgetCalls.close)
    dead_letters = blocking(BudgetCalls.dead_letters)
    requeue_dead_letters = blocking(BudgetCalls.requeue_dead_letters)
    delete_dead_letters = blocking(BudgetCalls.delete_dead_letters)

    @property
    def queue(self) -> Queue:
        """The queue of reports: `len(budget.queue)` wait, `budget.queue.dead_letter_count` were refused for good."""
        return self._calls.queue

    @property
    def last_error(self) -> Exception | None:
        """Why reports wait; `None` when the last batch was taken."""
        return self._calls.handle.reporter.last_error

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

    report = awaiting(BudgetCalls.report)
    submit = awaiting(BudgetCalls.submit)
    flush = awaiting(BudgetCalls.flush)
    close = awaiting(BudgetCalls.close)
    dead_letters = awaiting(BudgetCalls.dead_letters)
    requeue_dead_letters = awaiting(BudgetCalls.requeue_dead_letters)
    delete_dead_letters = awaiting(BudgetCalls.delete_dead_letters)

    @property
    def queue(self) -> Queue:
        """The queue of reports."""
        return self._calls.queue

    @property
    def last_error(self) -> Exception | None:
        """Why reports wait; `None` when the last batch was taken."""
        return self._calls.handle.reporter.last_error

    async def __aenter__(self) -> AsyncBudget:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
