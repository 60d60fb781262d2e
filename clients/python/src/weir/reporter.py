"""Sends queued reports in the background, in batches, until the server has each of them once.

The server counts a `request_id` once, so a batch whose response got lost is sent again as it is. A report that the server refuses
for good goes to the dead letters; one that it cannot take now waits, and those behind it pass.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from .clock import rfc3339
from .core import Program, Request, Response, path
from .decode import decode
from .drivers import Driver
from .errors import ApiError, QueueError, WeirError
from .queue import Queue, Report
from .retry import NO_RETRY, TRANSIENT_CODES, RetryPolicy, is_transient
from .session import Session, done, post

log = logging.getLogger("weir")

BATCH_MAX = 100
"""Reports of one request; the server takes no more."""
IDLE_SECS = 0.5
"""How often a process without the lock looks whether it may send."""
WAITING_MAX = 1_000
"""Reports that are set aside at once, because the server could not take them; then the queue waits as a whole."""
BACKOFF = RetryPolicy(first_pause_secs=0.1, longest_pause_secs=5.0)
RETRY_AFTER_MAX_SECS = 60.0
"""Longest pause that a `Retry-After` can bring about."""
END_SECS = 1.0
"""How long closing a budget waits for a request that is under way."""
EXIT_SECS = 2.0
"""How long the end of the interpreter waits for all reports to leave."""

Connect = Callable[[], httpx.Client]


class Sender:
    """Sends the head of a queue. It belongs to one thread."""

    def __init__(self, queue: Queue, session: Session, org: str, app: str) -> None:
        self._queue, self._session = queue, session
        self._path = path("/api/v1/orgs/{}/apps/{}/costs/batch", org, app)
        self._waiting: dict[int, tuple[float, int]] = {}
        """Reports set aside: until when, and after how many refusals."""
        self.trouble: WeirError | None = None
        """Why a report was set aside, while one is."""

    def step(self) -> Program[bool]:
        """Send one batch; whether there was one to send."""
        if self._session.clock.skew_ms is None:
            # Otherwise a clock that is ahead would date the first reports into the future, for which they are refused.
            with contextlib.suppress(ApiError):
                yield from self._session.exchange(
                    Request("GET", "/healthz", idempotent=True, anonymous=True), done, retry=NO_RETRY
                )
        now = self._session.clock.monotonic()
        aside = [number for number, (until, _) in self._waiting.items() if until > now]
        if len(aside) >= WAITING_MAX:
            return False
        batch = self._queue.head(BATCH_MAX, aside)
        if batch:
            yield from self._send(batch)
        return bool(batch)

    def _send(self, batch: Sequence[Report]) -> Program[None]:
        body = {"requests": [self._body(report) for report in batch]}
        try:
            # The caller backs off between batches, so that `close` is never held up by a retry.
            results = yield from self._session.exchange(
                post(self._path, body, idempotent=True), lambda response: read_results(response, batch), retry=NO_RETRY
            )
        except ApiError as error:
            if error.status not in (400, 413, 415, 422) or is_transient(error):
                raise
            if len(batch) > 1:
                middle = len(batch) // 2
                yield from self._send(batch[:middle])
                yield from self._send(batch[middle:])
            else:
                self._bury(batch[0], error.code, error.detail)
            return
        self._settle(batch, results)

    def _settle(self, batch: Sequence[Report], results: Sequence[Result]) -> None:
        answered = list(zip(batch, results, strict=True))
        # What the server has leaves first: nothing that goes wrong with another report may hold it up.
        counted = [report.id for report, result in answered if result.error is None]
        self._queue.remove(counted)
        self._forget(counted)
        for report, result in answered:
            if result.error in TRANSIENT_CODES:
                self._set_aside(report)
                self.trouble = WeirError(f"the report {result.request_id} waits: {result.error}: {result.message}")
            elif result.error is not None:
                self._bury(report, result.error, result.message)

    def _set_aside(self, report: Report) -> None:
        _, refusals = self._waiting.get(report.id, (0.0, 0))
        until = self._session.clock.monotonic() + BACKOFF.pause(refusals)
        self._waiting[report.id] = (until, refusals + 1)

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
    """What became of one report of a batch: it is counted, or there is an error."""

    request_id: str
    status: str
    error: str | None = None
    message: str = ""


@dataclass(frozen=True)
class Results:
    """What became of a batch, in its order."""

    results: list[Result]


def read_results(response: Response, batch: Sequence[Report]) -> list[Result]:
    """Read what became of a batch. Nothing leaves the queue because of a response that is not exactly about it."""
    results = decode(Results, response.json()).results
    if [result.request_id for result in results] != [report.body["request_id"] for report in batch]:
        raise ValueError("the results are not those of the batch")
    for result in results:
        if (result.status == "ACCEPTED") == (result.error is not None):
            raise ValueError(f"the result of {result.request_id} is {result.status}, {result.error}")
    return results


class Reporter:
    """Runs a sender on a thread, which starts with the first report and again after a fork."""

    def __init__(self, queue: Queue, session: Session, connect: Connect, org: str, app: str) -> None:
        self.queue, self._session, self._connect, self._names = queue, session, connect, (org, app)
        self._is_closed = self._is_abandoned = False
        self._forget_thread()
        self.last_error: WeirError | None = None
        """Why reports wait; `None` when the last batch was taken."""
        _reporters.add(self)

    def _forget_thread(self) -> None:
        """Begin anew, as after a fork: the thread stayed behind, and what it had locked would stay locked."""
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """See to it that the thread of this process runs. What is stored stays stored if it cannot."""
        if self._pid != os.getpid():
            self._forget_thread()
        with self._guard:
            if self._thread is None and not self._is_closed:
                thread = threading.Thread(target=self._run, name="weir-reporter", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # too many threads, or the interpreter is ending
                    self._note(WeirError(f"reports are not sent: {error}"))
                else:
                    self._thread = thread
        self._wake.set()

    def check_open(self) -> None:
        """Raise if the budget is closed."""
        if self._is_closed:
            raise RuntimeError("the budget is closed")

    @property
    def is_running(self) -> bool:
        """Whether the thread of this process runs."""
        return self._thread is not None and self._pid == os.getpid()

    def flush(self, timeout: float | None) -> bool:
        """Wait until every report stored before this call has left the queue; whether it has."""
        until = None if timeout is None else time.monotonic() + timeout
        self.check_open()
        last = self.queue.newest()
        while self.queue.has_until(last):
            self.start()
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(0.02)
        return True

    def close(self, timeout: float) -> bool:
        """Flush, and end the thread; whether nothing is left in the queue for another process."""
        try:
            if self._is_closed:
                return len(self.queue) == 0
            return self.flush(timeout) if len(self.queue) else True
        finally:
            self._end()

    def abandon(self) -> None:
        """Let the thread send what is queued, and end: nobody is left to add to it.

        The garbage collector calls this in the midst of anything, so it waits for no lock.
        """
        self._is_abandoned = True
        if not self.is_running:
            self.queue.close()

    def stop(self) -> None:
        """Have the thread end, and do not wait for it."""
        self._stop.set()
        self._wake.set()

    def _end(self) -> None:
        if self._pid != os.getpid():
            self._forget_thread()
        with self._guard:
            self._is_closed = True
            thread, self._thread = self._thread, None
        self.stop()
        if thread is not None:
            # A request may be under way for long. Its thread ends after it, and closes the queue once more.
            thread.join(END_SECS)
        self.queue.close()

    def _run(self) -> None:
        failures = 0
        while not self._has_ended():
            try:
                with contextlib.closing(Driver(self._connect)) as driver:
                    self._send_on(driver)
            except Exception as error:  # of a lock that cannot be taken, for example
                self._note(error)
                failures += 1
                self._stop.wait(BACKOFF.pause(failures))
        self.queue.close()

    def _send_on(self, driver: Driver) -> None:
        """Send what there is whenever this process may, until the thread is to end."""
        sender, failures = Sender(self.queue, self._session, *self._names), 0
        while not self._has_ended():
            with self.queue.sending() as may_send:
                failures = self._drain(sender, driver, failures) if may_send else failures
            if self._has_ended():
                return
            pause = IDLE_SECS
            if failures:
                asked = getattr(self.last_error, "retry_after", None) or 0.0
                pause = max(BACKOFF.pause(failures - 1), min(asked, RETRY_AFTER_MAX_SECS))
            # A failing server is left alone for the whole pause; otherwise a new report ends it.
            (self._stop if failures else self._wake).wait(pause)
            self._wake.clear()

    def _has_ended(self) -> bool:
        if self._stop.is_set() or not self._is_abandoned:
            return self._stop.is_set()
        try:
            return len(self.queue) == 0
        except QueueError:
            return True  # it belongs to nobody, and does not work

    def _drain(self, sender: Sender, driver: Driver, failures: int) -> int:
        """Send batches until there is none, or one fails; return the failures in a row."""
        while not self._stop.is_set():
            try:
                has_sent = driver.run(sender.step())
            except Exception as error:  # the reports stay, and are tried again
                self._note(error)
                return failures + 1
            failures = 0
            self.last_error = sender.trouble
            if not has_sent:
                break
        return failures

    def _note(self, error: Exception) -> None:
        """Remember why reports wait, and log it when they begin to."""
        known = error if isinstance(error, WeirError) else WeirError(repr(error))
        if self.last_error is None:
            is_ours = isinstance(error, WeirError)
            log.warning("reports wait in %s: %s", self.queue.folder, known, exc_info=None if is_ours else error)
        self.last_error = known


_reporters: weakref.WeakSet[Reporter] = weakref.WeakSet()


def _leave() -> None:
    """Give reports a moment to leave when the interpreter ends. What cannot stays in the queue."""
    running = [reporter for reporter in list(_reporters) if reporter.is_running]
    until = time.monotonic() + EXIT_SECS
    for reporter in running:
        with contextlib.suppress(WeirError, RuntimeError):
            reporter.flush(max(0.0, until - time.monotonic()))
    for reporter in running:
        reporter.stop()
    for reporter in running:
        with contextlib.suppress(WeirError):
            reporter.close(0.0)


atexit.register(_leave)
