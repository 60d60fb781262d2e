"""Rate limits of one namespace: acquiring tokens, and the limits and entities themselves."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Generator, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from types import TracebackType
from typing import Any, Literal

from .clock import query_time
from .core import Program, Request, Response, Sleep, is_header_text, path, present
from .decode import decode
from .drivers import AsyncDriver, Awaiting, Blocking, aeach, awaiting, blocking, each
from .errors import RateLimited, ServerError, Unreachable, WeirError
from .lease import AsyncLease, Lease, LeaseCalls, merged
from .retry import NO_RETRY, RetryPolicy
from .session import Pager, Session, delete, done, get, post, put
from .types import (
    Acquired,
    Availability,
    EffectiveLimits,
    Entity,
    Limit,
    Limits,
    UsageSnapshot,
    UsageSummary,
)

OnUnreachable = Literal["raise", "allow"]
"""The choice when the server cannot be reached: raise an error, or go on with a degraded lease."""

Window = Literal["hourly", "daily", "monthly"]

FOREVER_SECS = 1e9
AFTER_WAIT_SECS = 0.05
"""Waiters come back up to so much later than they may, so that they do not all come at once."""


class Attempt:
    """One acquire: it knows its key, so it can be repeated, and undone when its caller is gone."""

    def __init__(
        self,
        calls: LimiterCalls,
        body: dict[str, Any],
        patience: float,
        on_unreachable: OnUnreachable,
        key: str | None,
    ) -> None:
        self._calls, self._patience, self._on_unreachable = calls, patience, on_unreachable
        where = path("/v1/namespaces/{}/acquire", calls.namespace)
        self._request = post(where, body, key=str(uuid.uuid4()) if key is None else key)
        # Somebody else may hold the lease of a key that the caller chose.
        self._may_undo = key is None
        self._maybe_taken = False

    def run(self) -> Program[LeaseCalls]:
        """Acquire; wait for tokens as long as the caller has patience."""
        clock = self._calls.session.clock
        until = clock.monotonic() + min(self._patience, FOREVER_SECS)
        while True:
            try:
                granted = yield from self._once(self._request)
            except RateLimited as refused:
                pause = refused.wait_seconds + random.uniform(0, AFTER_WAIT_SECS)
                if clock.monotonic() + pause > until:
                    raise
            except (Unreachable, ServerError) as failure:
                if self._on_unreachable == "raise" or not is_out_of_reach(failure):
                    raise
                granted = Acquired(degraded=True, limits=[])
                return self._lease(granted)
            else:
                return self._lease(granted)
            yield Sleep(pause)

    def undo(self, retry: RetryPolicy | None = None) -> Program[None]:
        """Roll back the lease that a cancelled acquire may have got; a request with the same key returns it."""
        if not (self._maybe_taken and self._may_undo):
            return
        try:
            granted = yield from self._calls.session.exchange(self._request, read_acquired, retry=NO_RETRY, waits=False)
            yield from self._lease(granted).rollback(retry)
        except WeirError:
            return  # the lease expires by itself

    def _once(self, request: Request) -> Program[Acquired]:
        self._maybe_taken = True
        try:
            return (yield from self._calls.session.exchange(request, read_acquired, waits=False))
        except RateLimited:
            self._maybe_taken = False
            raise

    def _lease(self, granted: Acquired) -> LeaseCalls:
        tolerant = self._on_unreachable == "allow"
        return LeaseCalls(self._calls.session, self._calls.namespace, granted, tolerant=tolerant)


class LimiterCalls:
    """The limiter of one namespace, as programs."""

    def __init__(self, session: Session, namespace: str, on_unreachable: OnUnreachable) -> None:
        if on_unreachable not in ("raise", "allow"):
            raise ValueError(f"on_unreachable: {on_unreachable!r} is neither 'raise' nor 'allow'")
        self.session, self.namespace, self.on_unreachable = session, namespace, on_unreachable

    def attempt(
        self,
        entity: str,
        resource: str,
        consume: Mapping[str, int] | None,
        named: Mapping[str, int],
        *,
        patience: float,
        limits: Iterable[Limit] | None,
        lease_ttl_secs: int | None,
        on_expiry: str | None,
        on_unreachable: OnUnreachable | None,
        idempotency_key: str | None,
    ) -> Attempt:
        """Prepare an acquire."""
        amounts = merged(consume, named)
        if not isinstance(patience, (int, float)):
            raise TypeError(f"patience: {patience!r} is no number of seconds")
        if not patience >= 0:
            raise ValueError(f"patience: {patience} seconds are less than none")
        if not amounts:
            raise ValueError("name the tokens to take, like rpm=1")
        body = present(
            {
                "entity": entity,
                "resource": resource,
                "consume": amounts,
                "limits": None if limits is None else [asdict(limit) for limit in limits],
                "lease_ttl_secs": lease_ttl_secs,
                "on_expiry": on_expiry,
            }
        )
        return Attempt(self, body, patience, on_unreachable or self.on_unreachable, idempotency_key)

    def lease(self, lease: str) -> LeaseCalls:
        """Return a lease by its id."""
        if not isinstance(lease, str) or not is_header_text(lease):
            raise ValueError("lease: it is not the id of a lease")
        granted = Acquired(degraded=False, limits=[], lease=lease)
        return LeaseCalls(self.session, self.namespace, granted, tolerant=self.on_unreachable == "allow")

    def availability(self, entity: str, resource: str) -> Program[Availability]:
        """Return the tokens that an entity could take now; takes none."""
        params = {"entity": entity, "resource": resource}
        return (yield from self.session.fetch(Availability, get(self._path("availability"), params)))

    def resolve(self, entity: str, resource: str) -> Program[EffectiveLimits]:
        """Return the limits in force for an entity on a resource, and the levels that they come from."""
        params = {"entity": entity, "resource": resource}
        return (yield from self.session.fetch(EffectiveLimits, get(self._path("limits/resolve"), params)))

    def set_limits(
        self,
        limits: Iterable[Limit],
        *,
        entity: str | None = None,
        resource: str | None = None,
        on_unavailable: Literal["block", "allow"] | None = None,
    ) -> Program[Limits]:
        """Set the limits of a level: an entity on a resource, an entity, a resource, or the system."""
        body = present({"limits": [asdict(limit) for limit in limits], "on_unavailable": on_unavailable})
        return (yield from self.session.fetch(Limits, put(self._level(entity, resource), body)))

    def get_limits(self, *, entity: str | None = None, resource: str | None = None) -> Program[Limits]:
        """Return the limits of a level."""
        return (yield from self.session.fetch(Limits, get(self._level(entity, resource))))

    def delete_limits(self, *, entity: str | None = None, resource: str | None = None) -> Program[None]:
        """Remove the limits of a level; the next level applies then."""
        yield from self.session.exchange(delete(self._level(entity, resource)), done)

    def put_entity(
        self,
        entity: str,
        *,
        name: str | None = None,
        parent: str | None = None,
        cascade: bool = False,
        metadata: Mapping[str, str] | None = None,
    ) -> Program[Entity]:
        """Create or replace an entity; with `cascade` every acquire also takes from its parent."""
        body = present({"name": name, "parent": parent, "cascade": cascade, "metadata": metadata})
        return (yield from self.session.fetch(Entity, put(self._path("entities/{}", entity), body)))

    def get_entity(self, entity: str) -> Program[Entity]:
        """Return an entity."""
        return (yield from self.session.fetch(Entity, get(self._path("entities/{}", entity))))

    def delete_entity(self, entity: str) -> Program[None]:
        """Delete an entity."""
        yield from self.session.exchange(delete(self._path("entities/{}", entity)), done)

    def entities(self) -> Pager[Entity]:
        """List all entities."""
        return self.session.pager(Entity, self._path("entities"))

    def children(self, entity: str) -> Pager[Entity]:
        """List the entities whose parent this one is."""
        return self.session.pager(Entity, self._path("entities/{}/children", entity))

    def usage(
        self,
        *,
        entity: str | None = None,
        resource: str | None = None,
        window: Window = "hourly",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Pager[UsageSnapshot]:
        """List usage by window, in order of time."""
        return self.session.pager(
            UsageSnapshot, self._path("usage"), self._usage_params(entity, resource, window, since, until)
        )

    def usage_summary(
        self,
        *,
        entity: str | None = None,
        resource: str | None = None,
        window: Window = "hourly",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Program[UsageSummary]:
        """Return usage summed over windows."""
        params = self._usage_params(entity, resource, window, since, until)
        return (yield from self.session.fetch(UsageSummary, get(self._path("usage/summary"), params)))

    def _usage_params(
        self,
        entity: str | None,
        resource: str | None,
        window: str,
        since: datetime | None,
        until: datetime | None,
    ) -> dict[str, Any]:
        times = {"from": query_time(since), "to": query_time(until)}
        return {"entity": entity, "resource": resource, "window": window, **times}

    def _path(self, rest: str, *parts: str) -> str:
        return path("/v1/namespaces/{}/" + rest, self.namespace, *parts)

    def _level(self, entity: str | None, resource: str | None) -> str:
        if entity is not None:
            return self._path("limits/entities/{}/{}", entity, resource or "_default_")
        return self._path("limits/system") if resource is None else self._path("limits/resources/{}", resource)


def read_acquired(response: Response) -> Acquired:
    """Read a grant. It has a lease, unless it took nothing."""
    granted = decode(Acquired, response.json())
    if granted.lease is None and not granted.degraded:
        raise ValueError("the grant has no lease")
    return granted


def is_out_of_reach(failure: Unreachable | ServerError) -> bool:
    """Whether no Weir responded: no response, or one of a proxy."""
    return isinstance(failure, Unreachable) or not failure.is_from_weir


class Limiter(Blocking[LimiterCalls]):
    """Rate limits of one namespace."""

    def acquire(
        self,
        entity: str,
        resource: str,
        consume: Mapping[str, int] | None = None,
        *,
        patience: float = 0.0,
        limits: Iterable[Limit] | None = None,
        lease_ttl_secs: int | None = None,
        on_expiry: Literal["keep", "rollback"] | None = None,
        on_unreachable: OnUnreachable | None = None,
        idempotency_key: str | None = None,
        **named: int,
    ) -> Lease:
        """Take tokens: `acquire("user-1", "gpt-4", rpm=1, tpm=4000)`.

        The tokens are named as keywords, or in `consume` where a name is no identifier. If there are too few, waits as
        long as `patience` (seconds) lasts, and raises `RateLimited` when they cannot be there in time.
        """
        attempt = self._calls.attempt(
            entity,
            resource,
            consume,
            named,
            patience=patience,
            limits=limits,
            lease_ttl_secs=lease_ttl_secs,
            on_expiry=on_expiry,
            on_unreachable=on_unreachable,
            idempotency_key=idempotency_key,
        )
        try:
            return Lease(self._driver.run(attempt.run()), self._driver)
        except Exception:
            raise
        except BaseException:  # Ctrl-C: the server may have granted the lease already
            self._driver.run(attempt.undo(NO_RETRY))
            raise

    def lease(self, lease: str) -> Lease:
        """Return a lease by its `id`, to settle it in another process than the one that acquired it."""
        return Lease(self._calls.lease(lease), self._driver)

    availability = blocking(LimiterCalls.availability)
    resolve = blocking(LimiterCalls.resolve)
    set_limits = blocking(LimiterCalls.set_limits)
    get_limits = blocking(LimiterCalls.get_limits)
    delete_limits = blocking(LimiterCalls.delete_limits)
    put_entity = blocking(LimiterCalls.put_entity)
    get_entity = blocking(LimiterCalls.get_entity)
    delete_entity = blocking(LimiterCalls.delete_entity)
    entities = each(LimiterCalls.entities)
    children = each(LimiterCalls.children)
    usage = each(LimiterCalls.usage)
    usage_summary = blocking(LimiterCalls.usage_summary)


class Acquiring:
    """An acquire that has not begun: `await` it, or enter it with `async with`."""

    def __init__(self, attempt: Attempt, driver: AsyncDriver) -> None:
        self._attempt, self._driver = attempt, driver
        self._lease: AsyncLease | None = None

    def __await__(self) -> Generator[Any, None, AsyncLease]:
        return self._acquire().__await__()

    async def __aenter__(self) -> AsyncLease:
        self._lease = await self._acquire()
        return self._lease

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lease is not None:
            await self._lease.__aexit__(kind, error, trace)

    async def _acquire(self) -> AsyncLease:
        try:
            return AsyncLease(await self._driver.run(self._attempt.run()), self._driver)
        except asyncio.CancelledError:
            # The server may have granted the lease already.
            self._driver.spawn(self._attempt.undo())
            raise


class AsyncLimiter(Awaiting[LimiterCalls]):
    """Rate limits of one namespace."""

    def acquire(
        self,
        entity: str,
        resource: str,
        consume: Mapping[str, int] | None = None,
        *,
        patience: float = 0.0,
        limits: Iterable[Limit] | None = None,
        lease_ttl_secs: int | None = None,
        on_expiry: Literal["keep", "rollback"] | None = None,
        on_unreachable: OnUnreachable | None = None,
        idempotency_key: str | None = None,
        **named: int,
    ) -> Acquiring:
        """Take tokens: `async with limiter.acquire("user-1", "gpt-4", rpm=1) as lease`, or `await` it.

        A task that is cancelled while it acquires gives back a lease that the server may have granted.
        """
        attempt = self._calls.attempt(
            entity,
            resource,
            consume,
            named,
            patience=patience,
            limits=limits,
            lease_ttl_secs=lease_ttl_secs,
            on_expiry=on_expiry,
            on_unreachable=on_unreachable,
            idempotency_key=idempotency_key,
        )
        return Acquiring(attempt, self._driver)

    def lease(self, lease: str) -> AsyncLease:
        """Return a lease by its `id`, to settle it in another process than the one that acquired it."""
        return AsyncLease(self._calls.lease(lease), self._driver)

    availability = awaiting(LimiterCalls.availability)
    resolve = awaiting(LimiterCalls.resolve)
    set_limits = awaiting(LimiterCalls.set_limits)
    get_limits = awaiting(LimiterCalls.get_limits)
    delete_limits = awaiting(LimiterCalls.delete_limits)
    put_entity = awaiting(LimiterCalls.put_entity)
    get_entity = awaiting(LimiterCalls.get_entity)
    delete_entity = awaiting(LimiterCalls.delete_entity)
    entities = aeach(LimiterCalls.entities)
    children = aeach(LimiterCalls.children)
    usage = aeach(LimiterCalls.usage)
    usage_summary = awaiting(LimiterCalls.usage_summary)
