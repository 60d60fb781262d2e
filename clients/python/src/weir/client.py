"""The two clients: `Client` blocks, `AsyncClient` is awaited. They differ in nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from .budget import AsyncBudget, Budget, BudgetCalls
from .drivers import AsyncDriver, Driver
from .limiter import AsyncLimiter, Limiter, LimiterCalls, OnUnreachable
from .practice import AsyncPractice, Practice, PracticeCalls
from .queue import FULL_WAIT_SECS, SIZE_MAX, Bound, OnFull, default_root, queue_folder
from .reporter import Reporters
from .retry import RetryPolicy
from .reviews import AsyncReviews, ReviewCalls, Reviews
from .session import Session, get
from .settings import Settings, settings
from .types import Whoami

TIMEOUT_SECS = 10.0
FINISH_SECS = 5.0
"""How long closing an asynchronous client waits for leases that cancelled tasks give back."""


class ClientBase:
    """The settings and services of both clients."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        api_key: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        ca_file: str | None = None,
        timeout: float = TIMEOUT_SECS,
        retry: RetryPolicy | None = None,
    ) -> None:
        """Prepare a client; it connects with its first request.

        The address and the credentials (one of `token`, the admin key as `api_key`, or `client_id` with `client_secret`) come
        from `WEIR_URL`, and `WEIR_TOKEN`, `WEIR_TOKEN_FILE` or `WEIR_ADMIN_KEY`, where they are not given. `timeout` is for
        each attempt in seconds, `retry` bounds how often and how long a request is repeated.
        """
        self._settings: Settings = settings(
            url,
            token=token,
            api_key=api_key,
            client_id=client_id,
            client_secret=client_secret,
            ca_file=ca_file,
            timeout=timeout,
        )
        self._session = Session(self._settings.credentials, retry or RetryPolicy())
        self._reporters = Reporters(self._session, self._settings.http)

    def _budget(
        self,
        org: str,
        app: str,
        queue_dir: str | os.PathLike[str] | None,
        queue_max: int,
        on_full: OnFull,
        full_wait_secs: float,
    ) -> BudgetCalls:
        root = Path(queue_dir) if queue_dir is not None else default_root()
        folder = None if root is None else queue_folder(root.absolute(), self._settings.url, org, app)
        handle = self._reporters.handle(folder, org, app, Bound(queue_max, on_full, full_wait_secs))
        return BudgetCalls(self._session, org, app, handle)


class Client(ClientBase):
    """A client whose calls block. Threads may share one, and a forked child connects anew."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        api_key: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        ca_file: str | None = None,
        timeout: float = TIMEOUT_SECS,
        retry: RetryPolicy | None = None,
    ) -> None:
        super().__init__(
            url,
            token=token,
            api_key=api_key,
            client_id=client_id,
            client_secret=client_secret,
            ca_file=ca_file,
            timeout=timeout,
            retry=retry,
        )
        self._driver = Driver(self._settings.http)
        self.reviews = Reviews(ReviewCalls(self._session), self._driver)
        self.practice = Practice(PracticeCalls(self._session), self._driver)

    def limiter(self, namespace: str = "default", *, on_unreachable: OnUnreachable = "raise") -> Limiter:
        """Return the limiter of a namespace.

        `on_unreachable` is for an acquire when no server responds: `raise` stops the caller, `allow` goes on with a
        lease that took nothing.
        """
        return Limiter(LimiterCalls(self._session, namespace, on_unreachable), self._driver)

    def budget(
        self,
        org: str,
        app: str,
        *,
        queue_dir: str | os.PathLike[str] | None = None,
        queue_max: int = SIZE_MAX,
        on_full: OnFull = "raise",
        full_wait_secs: float = FULL_WAIT_SECS,
    ) -> Budget:
        """Return the budget of an app, whose reports wait in `queue_dir` until the server has them.

        The folder is `WEIR_QUEUE_DIR`, or below the user's state folder, where it is not given; processes may share it. With
        `queue_max` reports in it, `report` raises `QueueFull`, or with `on_full="wait"` first waits `full_wait_secs` for room.
        """
        return Budget(self._budget(org, app, queue_dir, queue_max, on_full, full_wait_secs), self._driver)

    def whoami(self) -> Whoami:
        """Return the identity and the scope that the server sees in the credentials."""
        return self._driver.run(self._session.fetch(Whoami, get("/v1/whoami")))

    def close(self) -> None:
        """Close all connections."""
        self._driver.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(ClientBase):
    """A client whose calls are awaited, on one event loop of asyncio at a time. Tasks may share one."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        api_key: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        ca_file: str | None = None,
        timeout: float = TIMEOUT_SECS,
        retry: RetryPolicy | None = None,
    ) -> None:
        super().__init__(
            url,
            token=token,
            api_key=api_key,
            client_id=client_id,
            client_secret=client_secret,
            ca_file=ca_file,
            timeout=timeout,
            retry=retry,
        )
        self._driver = AsyncDriver(self._settings.async_http)
        self.reviews = AsyncReviews(ReviewCalls(self._session), self._driver)
        self.practice = AsyncPractice(PracticeCalls(self._session), self._driver)

    def limiter(self, namespace: str = "default", *, on_unreachable: OnUnreachable = "raise") -> AsyncLimiter:
        """Return the limiter of a namespace; see `Client.limiter`."""
        return AsyncLimiter(LimiterCalls(self._session, namespace, on_unreachable), self._driver)

    def budget(
        self,
        org: str,
        app: str,
        *,
        queue_dir: str | os.PathLike[str] | None = None,
        queue_max: int = SIZE_MAX,
        on_full: OnFull = "raise",
        full_wait_secs: float = FULL_WAIT_SECS,
    ) -> AsyncBudget:
        """Return the budget of an app; see `Client.budget`."""
        return AsyncBudget(self._budget(org, app, queue_dir, queue_max, on_full, full_wait_secs), self._driver)

    async def whoami(self) -> Whoami:
        """Return the identity and the scope that the server sees in the credentials."""
        return await self._driver.run(self._session.fetch(Whoami, get("/v1/whoami")))

    async def close(self) -> None:
        """Let cancelled acquires give back what they took, and close all connections."""
        await self._driver.close(FINISH_SECS)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
