"""The clock of this machine, and how far the server's differs from it.

Durations come from a clock that never jumps. Times of day are those of the server as far as it is known: a machine whose clock
is wrong would otherwise report usage for another day, or for the future, which the server refuses.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

SKEW_IGNORED_MS = 5_000
"""A smaller difference is the resolution of the `Date` header and the time of travel."""


class Clock:
    """Reads the time; `skew_ms` is what to add to the local time of day, once a response has said so."""

    def __init__(self) -> None:
        self.skew_ms: int | None = None

    def monotonic(self) -> float:
        """Return seconds of a clock that never jumps."""
        return time.monotonic()

    def wall_ms(self) -> int:
        """Return the local time of day in milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def server_ms(self) -> int:
        """Return the server's time of day, as far as it is known."""
        return self.wall_ms() + (self.skew_ms or 0)

    def observe(self, headers: Mapping[str, str]) -> None:
        """Learn the server's time from the `Date` of a response."""
        try:
            # The header has whole seconds; the middle of the second is closest on average.
            server_ms = int(parsedate_to_datetime(headers["date"]).timestamp() * 1000) + 500
        except (KeyError, ValueError):
            return
        skew_ms = server_ms - self.wall_ms()
        self.skew_ms = 0 if abs(skew_ms) < SKEW_IGNORED_MS else skew_ms


def rfc3339(at_ms: int) -> str:
    """Return a time as the API writes it."""
    return datetime.fromtimestamp(at_ms / 1000, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def query_time(at: datetime | None) -> str | None:
    """Return a time as a query parameter; one without offset would be ambiguous."""
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone")
    return at.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
