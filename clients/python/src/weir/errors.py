"""Every error that the client raises.

WeirError
├── Unreachable            no response, after all retries ── InvalidResponse
├── QueueError             the queue of reports cannot be used ── QueueFull
└── ApiError               the server refused: status, code, detail, details, request_id
    ├── InvalidRequest     400, 413, 415
    ├── Unauthorized       401
    ├── Forbidden          403
    ├── NotFound           404
    ├── Conflict           409 ── LeaseLost
    ├── Gone               410 ── LeaseExpired
    ├── RateLimited        429 ── QuotaExceeded, DailyLimitExceeded
    └── ServerError        500 and above ── ServiceUnavailable
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from .clock import http_date
from .decode import decode, parse_time
from .types import LimitStatus

HEADERS = ("content-type", "date", "retry-after", "x-request-id")
"""Headers that an error is made of."""
WAIT_MAX_MS = 10**15
PROBLEM = "application/problem+json"
"""Content type of every error of Weir."""


class WeirError(Exception):
    """Base of all errors of this package."""


class Unreachable(WeirError):
    """The server did not respond, however often the request was sent."""

    def __init__(self, reason: str, *, maybe_done: bool) -> None:
        super().__init__(reason)
        self.maybe_done = maybe_done
        """Whether the server may have received, and done, what was requested."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the error pass between processes: the constructor takes more than its text."""
        return partial(type(self), maybe_done=self.maybe_done), self.args


class InvalidResponse(Unreachable):
    """The response is not one of Weir, for example the page of a proxy, or it was cut off."""


class QueueError(WeirError):
    """The queue of reports cannot be read or written: its disk is full, its folder read-only, its file damaged.

    A report that gets this error is not stored.
    """


class QueueFull(QueueError):
    """The queue of reports holds as many as it may; the report was not stored."""


class ApiError(WeirError):
    """The server responded with an error (`application/problem+json`)."""

    def __init__(self, status: int, problem: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self._made_of = (status, dict(problem), {name: headers[name] for name in HEADERS if name in headers})
        self.status = status
        self.code = str(problem.get("error") or f"HTTP_{status}")
        """Code for programs, like `NOT_FOUND`; it never changes."""
        self.detail = str(problem.get("detail") or problem.get("message") or f"HTTP status {status}")
        """Explanation for people."""
        details = problem.get("details")
        self.details: Mapping[str, Any] = details if isinstance(details, dict) else {}
        self.request_id = str(problem.get("request_id") or headers.get("x-request-id") or "")
        """Id under which the server's log has the request."""
        self.is_from_weir = "error" in problem and headers.get("content-type", "").startswith(PROBLEM)
        """Whether Weir refused, and not a proxy in front of it."""
        self.retry_after = seconds_of(headers.get("retry-after"), headers.get("date"))
        """Seconds after which a retry may succeed, if the server says so."""
        super().__init__(f"{self.code}: {self.detail} (status {status}, request {self.request_id or 'unknown'})")

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the error pass between processes: the constructor takes more than its text."""
        return type(self), self._made_of


class InvalidRequest(ApiError):
    """The request is not valid; `details` names the field."""


class Unauthorized(ApiError):
    """The credentials are missing or not valid."""


class Forbidden(ApiError):
    """The credentials lack the required scope, or the user may not do this."""


class NotFound(ApiError):
    """The thing does not exist, or the credentials do not reach it."""


class Conflict(ApiError):
    """The request contradicts the present state."""


class LeaseLost(Conflict):
    """The worker no longer holds the job: another one has claimed it, or it was cancelled."""


class Gone(ApiError):
    """The thing no longer exists."""


class LeaseExpired(Gone):
    """The lease ended before it was settled."""


class RateLimited(ApiError):
    """Too few tokens are available; `limits` says which, `retry_after` when to come back."""

    @property
    def limits(self) -> list[LimitStatus]:
        """Every requested limit, with its available and missing tokens."""
        return [decode(LimitStatus, limit) for limit in self.details.get("limits", [])]

    @property
    def wait_seconds(self) -> float:
        """Seconds until the request can be granted; as exact as the server says it."""
        exact = self.details.get("retry_after_ms")
        return min(max(0, exact), WAIT_MAX_MS) / 1000 if isinstance(exact, int) else float(self.retry_after or 1)


class QuotaExceeded(RateLimited):
    """All quotas of the day are spent; the next day starts at `resets_at`."""

    @property
    def resets_at(self) -> datetime | None:
        """The next local midnight of the org."""
        at = self.details.get("retry_after")
        return parse_time(at) if isinstance(at, str) else None


class DailyLimitExceeded(RateLimited):
    """The user has used all actions of the day."""

    @property
    def resets_at(self) -> datetime | None:
        """Time at which the next day starts."""
        at = self.details.get("resets_at")
        return parse_time(at) if isinstance(at, str) else None


class ServerError(ApiError):
    """The server failed."""


class ServiceUnavailable(ServerError):
    """The server cannot serve now, for example because its store does not respond."""


BY_CODE: dict[str, type[ApiError]] = {
    "LEASE_LOST": LeaseLost,
    "LEASE_EXPIRED": LeaseExpired,
    "QUOTA_EXCEEDED": QuotaExceeded,
    "DAILY_LIMIT_EXCEEDED": DailyLimitExceeded,
}
BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    429: RateLimited,
    502: ServiceUnavailable,
    503: ServiceUnavailable,
    504: ServiceUnavailable,
}


def api_error(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """Return the error that a response stands for; a proxy's response has no problem document."""
    try:
        problem = json.loads(body)
    except (ValueError, RecursionError):
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    kind = BY_CODE.get(str(problem.get("error"))) or BY_STATUS.get(status)
    if kind is None:
        kind = ServerError if status >= 500 else ApiError
    return kind(status, problem, headers)


def seconds_of(retry_after: str | None, date: str | None) -> float | None:
    """Return the seconds of `Retry-After`. A proxy may send a date, which is compared with that of the response."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        at, now = http_date(retry_after), http_date(date or "")
        if at is None:
            return None
        seconds = at - (time.time() if now is None else now)
    return max(0.0, seconds) if math.isfinite(seconds) else None
