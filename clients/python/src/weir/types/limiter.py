"""Responses of the limiter."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A token bucket: `capacity` tokens at most, `refill_amount` more every `refill_period_seconds`."""

    name: str
    capacity: int
    refill_amount: int
    refill_period_seconds: int

    @classmethod
    def per_second(cls, name: str, amount: int, *, burst: int | None = None) -> Limit:
        """Return a limit of `amount` a second; `burst` is the capacity, `amount` by default."""
        return cls._every(1, name, amount, burst)

    @classmethod
    def per_minute(cls, name: str, amount: int, *, burst: int | None = None) -> Limit:
        """Return a limit of `amount` a minute."""
        return cls._every(60, name, amount, burst)

    @classmethod
    def per_hour(cls, name: str, amount: int, *, burst: int | None = None) -> Limit:
        """Return a limit of `amount` an hour."""
        return cls._every(3600, name, amount, burst)

    @classmethod
    def per_day(cls, name: str, amount: int, *, burst: int | None = None) -> Limit:
        """Return a limit of `amount` in 24 hours."""
        return cls._every(86_400, name, amount, burst)

    @classmethod
    def _every(cls, seconds: int, name: str, amount: int, burst: int | None) -> Limit:
        capacity = amount if burst is None else burst
        return cls(name=name, capacity=capacity, refill_amount=amount, refill_period_seconds=seconds)


@dataclass(frozen=True, kw_only=True)
class LimitStatus:
    """The tokens of one limit, and how long until it can serve the request."""

    entity: str
    name: str
    capacity: int
    refill_amount: int
    refill_period_seconds: int
    available: int
    asked: int
    deficit: int
    retry_after_ms: int


@dataclass(frozen=True, kw_only=True)
class Acquired:
    """A granted acquire."""

    degraded: bool
    limits: list[LimitStatus]
    lease: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class LeaseState:
    """A lease after a change: `net` has the tokens that it holds."""

    id: str
    state: str
    net: dict[str, int]
    degraded: bool


@dataclass(frozen=True, kw_only=True)
class Availability:
    """The tokens that an entity could take now."""

    entity: str
    resource: str
    limits: list[LimitStatus]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one level."""

    limits: list[Limit]
    version: int
    on_unavailable: str | None = None


@dataclass(frozen=True, kw_only=True)
class EffectiveLimits:
    """The limits in force for an entity on a resource, with the levels that they come from."""

    limits: list[Limit]
    limits_from: str
    on_unavailable: str
    on_unavailable_from: str


@dataclass(frozen=True, kw_only=True)
class Entity:
    """A user, a key, a project: whoever is limited."""

    id: str
    name: str
    cascade: bool
    created_at: datetime
    updated_at: datetime
    version: int
    parent: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class UsageSnapshot:
    """The tokens that an entity used of a resource in one window."""

    entity: str
    resource: str
    window: str
    start: datetime
    used: dict[str, int]
    events: int


@dataclass(frozen=True, kw_only=True)
class UsageSummary:
    """Usage summed over windows."""

    window: str
    total: dict[str, int]
    peak: dict[str, int]
    snapshots: int
    events: int
