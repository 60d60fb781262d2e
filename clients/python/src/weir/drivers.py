"""Runs programs of `weir.core`: blocking, or with `await`.

`blocking` and `awaiting` make a method of a service out of a program, `each` and `aeach` an iterator out of a list, so that both
clients have every method with its types, and no logic twice.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import httpx

from .core import Blocks, Exclusive, NetworkFailure, Program, Request, Response, Send, Sleep
from .session import Pager

T = TypeVar("T")
C = TypeVar("C")
P = ParamSpec("P")

NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
"""Failures before the request was on its way."""
FAILURES = (httpx.RequestError, httpx.InvalidURL)
SLEEP_MAX_SECS = 86_400.0
"""Longest sleep at once; the clocks of some systems take no number of seconds that a caller or a server may name."""
LOCK_POLL_SECS = 0.01


def arguments(request: Request) -> dict[str, Any]:
    """Return a request as httpx takes it."""
    return {
        "method": request.method,
        "url": request.path,
        "params": dict(request.params) or None,
        "headers": dict(request.headers),
        "json": request.json,
    }


def network_failure(error: httpx.RequestError) -> NetworkFailure:
    """Return a failure of httpx as programs take it."""
    reason = str(error) or type(error).__name__
    is_garbled = isinstance(error, httpx.DecodingError)
    return NetworkFailure(reason, was_sent=not isinstance(error, NOT_SENT), is_garbled=is_garbled)


def failure_of(error: httpx.RequestError | httpx.InvalidURL, request: Request) -> Exception:
    """Return the error of a request that got no response; one that httpx refuses to send is the caller's."""
    if isinstance(error, httpx.RequestError):
        return network_failure(error)
    return ValueError(f"{request.path[:100]}: {error}")


def response_of(response: httpx.Response) -> Response:
    """Return a response of httpx as programs take it."""
    return Response(response.status_code, response.headers, response.content)


class Driver:
    """Runs programs on the calling thread. Any number of threads may share one.

    A forked child gets connections of its own: on shared ones, one process would read the responses to another.
    """

    def __init__(self, connect: Callable[[], httpx.Client]) -> None:
        self._connect = connect
        self._http: httpx.Client | None = connect()
        self._lock = threading.Lock()
        _drivers.add(self)

    @property
    def http(self) -> httpx.Client:
        """The connections of this process."""
        http = self._http
        if http is None:
            with self._lock:
                http = self._http = self._http or self._connect()
        return http

    def close(self) -> None:
        """Close all connections, for good."""
        self.http.close()

    def leave_to_parent(self) -> None:
        """Begin anew in a forked child, where a thread that stayed in the parent may hold the lock."""
        self._lock = threading.Lock()
        if self._http is not None and not self._http.is_closed:
            _left_to_parents.append(self._http)  # to close it could end the parent's connections
            self._http = None

    def run(self, program: Program[T]) -> T:
        """Run a program to its end."""
        advance: Callable[[], Any] = lambda: next(program)  # noqa: E731
        try:
            while True:
                effect = advance()
                try:
                    result = self._perform(effect)
                except Exception as error:  # the program handles it
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
            except FAILURES as error:
                raise failure_of(error, effect.request) from error
        if isinstance(effect, Sleep):
            return time.sleep(min(effect.seconds, SLEEP_MAX_SECS))
        if isinstance(effect, Blocks):
            return effect.function()
        assert isinstance(effect, Exclusive)  # noqa: S101 - there are four effects
        with effect.lock:
            return self.run(effect.program)


_drivers: weakref.WeakSet[Driver] = weakref.WeakSet()
_left_to_parents: list[httpx.Client] = []


def _after_fork() -> None:
    for driver in list(_drivers):
        driver.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class AsyncDriver:
    """Runs programs on an asyncio event loop. Any number of tasks may share one."""

    def __init__(self, connect: Callable[[], httpx.AsyncClient]) -> None:
        self._connect = connect
        self._http = connect()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._background: set[asyncio.Task[Any]] = set()

    @property
    def http(self) -> httpx.AsyncClient:
        """The connections of the running event loop. Those of one that has ended cannot be used any more."""
        loop = asyncio.get_running_loop()
        if self._loop is not None and self._loop is not loop:
            if self._loop.is_running():
                raise RuntimeError("an AsyncClient serves one event loop at a time; make another one for this loop")
            self._http = self._connect()
            self._background = set()
        self._loop = loop
        return self._http

    async def close(self, timeout: float) -> None:
        """Wait so long at most for background tasks, and close all connections."""
        http = self.http
        await self._finish(timeout)
        await http.aclose()

    async def run(self, program: Program[T]) -> T:
        """Run a program to its end; a cancelled one is closed where it waits."""
        advance: Callable[[], Any] = lambda: next(program)  # noqa: E731
        try:
            while True:
                effect = advance()
                try:
                    result = await self._perform(effect)
                except Exception as error:  # the program handles it
                    advance = _throw(program, error)
                else:
                    advance = _send(program, result)
        except StopIteration as end:
            return cast(T, end.value)
        finally:
            program.close()

    def spawn(self, program: Program[T]) -> asyncio.Task[T]:
        """Run a program beside the caller; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(self.run(program))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _finish(self, timeout: float) -> None:
        """Wait so long at most for background tasks, and cancel the rest."""
        if self._background:
            _, pending = await asyncio.wait(set(self._background), timeout=timeout)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _perform(self, effect: Any) -> Any:
        if isinstance(effect, Send):
            try:
                return response_of(await self.http.request(**arguments(effect.request)))
            except FAILURES as error:
                raise failure_of(error, effect.request) from error
        if isinstance(effect, Sleep):
            return await asyncio.sleep(min(effect.seconds, SLEEP_MAX_SECS))
        if isinstance(effect, Blocks):
            return await asyncio.to_thread(effect.function)
        assert isinstance(effect, Exclusive)  # noqa: S101 - there are four effects
        # The thread that sends reports may hold the lock, so a lock of asyncio would not do.
        while not effect.lock.acquire(blocking=False):
            await asyncio.sleep(LOCK_POLL_SECS)
        try:
            return await self.run(effect.program)
        finally:
            effect.lock.release()


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


def with_signature(
    method: Callable[..., Any], of: Callable[..., Any], returned: str, *, adds_self: bool = False
) -> None:
    """Give a method the parameters of `of`, and its own return type, in which `{}` stands for the result of the program.

    `help`, editors and `unittest.mock.create_autospec` read them.
    """
    known = signature(of)
    inner = re.fullmatch(r"(?:Program|Pager)\[(.*)\]", str(known.return_annotation))
    own = [Parameter("self", Parameter.POSITIONAL_ONLY)] if adds_self else []
    parameters = [*own, *known.parameters.values()]
    shown = returned.format(inner[1] if inner else "")
    vars(method)["__signature__"] = known.replace(parameters=parameters, return_annotation=shown)


def blocking(method: Callable[Concatenate[C, P], Program[T]]) -> Callable[Concatenate[Blocking[C], P], T]:
    """Make a blocking method of a program."""

    @wraps(method)
    def call(service: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return service._driver.run(method(service._calls, *args, **kwargs))

    with_signature(call, method, "{}")
    return call


def awaiting(
    method: Callable[Concatenate[C, P], Program[T]],
) -> Callable[Concatenate[Awaiting[C], P], Coroutine[Any, Any, T]]:
    """Make a coroutine method of a program."""

    @wraps(method)
    async def call(service: Awaiting[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await service._driver.run(method(service._calls, *args, **kwargs))

    with_signature(call, method, "{}")
    return call


def each(method: Callable[Concatenate[C, P], Pager[T]]) -> Callable[Concatenate[Blocking[C], P], Iterator[T]]:
    """Make an iterator over all pages of a list."""

    @wraps(method)
    def call(service: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return _items(service._driver, method(service._calls, *args, **kwargs))

    with_signature(call, method, "Iterator[{}]")
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

    with_signature(call, method, "AsyncIterator[{}]")
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
