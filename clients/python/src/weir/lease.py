"""A lease: the tokens that an acquire took, until the work names the tokens that it used.

1. `actual(tpm=812)` notes the tokens that were used, and sends nothing.
2. Leaving the `with` block settles the lease in one request. It commits the noted amounts, also after an exception, because the
   tokens are used. After an exception without any it rolls back.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType

from .core import Program, path, whole_number
from .drivers import AsyncDriver, Driver
from .errors import WeirError
from .retry import RetryPolicy
from .session import Session, post
from .types import Acquired, LeaseState, LimitStatus

log = logging.getLogger("weir")

LEASE = "/v1/namespaces/{}/leases/{}/"
ONE_MORE = RetryPolicy(attempts=2, total_secs=2.0)


def merged(given: Mapping[str, int] | None, named: Mapping[str, int]) -> dict[str, int]:
    """Return the amounts of a call, by limit: from a mapping, from keywords, or from both."""
    amounts: dict[str, object] = {**(given or {}), **named}
    return {name: whole_number(name, amount) for name, amount in amounts.items()}


class LeaseCalls:
    """Changes of a lease, as programs. A degraded lease took nothing, so its changes send nothing."""

    def __init__(self, session: Session, namespace: str, granted: Acquired, *, tolerant: bool) -> None:
        self.session, self.namespace, self.granted, self.tolerant = session, namespace, granted, tolerant
        self.used: dict[str, int] | None = None
        self.is_settled = granted.lease is None

    def leave(self, error: BaseException | None) -> Program[None]:
        """Settle the lease at the end of its block. A failure never hides the exception of the block."""
        if self.is_settled:
            return
        # A program that is interrupted ends soon, and without a server its tokens wait for the lease to expire.
        retry = None if error is None or isinstance(error, Exception) else ONE_MORE
        try:
            yield from self.rollback(retry) if error is not None and not self.used else self.commit(self.used, retry)
        except Exception as failure:
            if error is None and not (self.tolerant and isinstance(failure, WeirError)):
                raise
            log.warning("the lease %s was not settled: %s", self.granted.lease, failure)

    def commit(self, actual: Mapping[str, int] | None, retry: RetryPolicy | None = None) -> Program[LeaseState]:
        """End the lease with the tokens that were used; without amounts its tokens stay taken."""
        body = {"actual": dict(actual)} if actual else {}
        return (yield from self._end("commit", "committed", body, retry))

    def rollback(self, retry: RetryPolicy | None = None) -> Program[LeaseState]:
        """Return all tokens, and end the lease."""
        return (yield from self._end("rollback", "rolled_back", {}, retry))

    def adjust(self, amounts: Mapping[str, int]) -> Program[LeaseState]:
        """Take more tokens, into debt if there are too few, or return some with negative amounts."""
        return (yield from self._change("adjust", "open", {"adjust": dict(amounts)}))

    def release(self, amounts: Mapping[str, int]) -> Program[LeaseState]:
        """Return some tokens."""
        if not amounts:
            raise ValueError("name the tokens to release; `rollback` returns all of them")
        return (yield from self._change("release", "open", {"release": dict(amounts)}))

    def _end(
        self, verb: str, state: str, body: dict[str, dict[str, int]], retry: RetryPolicy | None
    ) -> Program[LeaseState]:
        ended = yield from self._change(verb, state, body, retry)
        self.is_settled = True
        return ended

    def _change(
        self, verb: str, state: str, body: dict[str, dict[str, int]], retry: RetryPolicy | None = None
    ) -> Program[LeaseState]:
        if self.granted.lease is None:
            return LeaseState(id="", state=state, net={}, degraded=True)
        where = path(LEASE, self.namespace, self.granted.lease) + verb
        return (yield from self.session.fetch(LeaseState, post(where, body, key=str(uuid.uuid4())), retry=retry))


class LeaseBase:
    """The part of both kinds of leases that needs no server."""

    def __init__(self, calls: LeaseCalls) -> None:
        self._calls = calls

    @property
    def id(self) -> str:
        """The signed text that settles the lease, from any process; empty when `is_degraded`, because it took nothing."""
        return self._calls.granted.lease or ""

    @property
    def expires_at(self) -> datetime | None:
        """Time until which the lease can be settled."""
        return self._calls.granted.expires_at

    @property
    def is_degraded(self) -> bool:
        """Whether the lease was granted without taking tokens, because the store or the server did not respond."""
        return self._calls.granted.degraded

    @property
    def limits(self) -> list[LimitStatus]:
        """Every requested limit after the acquire."""
        return self._calls.granted.limits

    def actual(self, amounts: Mapping[str, int] | None = None, /, **named: int) -> None:
        """Note how many tokens were used; the end of the block commits them. Limits left out keep what was taken.

        Call it as soon as the amounts are known: they are committed even if the block raises afterwards. A later call replaces
        the amounts of an earlier one for the same limits.
        """
        used = merged(amounts, named)
        for name, amount in used.items():
            if amount < 0:
                raise ValueError(f"{name}: {amount} is negative")
        self._calls.used = {**(self._calls.used or {}), **used}


class Lease(LeaseBase):
    """A lease of `weir.Client`; a context manager that settles it at the end of the block."""

    def __init__(self, calls: LeaseCalls, driver: Driver) -> None:
        super().__init__(calls)
        self._driver = driver

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._driver.run(self._calls.leave(error))

    def commit(self, actual: Mapping[str, int] | None = None, /, **named: int) -> LeaseState:
        """End the lease with the tokens that were used, in one request; without amounts its tokens stay taken."""
        return self._driver.run(self._calls.commit({**(self._calls.used or {}), **merged(actual, named)}))

    def rollback(self) -> LeaseState:
        """Return all tokens, and end the lease."""
        return self._driver.run(self._calls.rollback())

    def adjust(self, amounts: Mapping[str, int] | None = None, /, **named: int) -> LeaseState:
        """Take more tokens, into debt if there are too few; negative amounts return tokens."""
        return self._driver.run(self._calls.adjust(merged(amounts, named)))

    def release(self, amounts: Mapping[str, int] | None = None, /, **named: int) -> LeaseState:
        """Return some tokens."""
        return self._driver.run(self._calls.release(merged(amounts, named)))


class AsyncLease(LeaseBase):
    """A lease of `weir.AsyncClient`; an asynchronous context manager that settles it at the end of the block."""

    def __init__(self, calls: LeaseCalls, driver: AsyncDriver) -> None:
        super().__init__(calls)
        self._driver = driver

    async def __aenter__(self) -> AsyncLease:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A task that is cancelled here waits no longer, but the settlement goes on: half of one would settle nothing.
        settling = self._driver.spawn(self._calls.leave(error))
        try:
            await asyncio.shield(settling)
        except asyncio.CancelledError:
            settling.add_done_callback(self._log_failure)  # nobody else hears of it
            raise

    def _log_failure(self, settling: asyncio.Task[None]) -> None:
        if not settling.cancelled() and (failure := settling.exception()) is not None:
            log.warning("the lease %s was not settled: %s", self.id, failure)

    async def commit(self, actual: Mapping[str, int] | None = None, /, **named: int) -> LeaseState:
        """End the lease with the tokens that were used, in one request; without amounts its tokens stay taken."""
        return await self._driver.run(self._calls.commit({**(self._calls.used or {}), **merged(actual, named)}))

    async def rollback(self) -> LeaseState:
        """Return all tokens, and end the lease."""
        return await self._driver.run(self._calls.rollback())

    async def adjust(self, amounts: Mapping[str, int] | None = None, /, **named: int) -> LeaseState:
        """Take more tokens, into debt if there are too few; negative amounts return tokens."""
        return await self._driver.run(self._calls.adjust(merged(amounts, named)))

    async def release(self, amounts: Mapping[str, int] | None = None, /, **named: int) -> LeaseState:
        """Return some tokens."""
        return await self._driver.run(self._calls.release(merged(amounts, named)))
