"""Follows the progress of a job: server-sent events, resumed after the last step with `Last-Event-ID`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import aclosing
from dataclasses import dataclass

import httpx

from .core import Program, path
from .decode import decode
from .drivers import AsyncDriver, Driver, network_failure
from .errors import ApiError, InvalidResponse, Unauthorized, Unreachable, WeirError, api_error
from .retry import Attempts, is_transient
from .session import Session
from .types import ProgressStep

EVENT_STREAM = "text/event-stream"
SILENCE_SECS = 45.0
"""Longest silence of a stream: the server sends a comment every 15 seconds."""


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    name: str
    data: str
    id: str | None


class EventParser:
    """Makes events of lines, as the HTML standard has it; comments keep a connection alive and say nothing."""

    def __init__(self) -> None:
        self._name = "message"
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, line: str) -> Event | None:
        """Take a line without its end; return the event that it ends."""
        if line == "":
            event = Event(self._name, "\n".join(self._data), self._id) if self._data else None
            self._name, self._data = "message", []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        elif field == "id" and "\0" not in value:
            self._id = value
        return None


class FollowerBase:
    """Where a stream is: the last step that arrived, and whether the job has ended."""

    def __init__(self, session: Session, kind: str, job: str, after: str | None) -> None:
        self._session, self._last = session, after
        self._path = path("/v1/practice/jobs/{}/{}/progress", kind, job)
        self._attempts: Attempts | None = None
        """The attempts since the stream was last alive."""

    def _headers(self) -> Program[dict[str, str]]:
        self._credentials = yield from self._session.credentials.headers(self._session)
        resume = {"last-event-id": self._last} if self._last else {}
        return {"accept": EVENT_STREAM, **self._credentials, **resume}

    def _timeout(self, timeout: httpx.Timeout) -> httpx.Timeout:
        read = None if timeout.read is None else max(timeout.read, SILENCE_SECS)
        return httpx.Timeout(connect=timeout.connect, read=read, write=timeout.write, pool=timeout.pool)

    def _check(self, response: httpx.Response) -> None:
        """Raise if a response below 400 is no stream."""
        if response.status_code != 200 or EVENT_STREAM not in response.headers.get("content-type", ""):
            reason = f"GET {self._path}: status {response.status_code} without a stream"
            raise InvalidResponse(reason, maybe_done=False)

    def _step(self, event: Event | None) -> ProgressStep | None:
        self._attempts = None  # a line has come, if only a comment
        if event is None or event.name != "progress":
            return None
        try:
            step = decode(ProgressStep, json.loads(event.data))
        except ValueError as error:
            raise InvalidResponse(f"GET {self._path}: {error}", maybe_done=False) from error
        self._last = event.id or step.id
        return step

    def _pause(self, error: WeirError) -> float:
        """Return the seconds until the next connection; raise an error that no further connection would mend."""
        if isinstance(error, Unauthorized) and self._session.credentials.renew(self._credentials):
            again, retry_after = True, None
        else:
            again = is_transient(error) if isinstance(error, ApiError) else isinstance(error, Unreachable)
            retry_after = getattr(error, "retry_after", None)
        # A job may be silent for hours before its stream breaks: attempts are counted from then.
        self._attempts = self._attempts or Attempts(self._session.retry, self._session.clock)
        pause = self._attempts.next_pause(retry_after) if again else None
        if pause is None:
            raise error
        return pause


def broken(error: httpx.RequestError) -> Unreachable:
    """Return the error of a broken stream that cannot be resumed."""
    failure = network_failure(error)
    kind = InvalidResponse if failure.is_garbled else Unreachable
    return kind(f"the progress stream broke: {failure}", maybe_done=False)


class Follower(FollowerBase):
    """Follows a job on the calling thread."""

    def __init__(self, session: Session, driver: Driver, kind: str, job: str, after: str | None) -> None:
        super().__init__(session, kind, job, after)
        self._driver = driver

    def steps(self) -> Iterator[ProgressStep]:
        """Yield the steps until the job ends."""
        while True:
            try:
                if (yield from self._connection()):
                    return
                error: WeirError = Unreachable("the progress stream ended before the job", maybe_done=False)
            except httpx.RequestError as failure:
                error = broken(failure)
            except WeirError as refused:
                error = refused
            time.sleep(self._pause(error))

    def _connection(self) -> Generator[ProgressStep, None, bool]:
        """Yield the steps of one connection; whether the job has ended."""
        headers = self._driver.run(self._headers())
        parser = EventParser()
        http = self._driver.http
        timeout = self._timeout(http.timeout)
        with http.stream("GET", self._path, headers=headers, timeout=timeout) as response:
            if response.status_code >= 400:
                raise api_error(response.status_code, response.headers, response.read())
            self._check(response)
            for line in response.iter_lines():
                event = parser.feed(line)
                if event is not None and event.name == "end":
                    return True
                step = self._step(event)
                if step is not None:
                    yield step
        return False


class AsyncFollower(FollowerBase):
    """Follows a job on an event loop."""

    def __init__(self, session: Session, driver: AsyncDriver, kind: str, job: str, after: str | None) -> None:
        super().__init__(session, kind, job, after)
        self._driver = driver
        self._has_ended = False

    async def steps(self) -> AsyncIterator[ProgressStep]:
        """Yield the steps until the job ends."""
        while not self._has_ended:
            try:
                # A caller that leaves its loop ends the connection too, and not only when it is collected.
                async with aclosing(self._connection()) as steps:
                    async for step in steps:
                        yield step
                error: WeirError = Unreachable("the progress stream ended before the job", maybe_done=False)
            except httpx.RequestError as failure:
                error = broken(failure)
            except WeirError as refused:
                error = refused
            if not self._has_ended:
                await asyncio.sleep(self._pause(error))

    async def _connection(self) -> AsyncGenerator[ProgressStep, None]:
        headers = await self._driver.run(self._headers())
        parser = EventParser()
        http = self._driver.http
        timeout = self._timeout(http.timeout)
        async with http.stream("GET", self._path, headers=headers, timeout=timeout) as response:
            if response.status_code >= 400:
                raise api_error(response.status_code, response.headers, await response.aread())
            self._check(response)
            async for line in response.aiter_lines():
                event = parser.feed(line)
                if event is not None and event.name == "end":
                    self._has_ended = True
                    return
                step = self._step(event)
                if step is not None:
                    yield step
