"""Sends one request until it has an answer: credentials, retries, errors."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .clock import Clock
from .core import ForeignResponse, NetworkFailure, Program, Request, Response, Send, Sleep, is_header_text, present
from .credentials import Credentials
from .decode import decode
from .errors import ApiError, InvalidResponse, Unauthorized, Unreachable, api_error
from .retry import Attempts, RetryPolicy, is_transient
from .types.common import Page, RawPage

T = TypeVar("T")

KEY_MAX = 64
"""Longest idempotency key that the server takes."""


class Session:
    """The credentials, retries and clock of a client, for all its services and threads."""

    def __init__(self, credentials: Credentials, retry: RetryPolicy, clock: Clock | None = None) -> None:
        self.credentials, self.retry, self.clock = credentials, retry, clock or Clock()
        self.begin()
        _sessions.add(self)

    def begin(self) -> None:
        """Begin, and in a forked child begin anew: a thread that stayed in the parent may hold the lock."""
        self.renewing = threading.Lock()
        """Held by the one thread or task that renews the token."""

    def exchange(
        self,
        request: Request,
        read: Callable[[Response], T],
        *,
        retry: RetryPolicy | None = None,
        waits: bool = True,
    ) -> Program[T]:
        """Send a request until it has an answer, and return the result of `read`.

        A request that is not idempotent is repeated only if the server has not taken it. `waits` says whether a 429 is a
        reason to try again, and not an answer for the caller. `read` raises `ForeignResponse` for the page of a proxy, which
        is worth another attempt, and `ValueError` for a response that this version of the client does not understand.
        """
        attempts = Attempts(retry or self.retry, self.clock)
        was_renewed = maybe_done = False
        while True:
            headers = {} if request.anonymous else (yield from self.credentials.headers(self))
            error: ApiError | Unreachable
            try:
                response: Response = yield Send(request.with_headers(headers))
            except NetworkFailure as failure:
                maybe_done = maybe_done or failure.was_sent
                kind = InvalidResponse if failure.is_garbled else Unreachable
                error = kind(f"{request.method} {request.path}: {failure}", maybe_done=maybe_done)
                again, retry_after = request.idempotent or not failure.was_sent, None
            else:
                if response.status < 400:
                    try:
                        result = read(expected(request, response))
                    except (ForeignResponse, ValueError) as problem:
                        reason = f"{request.method} {request.path}: {problem}"
                        error = InvalidResponse(reason, maybe_done=True)
                        error.__cause__ = problem
                        again, retry_after = request.idempotent and isinstance(problem, ForeignResponse), None
                    else:
                        self.clock.observe(response.headers)
                        return result
                else:
                    error = api_error(response.status, response.headers, response.body)
                    if error.is_from_weir:
                        self.clock.observe(response.headers)
                    if (
                        isinstance(error, Unauthorized)
                        and headers
                        and not was_renewed
                        and self.credentials.renew(headers)
                    ):
                        was_renewed = True
                        continue
                    maybe_done = maybe_done or error.status >= 500
                    again, retry_after = may_repeat(request, error, waits=waits), error.retry_after
            pause = attempts.next_pause(retry_after) if again else None
            if pause is None:
                raise error
            yield Sleep(pause)

    def fetch(self, kind: type[T], request: Request, *, retry: RetryPolicy | None = None) -> Program[T]:
        """Send a request, and return the response as `kind`."""
        return (yield from self.exchange(request, lambda response: decode(kind, response.json()), retry=retry))

    def pager(self, kind: type[T], path: str, params: dict[str, Any] | None = None) -> Pager[T]:
        """Return the pages of a list."""
        return Pager(self, kind, path, present(params or {}))


_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


def _after_fork() -> None:
    for session in list(_sessions):
        session.begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def done(response: Response) -> None:
    """Read a response that says no more than that it is done."""
    if response.body:
        response.json()


def expected(request: Request, response: Response) -> Response:
    """Return a response below 400, unless it is one that the request cannot have: Weir redirects nobody."""
    is_unchanged = response.status == 304 and "if-none-match" in request.headers
    if response.status >= 300 and not is_unchanged:
        to = response.headers.get("location")
        raise ForeignResponse(f"status {response.status}" + (f" to {to}" if to else ""))
    return response


def may_repeat(request: Request, error: ApiError, *, waits: bool) -> bool:
    """Whether a refused request may be sent again: a 429 changed nothing, for other faults it must be idempotent."""
    if error.status == 429:
        return waits and error.code in ("RATE_LIMIT_EXCEEDED", "HTTP_429")
    return request.idempotent and is_transient(error)


class Pager(Generic[T]):
    """A list that comes in pages."""

    def __init__(self, session: Session, kind: type[T], path: str, params: dict[str, str]) -> None:
        self._session, self._kind, self._path, self._params = session, kind, path, params

    def page(self, cursor: str | None) -> Program[Page[T]]:
        """Fetch the page at a cursor, the first one without."""
        params = {**self._params, **present({"cursor": cursor})}
        return (yield from self._session.exchange(get(self._path, params), self._read))

    def _read(self, response: Response) -> Page[T]:
        page = decode(RawPage, response.json())
        return Page(items=[decode(self._kind, item) for item in page.items], next_cursor=page.next_cursor)


def get(path: str, params: dict[str, Any] | None = None) -> Request:
    """Return a GET request without the parameters that are `None`."""
    return Request("GET", path, params=texts(params or {}), idempotent=True)


def put(path: str, body: Any) -> Request:
    """Return a PUT request; putting twice is putting once."""
    return Request("PUT", path, json=body, idempotent=True)


def delete(path: str) -> Request:
    """Return a DELETE request."""
    return Request("DELETE", path, idempotent=True)


def post(path: str, body: Any, *, key: str | None = None, idempotent: bool = False) -> Request:
    """Return a POST request; with an idempotency key it may be repeated."""
    if key is not None and not (len(key) <= KEY_MAX and is_header_text(key)):
        raise ValueError(f"idempotency_key: {key!r} is not of 1 to {KEY_MAX} visible ASCII characters")
    headers = {"idempotency-key": key} if key is not None else {}
    return Request("POST", path, json=body, headers=headers, idempotent=idempotent or key is not None)


def texts(params: dict[str, Any]) -> dict[str, str]:
    """Return query parameters as text, without those that are `None`."""
    text: Callable[[Any], str] = lambda value: str(value).lower() if isinstance(value, bool) else str(value)  # noqa: E731
    return {name: text(value) for name, value in params.items() if value is not None}
