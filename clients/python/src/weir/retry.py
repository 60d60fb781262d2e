"""Which failures are worth another attempt, and when."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .clock import Clock
from .errors import ApiError

TRANSIENT_STATUS = frozenset({408, 500, 502, 503, 504, 507})
TRANSIENT_CODES = frozenset(
    {
        "CONFLICT",
        "INSUFFICIENT_STORAGE",
        "INTERNAL_ERROR",
        "RATE_LIMIT_EXCEEDED",
        "REQUEST_TIMEOUT",
        "SERVICE_UNAVAILABLE",
    }
)


@dataclass(frozen=True)
class RetryPolicy:
    """The bounds of retries: at most `attempts`, and none that would begin later than `total_secs`."""

    attempts: int = 20
    total_secs: float = 30.0
    first_pause_secs: float = 0.1
    longest_pause_secs: float = 5.0

    def pause(self, attempt: int) -> float:
        """Return the seconds before the next attempt: twice as many each time, of which half are random."""
        longest = min(self.longest_pause_secs, self.first_pause_secs * 2.0 ** min(attempt, 30))
        return longest * random.uniform(0.5, 1.0)


NO_RETRY = RetryPolicy(attempts=1)


def is_transient(error: ApiError) -> bool:
    """Whether the same request may succeed later without anything being changed."""
    return error.status in TRANSIENT_STATUS or error.code in TRANSIENT_CODES


class Attempts:
    """The attempts of one request."""

    def __init__(self, policy: RetryPolicy, clock: Clock) -> None:
        self._policy, self._clock = policy, clock
        self._until = clock.monotonic() + policy.total_secs
        self._count = 0

    def next_pause(self, retry_after: float | None) -> float | None:
        """Return the seconds to wait before the next attempt, or `None` when there is none."""
        self._count += 1
        pause = self._policy.pause(self._count - 1)
        if retry_after is not None:
            # A little later than the server said, so that not all callers come back at once.
            pause = retry_after + pause * 0.5
        if self._count >= self._policy.attempts or self._clock.monotonic() + pause > self._until:
            return None
        return pause
