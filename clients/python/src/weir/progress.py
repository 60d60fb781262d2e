"""Follows the progress of a job: server-sent events, resumed after the last step with `Last-Event-ID`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import dataclass

import httpx

from .core import Program, path
from .decode import decode
from .drivers import AsyncDriver, Driver, network_failure
from .errors import Unauthorized, Unreachable, WeirError, api_error
from .retry import Attempts, is_transient
from .session import Session
from .types import ProgressStep


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
        self._begin()

    def _begin(self) -> None:
        """Start a connection anew, with all attempts."""
        self._attempts = Attempts(self._session.retry, self._session.clock)

    def _headers(self) -> Program[dict[str, str]]:
        self._credentials = yield from self._session.credentials.headers(self._session)
        resume = {"last-event-id": self._last} if self._last else {}
        return {"accept": "text/event-stream", **self._credentials, **resume}

    def _step(self, event: Event | None) -> ProgressStep | None:
        if event is None or event.name != "progress":
            return None
        step = decode(ProgressStep, json.loads(event.data))
        self._last = event.id or step.id
        self._begin()
        return step

    def _pause(self, error: WeirError) -> float:
        """Return the seconds until the next connection; raise what no further one would mend."""
        if isinstance(error, Unauthorized) and self._session.credentials.renew(self._credentials):
            again, retry_after = True, None
        else:
            again = isinstance(error, Unreachable) or is_transient(error)  # type: ignore[arg-type]
            retry_after = getattr(error, "retry_after", None)
        pause = self._attempts.next_pause(retry_after) if again else None
        if pause is None:
            raise error
        return pause


def broken(error: httpx.TransportError) -> Unreachable:
    """Return what a broken stream is to the caller, when it cannot be resumed."""
    return Unreachable(f"the progress stream broke: {network_failure(error)}", maybe_done=False)


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
            except httpx.TransportError as failure:
                error = broken(failure)
            except WeirError as refused:
                error = refused
            time.sleep(self._pause(error))

    def _connection(self) -> Generator[ProgressStep, None, bool]:
        """Yield the steps of one connection; whether the job has ended."""
        headers = self._driver.run(self._headers())
        parser = EventParser()
        with self._driver.http.stream("GET", self._path, headers=headers) as response:
            if response.status_code >= 400:
                raise api_error(response.status_code, response.headers, response.read())
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
                async for step in self._connection():
                    yield step
                error: WeirError = Unreachable("the progress stream ended before the job", maybe_done=False)
            except httpx.TransportError as failure:
                error = broken(failure)
            except WeirError as refused:
                error = refused
            if not self._has_ended:
                await asyncio.sleep(self._pause(error))

    async def _connection(self) -> AsyncIterator[ProgressStep]:
        headers = await self._driver.run(self._headers())
        parser = EventParser()
        async with self._driver.http.stream("GET", self._path, headers=headers) as response:
            if response.status_code >= 400:
                raise api_error(response.status_code, response.headers, await response.aread())
            async for line in response.aiter_lines():
                event = parser.feed(line)
                if event is not None and event.name == "end":
                    self._has_ended = True
                    return
                step = self._step(event)
                if step is not None:
                    yield step
