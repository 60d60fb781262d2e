"""The clock of this machine, and how far the server's differs from it.

Durations come from a clock that never jumps. Times of day are those of the server as far as it is known: a machine whose clock
is wrong would otherwise report usage for another day, or for the future, which the server refuses.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

SKEW_IGNORED_MS = 5_000
"""A smaller difference is the resolution of the `Date` header and the time of travel."""


JUMP_MS = 5_000
"""The time of day jumped if it moved so much more or less than the clock that never jumps."""


@dataclass(frozen=True)
class Skew:
    """How much the server's time of day is ahead, and when that was seen by both local clocks."""

    ms: int
    wall_ms: int
    monotonic: float


class Clock:
    """Reads the time, and learns the server's time of day from its responses. Threads may share it."""

    def __init__(self) -> None:
        self._skew: Skew | None = None

    @property
    def skew_ms(self) -> int | None:
        """Milliseconds to add to the local time of day; `None` until a response has said them.

        It is unknown again after that time has jumped: set right, or after a sleep of the machine.
        """
        skew = self._skew
        if skew is None:
            return None
        passed_ms = (time.monotonic() - skew.monotonic) * 1000
        return skew.ms if abs(self.wall_ms() - skew.wall_ms - passed_ms) < JUMP_MS else None

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
        at = http_date(headers.get("date", ""))
        if at is None:
            return
        wall_ms = self.wall_ms()
        # The header has whole seconds; the middle of the second is closest on average.
        skew_ms = int(at * 1000) + 500 - wall_ms
        self._skew = Skew(0 if abs(skew_ms) < SKEW_IGNORED_MS else skew_ms, wall_ms, time.monotonic())


def http_date(text: str) -> float | None:
    """Return the seconds since 1970 of a date in a header, or `None` if it is no date."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def utc(at_ms: int) -> datetime:
    """Return the time of so many milliseconds since 1970."""
    return datetime.fromtimestamp(at_ms / 1000, timezone.utc)


def rfc3339(at_ms: int) -> str:
    """Return a time as the API writes it."""
    return utc(at_ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def query_time(at: datetime | None) -> str | None:
    """Return a time as a query parameter; one without offset would be ambiguous."""
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone")
    return at.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
