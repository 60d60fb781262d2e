"""Sends the head of a queue in batches, as a program.

The server counts a `request_id` once, so a batch whose response got lost is sent again as it is. A report that the server refuses
for good goes to the dead letters; one that it cannot take now waits, and those behind it pass.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .clock import rfc3339
from .core import Program, Request, Response, path
from .decode import decode
from .errors import ApiError, WeirError
from .queue import Queue, Report
from .retry import NO_RETRY, TRANSIENT_CODES, RetryPolicy, is_transient
from .session import Session, done, post

log = logging.getLogger("weir")

BATCH_MAX = 100
"""Reports of one request; the server takes no more."""
WAITING_MAX = 1_000
"""Reports that are set aside at once, because the server could not take them; then the queue waits as a whole."""
BACKOFF = RetryPolicy(first_pause_secs=0.1, longest_pause_secs=5.0)
REFUSED = frozenset({400, 413, 415, 422})
"""Statuses that refuse a batch for its content."""
TOO_LARGE = 413


class Sender:
    """Sends the head of a queue. It belongs to one thread."""

    def __init__(
        self, queue: Queue, session: Session, org: str, app: str, answered: Callable[[], None] = lambda: None
    ) -> None:
        """Prepare a sender, which calls `answered` for each answer of the server, before any report leaves the queue."""
        self._queue, self._session, self._answered = queue, session, answered
        self._path = path("/api/v1/orgs/{}/apps/{}/costs/batch", org, app)
        self._waiting: dict[int, tuple[float, int]] = {}
        """Reports set aside: until when, and after how many refusals."""
        self.trouble: WeirError | None = None
        """Why a report was set aside, while one is."""

    def step(self) -> Program[bool]:
        """Send one batch; whether there was one to send."""
        batch = self._next_batch()
        if not batch:
            return False
        if self._session.clock.skew_ms is None:
            # Otherwise a clock that is ahead would date the first reports into the future, for which they are refused.
            with contextlib.suppress(ApiError):
                yield from self._session.exchange(
                    Request("GET", "/healthz", idempotent=True, anonymous=True), done, retry=NO_RETRY
                )
        yield from self._send(batch)
        return True

    def _next_batch(self) -> list[Report]:
        wanted = BATCH_MAX + len(self._waiting)
        reports = self._queue.head(wanted)
        self._forget_sent_by_others(reports, is_all=len(reports) < wanted)
        now = self._session.clock.monotonic()
        aside = {number for number, (until, _) in self._waiting.items() if until > now}
        if len(aside) >= WAITING_MAX:
            return []
        return [report for report in reports if report.id not in aside][:BATCH_MAX]

    def _forget_sent_by_others(self, oldest: Sequence[Report], *, is_all: bool) -> None:
        """Forget reports that were set aside here, and that another process has sent since."""
        there = {report.id for report in oldest}
        gone = [
            number for number in self._waiting if number not in there and (is_all or not there or number < max(there))
        ]
        self._forget(gone)

    def _send(self, batch: Sequence[Report]) -> Program[None]:
        body = {"requests": [self._body(report) for report in batch]}
        try:
            # The caller backs off between batches, so that `close` is never held up by a retry.
            results = yield from self._session.exchange(
                post(self._path, body, idempotent=True), lambda response: read_results(response, batch), retry=NO_RETRY
            )
        except ApiError as error:
            # A proxy that refuses everything says nothing about the reports, except that there are too many at once.
            is_about_reports = error.status in REFUSED and (error.is_from_weir or error.status == TOO_LARGE)
            if not is_about_reports or is_transient(error):
                raise
            if len(batch) > 1:
                middle = len(batch) // 2
                yield from self._send(batch[:middle])
                yield from self._send(batch[middle:])
            elif error.is_from_weir:
                self._bury(batch[0], error.code, error.detail)
            else:
                self._set_aside(batch[0], error)
                raise  # the caller pauses, and those behind it pass then
            return
        self._settle(batch, results)

    def _settle(self, batch: Sequence[Report], results: Sequence[Result]) -> None:
        self._answered()
        answered = list(zip(batch, results, strict=True))
        # Counted reports leave first: no error of another report may hold them up.
        counted = [report.id for report, result in answered if result.error is None]
        self._queue.remove(counted)
        self._forget(counted)
        for report, result in answered:
            if result.error in TRANSIENT_CODES:
                reason = f"the report {result.request_id} waits: {result.error}: {result.message}"
                self._set_aside(report, WeirError(reason))
            elif result.error is not None:
                self._bury(report, result.error, result.message)

    def _set_aside(self, report: Report, reason: WeirError) -> None:
        _, refusals = self._waiting.get(report.id, (0.0, 0))
        until = self._session.clock.monotonic() + BACKOFF.pause(refusals)
        self._waiting[report.id] = (until, refusals + 1)
        self.trouble = reason

    def _bury(self, report: Report, code: str, reason: str) -> None:
        log.error("the report %s is refused for good (%s): %s", report.body["request_id"], code, reason)
        self._queue.bury(report, code, reason)
        self._forget([report.id])

    def _forget(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._waiting.pop(number, None)
        if not self._waiting:
            self.trouble = None

    def _body(self, report: Report) -> dict[str, Any]:
        """Return the report with the time of the call by the server's clock, which is never in its future."""
        clock = self._session.clock
        skew_ms = report.skew_ms if report.skew_ms is not None else clock.skew_ms or 0
        at_ms = min(report.at_ms + skew_ms, clock.server_ms())
        return {"timestamp": rfc3339(at_ms), **report.body}


@dataclass(frozen=True)
class Result:
    """The result of one report of a batch: it is counted, or there is an error."""

    request_id: str
    status: str
    error: str | None = None
    message: str = ""


@dataclass(frozen=True)
class Results:
    """The results of a batch, in its order."""

    results: list[Result]


def read_results(response: Response, batch: Sequence[Report]) -> list[Result]:
    """Read the results of a batch. Nothing leaves the queue because of a response that is not exactly about it."""
    results = decode(Results, response.json()).results
    if [result.request_id for result in results] != [report.body["request_id"] for report in batch]:
        raise ValueError("the results are not those of the batch")
    for result in results:
        if (result.status == "ACCEPTED") == (result.error is not None):
            raise ValueError(f"the result of {result.request_id} is {result.status}, {result.error}")
    return results
