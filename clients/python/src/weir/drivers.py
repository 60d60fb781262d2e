"""Runs programs of `weir.core`: blocking, or with `await`.

`blocking` and `awaiting` make a method of a service out of a program, `each` and `aeach` an iterator out of a list, so that both
clients have every method with its types, and no logic twice.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import httpx

from .core import Exclusive, NetworkFailure, Program, Request, Response, Send, Sleep
from .session import Pager

T = TypeVar("T")
C = TypeVar("C")
P = ParamSpec("P")

NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
"""Failures before the request was on its way."""


def arguments(request: Request) -> dict[str, Any]:
    """Return a request as httpx takes it."""
    return {
        "method": request.method,
        "url": request.path,
        "params": dict(request.params) or None,
        "headers": dict(request.headers),
        "json": request.json,
    }


def network_failure(error: httpx.TransportError) -> NetworkFailure:
    """Return what a failure of httpx means for retries."""
    reason = str(error) or type(error).__name__
    return NetworkFailure(reason, was_sent=not isinstance(error, NOT_SENT))


def response_of(response: httpx.Response) -> Response:
    """Return a response of httpx as programs take it."""
    return Response(response.status_code, response.headers, response.content)


class Driver:
    """Runs programs on the calling thread. Any number of threads may share one."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http
        self._lock = threading.Lock()

    def run(self, program: Program[T]) -> T:
        """Run a program to its end."""
        advance: Callable[[], Any] = lambda: next(program)  # noqa: E731
        try:
            while True:
                effect = advance()
                try:
                    result = self._perform(effect)
                except Exception as error:  # the program decides what it means
                    advance = _throw(program, error)
                else:
                    advance = _send(program, result)
        except StopIteration as end:
            return cast(T, end.value)
        finally:
            program.close()

    def _perform(self, effect: Any) -> Any:
        if isinstance(effect, Send):
            try:
                return response_of(self.http.request(**arguments(effect.request)))
            except httpx.TransportError as error:
                raise network_failure(error) from error
        if isinstance(effect, Sleep):
            return time.sleep(effect.seconds)
        assert isinstance(effect, Exclusive)  # noqa: S101 - there are three effects
        with self._lock:
            return self.run(effect.program)


class AsyncDriver:
    """Runs programs on an asyncio event loop. Any number of tasks may share one."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self._lock: asyncio.Lock | None = None
        self._background: set[asyncio.Task[Any]] = set()

    async def run(self, program: Program[T]) -> T:
        """Run a program to its end; a cancelled one is closed where it waits."""
        advance: Callable[[], Any] = lambda: next(program)  # noqa: E731
        try:
            while True:
                effect = advance()
                try:
                    result = await self._perform(effect)
                except Exception as error:  # the program decides what it means
                    advance = _throw(program, error)
                else:
                    advance = _send(program, result)
        except StopIteration as end:
            return cast(T, end.value)
        finally:
            program.close()

    def spawn(self, program: Program[Any]) -> None:
        """Run a program beside the caller; `finish` waits for it."""
        task = asyncio.get_running_loop().create_task(self.run(program))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def finish(self, timeout: float) -> None:
        """Wait for what runs beside, so long at most, and end the rest."""
        if self._background:
            _, pending = await asyncio.wait(set(self._background), timeout=timeout)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _perform(self, effect: Any) -> Any:
        if isinstance(effect, Send):
            try:
                return response_of(await self.http.request(**arguments(effect.request)))
            except httpx.TransportError as error:
                raise network_failure(error) from error
        if isinstance(effect, Sleep):
            return await asyncio.sleep(effect.seconds)
        assert isinstance(effect, Exclusive)  # noqa: S101 - there are three effects
        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            return await self.run(effect.program)


def _send(program: Program[Any], result: Any) -> Callable[[], Any]:
    return lambda: program.send(result)


def _throw(program: Program[Any], error: Exception) -> Callable[[], Any]:
    return lambda: program.throw(error)


class Blocking(Generic[C]):
    """A service of `weir.Client`: its programs, run on the calling thread."""

    def __init__(self, calls: C, driver: Driver) -> None:
        self._calls, self._driver = calls, driver


class Awaiting(Generic[C]):
    """A service of `weir.AsyncClient`: its programs, run on the event loop."""

    def __init__(self, calls: C, driver: AsyncDriver) -> None:
        self._calls, self._driver = calls, driver


def blocking(method: Callable[Concatenate[C, P], Program[T]]) -> Callable[Concatenate[Blocking[C], P], T]:
    """Make a blocking method of a program."""

    @wraps(method)
    def call(service: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return service._driver.run(method(service._calls, *args, **kwargs))

    return call


def awaiting(
    method: Callable[Concatenate[C, P], Program[T]],
) -> Callable[Concatenate[Awaiting[C], P], Coroutine[Any, Any, T]]:
    """Make a coroutine method of a program."""

    @wraps(method)
    async def call(service: Awaiting[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await service._driver.run(method(service._calls, *args, **kwargs))

    return call


def each(method: Callable[Concatenate[C, P], Pager[T]]) -> Callable[Concatenate[Blocking[C], P], Iterator[T]]:
    """Make an iterator over all pages of a list."""

    @wraps(method)
    def call(service: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return _items(service._driver, method(service._calls, *args, **kwargs))

    return call


def _items(driver: Driver, pager: Pager[T]) -> Iterator[T]:
    cursor = None
    while True:
        page = driver.run(pager.page(cursor))
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def aeach(
    method: Callable[Concatenate[C, P], Pager[T]],
) -> Callable[Concatenate[Awaiting[C], P], AsyncIterator[T]]:
    """Make an asynchronous iterator over all pages of a list."""

    @wraps(method)
    def call(service: Awaiting[C], /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return _aitems(service._driver, method(service._calls, *args, **kwargs))

    return call


async def _aitems(driver: AsyncDriver, pager: Pager[T]) -> AsyncIterator[T]:
    cursor = None
    while True:
        page = await driver.run(pager.page(cursor))
        for item in page.items:
            yield item
        cursor = page.next_cursor
        if cursor is None:
            return
