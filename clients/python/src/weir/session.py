"""Sends one request until it has an answer: credentials, retries, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .clock import Clock
from .core import NetworkFailure, Program, Request, Response, Send, Sleep, present
from .credentials import Credentials
from .decode import decode
from .errors import ApiError, Unauthorized, Unreachable, api_error
from .retry import Attempts, RetryPolicy, is_transient
from .types.common import Page

T = TypeVar("T")


class Session:
    """What all services of a client share."""

    def __init__(self, credentials: Credentials, retry: RetryPolicy, clock: Clock | None = None) -> None:
        self.credentials, self.retry, self.clock = credentials, retry, clock or Clock()

    def exchange(self, request: Request, *, retry: RetryPolicy | None = None, waits: bool = True) -> Program[Response]:
        """Send a request until it has an answer, and return one below 400.

        A request that is not idempotent is repeated only if the server has not taken it. `waits` says whether a 429 is a
        reason to try again, and not an answer for the caller.
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
                error = Unreachable(f"{request.method} {request.path}: {failure}", maybe_done=maybe_done)
                again, retry_after = request.idempotent or not failure.was_sent, None
            else:
                self.clock.observe(response.headers)
                if response.status < 400:
                    return response
                error = api_error(response.status, response.headers, response.body)
                if isinstance(error, Unauthorized) and not was_renewed and self.credentials.renew(headers):
                    was_renewed = True
                    continue
                again, retry_after = may_repeat(request, error, waits=waits), error.retry_after
            pause = attempts.next_pause(retry_after) if again else None
            if pause is None:
                raise error
            yield Sleep(pause)

    def fetch(self, kind: type[T], request: Request) -> Program[T]:
        """Send a request, and return the response as `kind`."""
        response = yield from self.exchange(request)
        return decode(kind, response.json())

    def pager(self, kind: type[T], path: str, params: dict[str, Any] | None = None) -> Pager[T]:
        """Return the pages of a list."""
        return Pager(self, kind, path, present(params or {}))


def may_repeat(request: Request, error: ApiError, *, waits: bool) -> bool:
    """Whether a refused request may be sent again: a 429 changed nothing, for other faults it must be idempotent."""
    if error.status == 429:
        return waits and error.code == "RATE_LIMIT_EXCEEDED"
    return request.idempotent and is_transient(error)


class Pager(Generic[T]):
    """A list that comes in pages."""

    def __init__(self, session: Session, kind: type[T], path: str, params: dict[str, str]) -> None:
        self._session, self._kind, self._path, self._params = session, kind, path, params

    def page(self, cursor: str | None) -> Program[Page[T]]:
        """Fetch the page at a cursor, the first one without."""
        params = {**self._params, **present({"cursor": cursor})}
        response = yield from self._session.exchange(get(self._path, params))
        answer = response.json()
        items = [decode(self._kind, item) for item in answer["items"]]
        return Page(items=items, next_cursor=answer.get("next_cursor"))


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
    headers = {"idempotency-key": key} if key else {}
    return Request("POST", path, json=body, headers=headers, idempotent=idempotent or key is not None)


def texts(params: dict[str, Any]) -> dict[str, str]:
    """Return query parameters as text, without those that are `None`."""
    text: Callable[[Any], str] = lambda value: str(value).lower() if isinstance(value, bool) else str(value)  # noqa: E731
    return {name: text(value) for name, value in params.items() if value is not None}
