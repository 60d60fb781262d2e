"""Sends queued reports in the background, on one thread for each queue, until the server has each of them once."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from .core import Blocks, Program, Sleep
from .drivers import Driver
from .errors import QueueError, QueueFull, WeirError
from .queue import Bound, Queue
from .sender import BACKOFF, Sender
from .session import Session

log = logging.getLogger("weir")

IDLE_SECS = 0.5
"""How often a process without the lock looks whether it may send."""
RETRY_AFTER_MAX_SECS = 60.0
"""Longest pause that a `Retry-After` can bring about."""
END_SECS = 1.0
"""How long closing a budget waits for a request that is under way."""
POLL_SECS = 0.02
"""How often a waiting caller looks at the queue."""
EXIT_SECS = 2.0
"""How long the end of the interpreter waits for all reports to leave."""

Connect = Callable[[], httpx.Client]


class Reporters:
    """The reporters of a client: one for each queue, however many budgets use it."""

    def __init__(self, session: Session, connect: Connect) -> None:
        self._session, self._connect = session, connect
        self._known: weakref.WeakValueDictionary[tuple[str, str, str], Reporter] = weakref.WeakValueDictionary()
        self.begin()
        _begins_anew_after_fork.add(self)

    def begin(self) -> None:
        """Begin, and in a forked child begin anew: a thread that stayed in the parent may hold the lock."""
        self._guard = threading.Lock()

    def handle(self, folder: Path | None, org: str, app: str, bound: Bound) -> ReporterHandle:
        """Return a handle of the reporter of a queue."""
        name = (str(folder), org, app)
        with self._guard:
            reporter = self._known.get(name)
            handle = reporter.join(bound) if reporter is not None else None
            if handle is None:
                reporter = Reporter(Queue(folder), self._session, self._connect, org, app)
                self._known[name] = reporter
                handle = reporter.join(bound)
        assert handle is not None  # noqa: S101 - a new reporter has not ended
        return handle


class ReporterHandle:
    """The use of a reporter by one budget. The reporter ends after the last one."""

    def __init__(self, reporter: Reporter, bound: Bound) -> None:
        self.reporter, self._bound = reporter, bound
        self._is_closed = False

    def report(self, report: dict[str, Any], at_ms: int, skew_ms: int | None) -> Program[None]:
        """Store a report on disk, and have it sent. Raises `QueueFull` when there is no room, at once or after the wait."""
        bound, until = self._bound, time.monotonic() + self._bound.wait_secs
        while not (yield Blocks(partial(self._store, report, at_ms, skew_ms))):
            if bound.on_full == "raise" or time.monotonic() >= until:
                folder = self.reporter.queue.folder
                raise QueueFull(f"{folder} holds {bound.size_max} reports that the server has not taken")
            yield Sleep(POLL_SECS)

    def requeue(self) -> Program[int]:
        """Queue dead letters again, and have them sent; return how many found room."""
        self._check_open()
        count: int = yield Blocks(partial(self.reporter.queue.requeue, self._bound.size_max))
        if count:
            self.reporter.start()
        return count

    def flush(self, timeout: float | None) -> Program[bool]:
        """Wait until every report stored before this call has left the queue; whether it has."""
        self._check_open()
        until = None if timeout is None else time.monotonic() + timeout
        last = yield Blocks(self.reporter.queue.newest)
        while (yield Blocks(partial(self._sends_until, last))):
            if until is not None and not time.monotonic() < until:
                return False
            yield Sleep(POLL_SECS)
        return True

    def close(self, timeout: float) -> Program[bool]:
        """Flush, and give the reporter up; whether nothing is left in the queue for another process."""
        try:
            is_empty = not (yield Blocks(self.reporter.queue.__len__))
            if not (self._is_closed or is_empty):
                is_empty = yield from self.flush(timeout)
        finally:
            self._is_closed = True
            is_last = self.reporter.leave(self)
        if is_last:
            yield Blocks(self.reporter.finish)
        return is_empty

    def _store(self, report: dict[str, Any], at_ms: int, skew_ms: int | None) -> bool:
        self._check_open()
        number = self.reporter.queue.put(report, at_ms, skew_ms, self._bound.size_max)
        self.reporter.start()  # also when the queue is full, or there would never be room
        return number is not None

    def _sends_until(self, last: int) -> bool:
        """Whether a report up to this number is still to be sent."""
        is_there = self.reporter.queue.has_until(last)
        if is_there:
            self.reporter.start()
        return is_there

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("the budget is closed")


class Reporter:
    """Runs a sender on a thread, which starts with the first report and again after a fork."""

    def __init__(self, queue: Queue, session: Session, connect: Connect, org: str, app: str) -> None:
        self.queue, self._session, self._connect, self._names = queue, session, connect, (org, app)
        self._handles: weakref.WeakSet[ReporterHandle] = weakref.WeakSet()
        self._has_ended = False
        self.begin()
        self.last_error: WeirError | None = None
        """Why reports wait; `None` when the last batch was taken."""
        _reporters.add(self)
        _begins_anew_after_fork.add(self)

    def begin(self) -> None:
        """Begin, and in a forked child begin anew: the thread stayed behind, and its locks would stay locked."""
        self._guard = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def join(self, bound: Bound) -> ReporterHandle | None:
        """Return a handle, unless the reporter has ended. The first one sends the reports of an earlier process."""
        with self._guard:
            if self._has_ended:
                return None
            is_first, handle = not len(self._handles), ReporterHandle(self, bound)
            self._handles.add(handle)
        if is_first:
            # The disk may be slow, and this thread that of an event loop.
            with contextlib.suppress(RuntimeError):  # too many threads, or the interpreter is ending
                threading.Thread(target=self._look, name="weir-queue", daemon=True).start()
        return handle

    def leave(self, handle: ReporterHandle) -> bool:
        """Give up a handle; whether it was the last one, which stops the thread."""
        with self._guard:
            self._handles.discard(handle)
            if len(self._handles) or self._has_ended:
                return False
            self._has_ended = True
        self.stop()
        return True

    def start(self) -> None:
        """Start the thread of this process unless it runs. Without a thread, stored reports stay stored."""
        with self._guard:
            if self._thread is None and not self._has_ended:
                thread = threading.Thread(target=self._run, name="weir-reporter", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # too many threads, or the interpreter is ending
                    self._note(WeirError(f"reports are not sent: {error}"))
                else:
                    self._thread = thread
        self._wake.set()

    @property
    def is_running(self) -> bool:
        """Whether the thread of this process runs."""
        return self._thread is not None and not self._has_ended

    def stop(self) -> None:
        """Have the thread end, and do not wait for it."""
        self._stop.set()
        self._wake.set()

    def finish(self) -> None:
        """End the thread, and close the database; a later report is stored, and sent by the next process."""
        self.stop()
        thread = self._thread
        if thread is not None:
            # A request may be under way for long. Its thread ends after it, and closes the queue once more.
            thread.join(END_SECS)
        self.queue.close()

    def _look(self) -> None:
        """Start if an earlier process has left reports."""
        try:
            if len(self.queue):
                self.start()
        except QueueError as error:
            self._note(error)

    def _run(self) -> None:
        failures = 0
        while not self._is_over():
            try:
                with contextlib.closing(Driver(self._connect)) as driver:
                    self._send_on(driver)
            except Exception as error:  # of a lock that cannot be taken, for example
                self._note(error)
                failures += 1
                self._stop.wait(BACKOFF.pause(failures))
        self.queue.close()

    def _send_on(self, driver: Driver) -> None:
        """Send reports whenever this process may, until the thread is to end."""
        sender, failures = Sender(self.queue, self._session, *self._names, answered=self._forget_error), 0
        while not self._is_over():
            with self.queue.sending() as may_send:
                failures = self._drain(sender, driver, failures) if may_send else failures
            if self._is_over():
                return
            pause = IDLE_SECS
            if failures:
                asked = getattr(self.last_error, "retry_after", None) or 0.0
                pause = max(BACKOFF.pause(failures - 1), min(asked, RETRY_AFTER_MAX_SECS))
            # A failing server is left alone for the whole pause; otherwise a new report ends it.
            (self._stop if failures else self._wake).wait(pause)
            self._wake.clear()

    def _is_over(self) -> bool:
        """Whether the thread is to end: it was stopped, or all budgets were dropped and nothing is left to send."""
        if self._stop.is_set() or self._has_ended:
            return True
        if len(self._handles):
            return False
        try:
            if len(self.queue):
                return False
        except QueueError:
            pass  # nobody is left to hear of it
        with self._guard:
            self._has_ended = self._has_ended or not len(self._handles)
            return self._has_ended

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

    def _forget_error(self) -> None:
        self.last_error = None

    def _note(self, error: Exception) -> None:
        """Remember why reports wait, and log it when they begin to."""
        known = error if isinstance(error, WeirError) else WeirError(repr(error))
        if self.last_error is None:
            is_ours = isinstance(error, WeirError)
            log.warning("reports wait in %s: %s", self.queue.folder, known, exc_info=None if is_ours else error)
        self.last_error = known


_reporters: weakref.WeakSet[Reporter] = weakref.WeakSet()
_begins_anew_after_fork: weakref.WeakSet[Reporter | Reporters] = weakref.WeakSet()


def _after_fork() -> None:
    for one in list(_begins_anew_after_fork):
        one.begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _leave() -> None:
    """Give reports a moment to leave when the interpreter ends. The rest stays in the queue."""
    running = [reporter for reporter in list(_reporters) if reporter.is_running]
    until = time.monotonic() + EXIT_SECS
    for reporter in running:
        with contextlib.suppress(WeirError):
            while len(reporter.queue) and time.monotonic() < until:
                time.sleep(POLL_SECS)
    for reporter in running:
        reporter.stop()
    for reporter in running:
        with contextlib.suppress(WeirError):
            reporter.finish()


atexit.register(_leave)
