"""Types that all services share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class RawPage:
    """One page of a list, before its items are decoded."""

    items: list[Any]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class Whoami:
    """The identity and the scope of the caller."""

    subject: str
    scope: str
    expires_at: datetime | None = None
