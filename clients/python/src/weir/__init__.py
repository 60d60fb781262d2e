"""Client of Weir, the usage control plane for AI applications.

import weir

client = weir.Client()  # WEIR_URL and WEIR_TOKEN
with client.limiter("default").acquire("user-1", "gpt-4", rpm=1, tpm=4000) as lease:
    answer = call_the_model()
    lease.actual(tpm=answer.tokens)
"""

from importlib.metadata import PackageNotFoundError, version

from . import types
from .budget import AsyncBudget, Budget
from .client import AsyncClient, Client
from .errors import (
    ApiError,
    Conflict,
    DailyLimitExceeded,
    Forbidden,
    Gone,
    InvalidRequest,
    InvalidResponse,
    LeaseExpired,
    LeaseLost,
    NotFound,
    QueueError,
    QueueFull,
    QuotaExceeded,
    RateLimited,
    ServerError,
    ServiceUnavailable,
    Unauthorized,
    Unreachable,
    WeirError,
)
from .lease import AsyncLease, Lease
from .limiter import AsyncLimiter, Limiter
from .money import MicroUsd
from .practice import AsyncPractice, Practice
from .queue import DeadLetter
from .retry import RetryPolicy
from .reviews import AsyncReviews, Reviews
from .types import Limit, ModelSelection
from .worker import AsyncClaim, Claim

try:
    __version__ = version("weir-client")
except PackageNotFoundError:  # a source tree on the path
    __version__ = "0+unknown"

__all__ = [
    "ApiError",
    "AsyncBudget",
    "AsyncClaim",
    "AsyncClient",
    "AsyncLease",
    "AsyncLimiter",
    "AsyncPractice",
    "AsyncReviews",
    "Budget",
    "Claim",
    "Client",
    "Conflict",
    "DailyLimitExceeded",
    "DeadLetter",
    "Forbidden",
    "Gone",
    "InvalidRequest",
    "InvalidResponse",
    "Lease",
    "LeaseExpired",
    "LeaseLost",
    "Limit",
    "Limiter",
    "MicroUsd",
    "ModelSelection",
    "NotFound",
    "Practice",
    "QueueError",
    "QueueFull",
    "QuotaExceeded",
    "RateLimited",
    "RetryPolicy",
    "Reviews",
    "ServerError",
    "ServiceUnavailable",
    "Unauthorized",
    "Unreachable",
    "WeirError",
    "types",
]
